"""What every estimator on scores promises, whatever its statistic."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outcome_strategies import common_random_numbers
from refusals import refuses
from scipy.special import ndtr
from scipy.stats import binom

from dpaudit.accounting import gaussian_epsilon
from dpaudit.estimators import ExactScan, PairedAUC, RankTest
from dpaudit.estimators.rank_test import own_seed, pairs_won, ranks
from dpaudit.results import Counts, Guesses, Scores

DELTA = 1e-5
FEW = 199
"""Draws: a test by simulation keeps its promises with any number of them."""

KINDS = {
    "rank test": lambda confidence=0.95, seed=0: RankTest(
        confidence=confidence, seed=seed, draws=FEW
    ),
    "rank test, pure": lambda confidence=0.95, seed=0: RankTest(
        "pure", confidence, seed, draws=FEW
    ),
    "exact scan": lambda confidence=0.95, seed=0: ExactScan(confidence, seed, draws=FEW),
    "paired AUC": lambda confidence=0.95, seed=0: PairedAUC("gaussian", confidence),
    "paired AUC, pure": lambda confidence=0.95, seed=0: PairedAUC("pure", confidence),
}
kinds = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)

value = st.one_of(st.integers(-3, 3).map(float), st.sampled_from([-math.inf, math.inf, 1e-300]))
few_scores = st.lists(value, min_size=1, max_size=12)
deltas = st.sampled_from([1e-300, 1e-5, 0.2, 0.999, 1 - 2**-53])
confidences = st.floats(0.5, 0.9)
derandomized = settings(deadline=None, max_examples=12, derandomize=True)


def shifted(n, by, seed=0):
    draw = np.random.default_rng(seed)
    return Scores(draw.normal(size=n), draw.normal(size=n) + by)


# ---------------------------------------------------------------- ranks


def test_ranks_are_the_order_of_the_scores_and_equal_where_scores_are():
    scores = Scores(np.array([3.0, -math.inf, 0.5, 1.0]), np.array([math.inf, 1.0]))
    out, inn = ranks(scores, "")
    assert (out.tolist(), inn.tolist()) == ([4, 0, 1, 2], [5, 2])


def test_the_low_bits_of_a_score_decide_nothing():
    """Above its true value by 1e-12 in every in-trial, and tied all the same."""
    out, inn = ranks(Scores(np.full(9, 0.1), np.full(9, 0.1 + 1e-12)), "")
    assert not np.concatenate([out, inn]).any()


# ---------------------------------------------------------------- ties


@pytest.mark.parametrize(
    ("out", "inn"), [([0, 0, 1, 2], [0, 1, 3]), ([5, 5], [5, 5, 5]), ([1], [0])]
)
def test_pairs_won_are_those_that_nine_tenths_of_all_orders_reach(out, inn):
    """Against every order of the tied trials, enumerated."""
    out, inn = np.array(out), np.array(inn)
    keys = [*permutations(range(len(out) + len(inn)))]
    wins = [
        sum(
            (i, key[len(out) + k]) > (o, key[j])
            for k, i in enumerate(inn)
            for j, o in enumerate(out)
        )
        for key in keys
    ]
    won, tied = pairs_won(out, inn, seed=0)
    assert tied == (len(np.intersect1d(out, inn)) > 0)
    # 1,000 tosses: a share of exactly 0.9 is missed by 0.04 with a probability of 2e-5.
    assert np.mean(np.array(wins) >= won) >= 0.86
    assert np.mean(np.array(wins) >= won + 1) < 0.94


@kinds
@pytest.mark.parametrize("n", [1, 2, 7, 100, 501])
def test_constant_scores_prove_nothing_whatever_the_seed(make, n):
    for seed in range(5):
        for confidence in (0.05, 0.5, 0.95):
            bound = make(confidence, seed).bound(Scores(np.ones(n), np.ones(n)), DELTA)
            assert bound.epsilon == 0


def response(draw, n, levels):
    """Randomized response of epsilon 1, its bit refined by a number of further, useless levels.

    With the curve of (1, 0) itself, whatever the number of levels: no score leaks more.
    """
    right = math.e / (1 + math.e)
    bits = draw.random(n) < 1 - right, draw.random(n) < right
    return Scores(*(bit + np.floor(levels * draw.random(n)) / levels for bit in bits))


def gaussian(draw, n, levels):
    """A Gaussian mechanism of mu 1, its release rounded to so many levels: no leak is added."""
    worlds = draw.normal(size=n), 1 + draw.normal(size=n)
    return Scores(*(np.floor((levels + 1) * ndtr(world - 0.5)) for world in worlds))


PURE, GAUSSIAN = (response, 1.0, 0.0), (gaussian, gaussian_epsilon(1.0, DELTA), DELTA)
TIED = {
    name: (make, *(GAUSSIAN if name in ("rank test", "paired AUC") else PURE))
    for name, make in KINDS.items()
}
tied = pytest.mark.parametrize("way", TIED.values(), ids=TIED)


def errors(way, levels, seed, audits, n=40):
    """Count the bounds above the truth."""
    make, mechanism, truth, delta = way
    draw, estimator = np.random.default_rng([9, levels, seed]), make(seed=seed)
    return sum(
        estimator.bound(mechanism(draw, n, levels), delta).epsilon > truth for _ in range(audits)
    )


@tied
def test_tied_scores_err_no_more_often_than_stated(way):
    """Two fixed seeds; fails by chance with less than 1e-4."""
    for seed in (0, 1):
        assert errors(way, 1, seed, audits=100) <= binom.isf(1e-5, 100, 0.05)


@pytest.mark.verify
@pytest.mark.parametrize("levels", [1, 2, 5, 20, 10**6])
@tied
def test_ties_of_every_degree_err_no_more_often_than_stated_with_any_seed(way, levels):
    """Ten fixed seeds, alone and together; fails by chance with less than 1e-3 in all."""
    found = [errors(way, levels, seed, audits=150) for seed in range(10)]
    assert max(found) <= binom.isf(1e-6, 150, 0.05)
    assert sum(found) <= binom.isf(1e-5, 1500, 0.05)


# ---------------------------------------------------------------- bad input


@kinds
@pytest.mark.parametrize("outcome", [Counts(0, 5, 0, 5), Guesses(10, 5, 4)])
def test_counts_and_guesses_are_refused(make, outcome):
    with refuses("wrong-outcome", value=(type(outcome).__name__, "Scores")):
        make().bound(outcome, DELTA)


@kinds
@pytest.mark.parametrize(
    ("out", "inn", "refusal"),
    [
        ([0.0, math.nan], [1.0], ("not-finite", "out-trials", 1)),
        ([0.0], [math.nan] * 3, ("not-finite", "in-trials", 3)),
        ([], [1.0], ("shape-mismatch", "out-trials", (0,))),
        ([1.0], [], ("shape-mismatch", "in-trials", (0,))),
        ([[1.0]], [1.0], ("shape-mismatch", "out-trials", (1, 1))),
        (["much"], [1.0], ("not-a-number", "out-trials")),
    ],
)
def test_unusable_scores_are_refused(make, out, inn, refusal):
    with refuses(*refusal):
        make().bound(Scores(np.array(out), np.array(inn)), DELTA)


@kinds
@pytest.mark.parametrize("confidence", [95, 1.0, 0.0, math.nan])
def test_impossible_confidence_is_refused(make, confidence):
    with refuses("out-of-range", "confidence"):
        make(confidence)


@kinds
@pytest.mark.parametrize("delta", [1.0, -1e-9, math.nan])
def test_impossible_delta_is_refused(make, delta):
    with refuses("out-of-range", "delta"):
        make().bound(shifted(5, 1), delta)


@kinds
def test_a_ceiling_without_trials_is_refused(make):
    with refuses("too-small", "in-trials", 0):
        make().ceiling(5, 0, DELTA)


@pytest.mark.parametrize("kind", [RankTest, ExactScan])
def test_impossible_draws_are_refused(kind):
    with refuses("too-small", "draws", 0):
        kind(draws=0)


# ---------------------------------------------------------------- properties


@kinds
@derandomized
@given(out=few_scores, inn=few_scores, delta=deltas)
def test_bound_is_a_number_between_zero_and_its_ceiling(make, out, inn, delta):
    bound = make().bound(Scores(np.array(out), np.array(inn)), delta)
    assert 0 <= bound.epsilon <= bound.ceiling < math.inf
    assert bound.ceiling == make().ceiling(len(out), len(inn), delta)


@kinds
@derandomized
@given(
    out=st.lists(st.integers(-8, 8), min_size=1, max_size=12),
    inn=st.lists(st.integers(-8, 8), min_size=1, max_size=12),
    which=st.integers(0, 11),
    by=st.integers(0, 8),
    confidence=confidences,
)
def test_an_in_score_that_overtakes_never_lowers_the_bound(make, out, inn, which, by, confidence):
    """Even against odd numbers: a tie has a level of its own."""
    risen = np.array(inn)
    risen[which % len(inn)] += by
    with common_random_numbers():
        before, after = (
            make(confidence).bound(Scores(2.0 * np.array(out), 2.0 * world + 1), DELTA).epsilon
            for world in (np.array(inn), risen)
        )
    assert after >= before


@kinds
@derandomized
@given(by=st.floats(0, 3), one=st.floats(0.5, 0.9), other=st.floats(0.5, 0.9))
def test_more_confidence_never_raises_the_bound(make, by, one, other):
    low, high = sorted((one, other))
    scores = shifted(12, by)
    assert make(high).bound(scores, DELTA).epsilon <= make(low).bound(scores, DELTA).epsilon + 1e-9


@kinds
def test_the_same_seed_gives_the_same_bound_whatever_the_scale_of_the_scores(make):
    scores = shifted(60, 2.5)
    stretched = Scores(np.exp(scores.out), np.exp(scores.inn))
    first = make(seed=4).bound(scores, DELTA)
    assert first.epsilon > 0
    assert first == make(seed=4).bound(scores, DELTA) == make(seed=4).bound(stretched, DELTA)


@kinds
def test_scores_in_the_wrong_order_prove_nothing(make):
    n = 30
    for out, inn in [(math.inf, math.inf), (1.0, 0.0), (math.inf, -math.inf)]:
        assert make().bound(Scores(np.full(n, out), np.full(n, inn)), DELTA).epsilon == 0


@kinds
def test_one_trial_a_world_proves_nothing_at_95_percent(make):
    bound = make().bound(Scores(np.zeros(1), np.ones(1)), DELTA)
    assert bound.epsilon == 0


@pytest.mark.parametrize("make", [KINDS["exact scan"], KINDS["paired AUC, pure"]])
def test_delta_zero_is_a_delta(make):
    bound = make().bound(shifted(40, 5), 0.0)
    assert 1 < bound.epsilon <= bound.ceiling


@pytest.mark.parametrize("make", [KINDS["rank test"], KINDS["paired AUC"]])
def test_a_gaussian_curve_at_delta_zero_is_refused(make):
    with refuses("needs-delta", "delta", 0.0):
        make().bound(shifted(40, 5), 0.0)


@kinds
def test_worlds_may_have_different_sizes(make):
    scores = Scores(shifted(80, 0, seed=1).out, shifted(50, 3, seed=2).inn)
    bound = make().bound(scores, DELTA)
    assert 0 < bound.epsilon <= bound.ceiling


def test_draws_are_those_of_the_order_of_the_worlds():
    """Else some seeds would err more often than stated, in every audit of that size."""
    inn = np.array([4, 1, 7])
    assert own_seed(0, inn) == own_seed(0, inn[::-1])
    assert len({own_seed(0, inn), own_seed(1, inn), own_seed(0, inn + 1)}) == 3
