"""What every registered estimator promises, at the extremes and between, with every kind of curve.

Those on counts, guesses and scores have files of their own for what only they promise.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outcome_strategies import DELTA, common_random_numbers, counts, deltas, guesses, steady
from refusals import refuses

from dpaudit import registry
from dpaudit.errors import BadInput
from dpaudit.results import Bound, Counts, Decisions, Guesses, Scores
from dpaudit.types import DPSGDCurve

CURVES = {"gaussian": "gaussian", "pure": "pure", "dpsgd": DPSGDCurve(0.3, 5, 1.0)}
DRAWS = 499
"""Enough for a confidence of 95 %, and a test by simulation keeps its promises with any number."""


def ways():
    """Every registered estimator, with every kind of curve if it asks for one.

    The accountant's takes minutes in all.
    """
    for name in registry.names("estimators"):
        asks = "curve" in registry.parameters(registry.load("estimators", name))
        for curve in CURVES if asks else ("",):
            marks = [pytest.mark.verify] if curve == "dpsgd" else []
            yield pytest.param(name, curve, marks=marks, id=f"{name}-{curve}".rstrip("-"))


EACH = pytest.mark.parametrize(("name", "curve"), list(ways()))


def made(name, curve, confidence=0.95, seed=0):
    return registry.make(
        "estimators",
        name,
        confidence=confidence,
        seed=seed,
        curve=CURVES.get(curve),
        draws=DRAWS,
    )


def kind_of(estimator):
    return getattr(estimator, "takes", Counts)


def refuses_zero(estimator):
    """Gaussian noise has no finite epsilon at delta 0."""
    return getattr(estimator, "assumption", "none") in ("gaussian", "accountant")


def hold(bound, estimator, delta):
    """What is true of any bound."""
    assert isinstance(bound, Bound)
    assert 0 <= bound.epsilon <= bound.ceiling < math.inf
    assert (bound.delta, bound.confidence) == (delta, estimator.confidence)
    assert bound.assumption == getattr(estimator, "assumption", bound.assumption)
    assert bound.selection
    assert f"{100 * estimator.confidence:.6g} %" in bound.sentence
    assert ", assuming " in bound.sentence
    assert bound.sentence.endswith(".")
    if bound.interval is not None:
        low, high = bound.interval
        assert 0 <= low <= high


# ---------------------------------------------------------------- extremes


def yes(n):
    return np.ones(n, dtype=bool)


EXTREMES = {
    Counts: [
        Counts(fp, out, fn, inn)
        for out, inn in ((1, 1), (1, 1000), (40, 40))
        for fp in (0, out)
        for fn in (0, inn)
    ],
    Guesses: [
        Guesses(m, r, v) for m, r in ((1, 1), (50, 1), (50, 50), (5000, 40)) for v in (0, 1, r)
    ],
    Scores: [
        Scores(np.full(n0, out), np.full(n1, inn))
        for n0, n1 in ((1, 1), (1, 30), (30, 20))
        for out in (-math.inf, 0.0, math.inf)
        for inn in (-math.inf, 0.0, math.inf)
    ],
    Decisions: [
        Decisions(out, inn)
        for n in (1, 40)
        for out in (yes(n), ~yes(n))
        for inn in (yes(n), ~yes(n))
    ],
}


@EACH
@pytest.mark.parametrize("delta", [0.0, 1e-300, DELTA])
def test_extremes_give_a_bound_or_at_delta_zero_one_sentence(name, curve, delta):
    estimator = made(name, curve)
    for outcome in EXTREMES[kind_of(estimator)]:
        if delta == 0 and refuses_zero(estimator):
            with refuses("needs-delta", "delta", delta):
                estimator.bound(outcome, delta)
        else:
            hold(estimator.bound(outcome, delta), estimator, delta)


@EACH
def test_a_delta_that_leaves_nothing_to_show_shows_nothing(name, curve):
    estimator = made(name, curve)
    for outcome in EXTREMES[kind_of(estimator)]:
        bound = estimator.bound(outcome, 0.999999)
        hold(bound, estimator, 0.999999)
        assert bound.epsilon == 0
        assert "delta 0.999999" in bound.sentence


@EACH
def test_another_kind_of_outcome_is_refused(name, curve):
    estimator = made(name, curve)
    for kind, outcomes in EXTREMES.items():
        if kind is not kind_of(estimator):
            with refuses("wrong-outcome"):
                estimator.bound(outcomes[0], DELTA)
    with refuses("wrong-outcome"):
        estimator.bound(None, DELTA)


UNUSABLE = {
    Counts: [(0, 0, 0, 5), (0, 5, 0, 0), (math.nan, 5, 0, 5), (0, math.nan, 0, 5), (6, 5, 0, 5)],
    Guesses: [(5, 0, 0), (math.nan, 5, 5), (5, math.nan, 0), (5, 5, math.nan)],
    Scores: [
        (np.array([]), np.ones(3)),
        (np.ones(3), np.array([])),
        (np.array([0.0, math.nan]), np.ones(2)),
        (np.ones(2), np.array([math.inf, math.nan])),
    ],
    Decisions: [
        (yes(0), yes(3)),
        (yes(3), yes(0)),
        (yes(0), yes(0)),
        (np.array([math.nan]), np.array([1.0])),
    ],
}


@EACH
def test_an_empty_world_and_nan_are_refused(name, curve):
    estimator = made(name, curve)
    kind = kind_of(estimator)
    for values in UNUSABLE[kind]:
        with pytest.raises(BadInput):
            estimator.bound(kind(*values), DELTA)


@EACH
@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
def test_impossible_delta_is_refused(name, curve, delta):
    estimator = made(name, curve)
    with refuses("out-of-range", "delta"):
        estimator.bound(EXTREMES[kind_of(estimator)][0], delta)


# ---------------------------------------------------------------- properties

continuous = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def scores(draw):
    """Without ties, whose coins would be others in other scores."""
    random, lead = draw(continuous), draw(st.floats(0, 6))
    n0, n1 = draw(st.integers(1, 15)), draw(st.integers(1, 15))
    return Scores(random.normal(size=n0), random.normal(size=n1) + lead)


@st.composite
def decisions(draw):
    random, n = draw(continuous), draw(st.integers(1, 60))
    return Decisions(random.random(n) < draw(st.floats(0, 1)), random.random(n) < 0.9)


OUTCOMES = {Counts: counts(300), Guesses: guesses(60), Scores: scores(), Decisions: decisions()}


@EACH
@settings(steady, max_examples=12)
@given(data=st.data(), delta=deltas, one=st.floats(0.5, 0.95), other=st.floats(0.5, 0.95))
def test_more_confidence_never_raises_a_bound(name, curve, data, delta, one, other):
    less_sure, surer = (made(name, curve, c) for c in sorted((one, other)))
    outcome = data.draw(OUTCOMES[kind_of(surer)])
    low, high = surer.bound(outcome, delta), less_sure.bound(outcome, delta)
    hold(low, surer, delta)
    hold(high, less_sure, delta)
    assert low.epsilon <= high.epsilon + 1e-6


def better(outcome, which, by):
    """With one error fewer, or one in-score raised."""
    if isinstance(outcome, Counts):
        fp, fn = max(0, outcome.fp - which % 2), max(0, outcome.fn - 1 + which % 2)
        return Counts(fp, outcome.out, fn, outcome.inn)
    if isinstance(outcome, Guesses):
        return Guesses(outcome.canaries, outcome.guesses, min(outcome.guesses, outcome.correct + 1))
    inn = outcome.inn.copy()
    inn[which % len(inn)] = True if isinstance(outcome, Decisions) else inn[which % len(inn)] + by
    return type(outcome)(outcome.out, inn)


@EACH
@settings(steady, max_examples=12)
@given(data=st.data(), which=st.integers(0, 99), by=st.floats(1e-3, 5))
def test_what_tells_the_worlds_better_apart_never_lowers_a_bound(name, curve, data, which, by):
    estimator = made(name, curve)
    outcome = data.draw(OUTCOMES[kind_of(estimator)])
    with common_random_numbers():
        before, after = (
            estimator.bound(outcome, DELTA),
            estimator.bound(better(outcome, which, by), DELTA),
        )
    assert after.epsilon >= before.epsilon - 1e-6
    assert after.ceiling == before.ceiling


@EACH
def test_the_same_seed_gives_the_same_bound(name, curve):
    for outcome in EXTREMES[kind_of(made(name, curve))][-3:]:
        first, second = (made(name, curve, 0.9, 7).bound(outcome, DELTA) for _ in range(2))
        assert first == second
