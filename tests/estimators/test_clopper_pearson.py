import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from scipy.optimize import brentq
from scipy.stats import binom

from dpaudit.errors import BadInput
from dpaudit.estimators import ClopperPearson
from dpaudit.results import Counts, Guesses, Scores

DELTA = 1e-5
KNOWN = Counts(fp=5, out=500, fn=60, inn=500)


@st.composite
def counts(draw, largest=2000):
    out, inn = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    return Counts(draw(st.integers(0, out)), out, draw(st.integers(0, inn)), inn)


deltas = st.one_of(st.sampled_from([0.0, 1e-300, 1e-5, 0.999999, 1 - 2**-53]), st.floats(0, 0.999))
confidences = st.floats(0.5, 0.9999)


def epsilon(c, delta=DELTA, confidence=0.95):
    return ClopperPearson(confidence).bound(c, delta).epsilon


# ---------------------------------------------------------------- known answers


def test_known_answer():
    """Two other packages agree on it."""
    assert epsilon(KNOWN) == pytest.approx(3.599811, abs=5e-7)


@pytest.mark.parametrize(
    ("n", "ceiling"),
    [(50, 2.570), (100, 3.281), (250, 4.209), (500, 4.906), (1000, 5.601), (10_000, 7.905)],
)
def test_known_ceilings(n, ceiling):
    estimator = ClopperPearson()
    assert estimator.ceiling(n, n, DELTA) == pytest.approx(ceiling, abs=5e-4)
    flawless = estimator.bound(Counts(fp=0, out=n, fn=0, inn=n), DELTA)
    assert flawless.epsilon == flawless.ceiling == estimator.ceiling(n, n, DELTA)
    u = 1 - 0.025 ** (1 / n)
    closed = math.log((1 - DELTA - u) / u)
    assert ClopperPearson().ceiling(n, n, DELTA) == pytest.approx(closed, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(counts(largest=300))
def test_bound_is_the_definition_solved_naively(c):
    """The largest rate under which so few errors keep a probability of a/2, by root finding."""

    def upper(k, n):
        return 1.0 if k == n else brentq(lambda p: binom.cdf(k, n, p) - 0.025, 0, 1, xtol=1e-14)

    u0, u1 = upper(c.fp, c.out), upper(c.fn, c.inn)
    shown = [math.log((1 - DELTA - x) / y) for x, y in ((u0, u1), (u1, u0)) if x < 1 - DELTA]
    assert epsilon(c) == pytest.approx(max(0.0, *shown, 0.0), abs=1e-6)


def test_bound_says_what_it_is():
    bound = ClopperPearson(0.9).bound(KNOWN, DELTA)
    assert (bound.estimator, bound.assumption, bound.selection) == (
        "clopper-pearson",
        "none",
        "as given",
    )
    assert (bound.confidence, bound.delta, bound.counts) == (0.9, DELTA, KNOWN)


@pytest.mark.parametrize(
    "outcome", [Scores(np.zeros(3), np.ones(3)), Guesses(canaries=10, guesses=5, correct=4)]
)
def test_scores_and_guesses_are_refused(outcome):
    with refuses("wrong-outcome", value=(type(outcome).__name__, "Counts")):
        ClopperPearson().bound(outcome, DELTA)


# ---------------------------------------------------------------- properties


@given(counts(), deltas, confidences)
def test_bound_is_a_number_between_zero_and_its_ceiling(c, delta, confidence):
    bound = ClopperPearson(confidence).bound(c, delta)
    assert 0 <= bound.epsilon <= bound.ceiling < math.inf


@pytest.mark.parametrize("delta", [0.0, DELTA, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("n", [1, 2, 10**9])
def test_extremes_are_numbers(n, delta):
    for fp in (0, 1, n):
        for fn in (0, 1, n):
            bound = ClopperPearson().bound(Counts(fp, n, fn, n), delta)
            assert 0 <= bound.epsilon <= bound.ceiling < math.inf


@given(counts(), st.integers(0, 50), st.integers(0, 50), deltas)
def test_more_errors_never_raise_the_bound(c, more_fp, more_fn, delta):
    worse = Counts(min(c.out, c.fp + more_fp), c.out, min(c.inn, c.fn + more_fn), c.inn)
    assert epsilon(worse, delta) <= epsilon(c, delta) + 1e-12


@given(counts(), confidences, confidences, deltas)
def test_more_confidence_never_raises_the_bound(c, one, other, delta):
    low, high = sorted((one, other))
    assert epsilon(c, delta, high) <= epsilon(c, delta, low) + 1e-12


@given(counts(), deltas, deltas)
def test_more_slack_never_raises_the_bound(c, one, other):
    low, high = sorted((one, other))
    assert epsilon(c, high) <= epsilon(c, low) + 1e-12


@given(counts(), deltas)
def test_worlds_may_change_their_roles(c, delta):
    """Both directions of the inequality are used, so the bound knows no first world."""
    assert epsilon(Counts(c.fn, c.inn, c.fp, c.out), delta) == epsilon(c, delta)


def test_memory_does_not_grow_with_the_trials():
    """A ceiling is asked for more trials than anyone would put into an array."""
    assert ClopperPearson().ceiling(10**12, 10**12, DELTA) > 26


# ---------------------------------------------------------------- coverage


@pytest.mark.parametrize("n", [1, 5, 20, 40])
@pytest.mark.parametrize("true", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_bound_exceeds_the_truth_no_more_often_than_stated(n, true, confidence):
    """Exactly, by enumeration: randomized response leaks its epsilon to the last digit."""
    wrong = 1 / (1 + math.exp(true))
    k = np.arange(n + 1)
    chance = np.outer(binom.pmf(k, n, wrong), binom.pmf(k, n, wrong))
    table = [[epsilon(Counts(fp, n, fn, n), 0.0, confidence) for fn in k] for fp in k]
    above = np.array(table) > true + 1e-9
    assert chance[above].sum() <= 1 - confidence
    if n == 40 and true <= 1:
        assert above.any(), "an enumeration that could not fail shows nothing"


@pytest.mark.parametrize("counts", [(-1, 5, 0, 5), (6, 5, 0, 5), (0, 5, 6, 5), (0, 0, 0, 5)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(BadInput, match="Counts"):
        Counts(*counts)


@pytest.mark.parametrize("confidence", [95, 1.0, 0.0, float("nan")])
def test_impossible_confidence_is_refused(confidence):
    with refuses("out-of-range", "confidence"):
        ClopperPearson(confidence)


# ---------------------------------------------------------------- two-sided


def test_known_interval():
    """That of privacy-estimates: a/4 for each end of each rate."""
    low, high = ClopperPearson().bound(KNOWN, DELTA).interval
    assert low == pytest.approx(3.505522, abs=1e-6)
    assert high == pytest.approx(5.815558, abs=1e-6)


def test_interval_has_no_end_where_a_rate_may_be_zero():
    assert ClopperPearson().bound(Counts(0, 50, 5, 50), DELTA).interval[1] == math.inf
    # The other rate leaves nothing to divide by it.
    low, high = ClopperPearson().bound(Counts(0, 50, 50, 50), 0.5).interval
    assert (low, high) == (0, 0)


@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("true", [0.0, 1.0, 3.0])
def test_interval_misses_the_truth_no_more_often_than_stated(n, true):
    """Exactly, by enumeration; the truth is that of the rule, here also the mechanism's."""
    wrong = 1 / (1 + math.exp(true))
    k = np.arange(n + 1)
    chance = np.outer(binom.pmf(k, n, wrong), binom.pmf(k, n, wrong))
    rule = ClopperPearson(0.9)
    ends = np.array([[rule.bound(Counts(fp, n, fn, n), 0.0).interval for fn in k] for fp in k])
    missed = (ends[..., 0] > true + 1e-9) | (ends[..., 1] < true - 1e-9)
    assert chance[missed].sum() <= 0.1
    if n == 40 and true == 1.0:
        assert (ends[..., 0] > true).any()
        assert (ends[..., 1] < true).any()
