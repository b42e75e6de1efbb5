import math

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import binom

from dpaudit.accounting import epsilon as claimed
from dpaudit.accounting.curves import DPSGDFamily, PureFamily
from dpaudit.accounting.search import margin
from dpaudit.estimators import PLD, ClopperPearson
from dpaudit.rates import upper_rate
from dpaudit.results import Counts, Guesses, Scores
from dpaudit.types import DPSGDCurve, GaussianCurve

DELTA = 1e-5
CURVE = DPSGDCurve(sample_rate=0.3, steps=5, noise_multiplier=1.0)
SOME = Counts(fp=30, out=500, fn=250, inn=500)


def test_a_gaussian_curve_gives_the_known_answer():
    estimator = PLD(GaussianCurve(mu=1.0))
    counts = Counts(fp=5, out=500, fn=60, inn=500)
    assert estimator.parameter(counts, DELTA) == pytest.approx(3.021022, abs=1e-6)
    bound = estimator.bound(counts, DELTA)
    assert bound.epsilon == pytest.approx(16.826971, abs=1e-5)
    assert bound.assumption == "gaussian"


def test_the_whole_family_is_refuted_up_to_the_bound():
    estimator = PLD(CURVE)
    s, curves = estimator.parameter(SOME, DELTA), DPSGDFamily(0.3, 5)
    u0, u1 = (float(upper_rate(k, 500, 0.025)) for k in (SOME.fp, SOME.fn))
    assert 0.3 < s < 3
    assert margin(curves, s, u0, u1) > 0
    assert margin(curves, 1.3 * s, u0, u1) > 0
    assert margin(curves, 0.999 * s, u0, u1) <= 0
    assert estimator.bound(SOME, DELTA).epsilon == curves.epsilon(s, DELTA)


def test_the_bound_is_never_above_what_the_accountant_would_claim():
    estimator = PLD(CURVE)
    s = estimator.parameter(SOME, DELTA)
    above = claimed(DPSGDCurve(0.3, 5, s), DELTA)
    assert above - 0.01 < estimator.bound(SOME, DELTA).epsilon <= above


def test_replacement_contains_the_doubled_distance():
    """Twice the distance is twice the noise, where every batch has the record."""
    full = DPSGDCurve(sample_rate=0.999999, steps=1, noise_multiplier=1.0)
    removed, replaced = (
        PLD(full, adjacency=kind).parameter(SOME, DELTA) for kind in ("add-remove", "replace")
    )
    assert replaced == pytest.approx(2 * removed, rel=0.01)


def test_bound_is_above_what_counts_alone_would_say():
    """That is what the assumption buys; it is named."""
    bound = PLD(CURVE).bound(SOME, DELTA)
    assert bound.epsilon > ClopperPearson().bound(SOME, DELTA).epsilon
    assert (bound.estimator, bound.assumption, bound.selection) == ("pld", "accountant", "as given")
    assert bound.counts == SOME
    assert "at a rate of 0.3 in 5 steps, as claimed" in bound.sentence
    assert "one record added or removed, independent trials and a decision rule" in bound.sentence
    assert "cannot catch a fault\nin the sampling" in "\n".join(
        line.strip() for line in PLD.__doc__.splitlines()
    )


def test_bound_exceeds_the_truth_no_more_often_than_stated():
    """Exactly, by enumeration of all counts of 12 trials a world, at the best threshold."""
    n, true = 12, 1.0
    curves = DPSGDFamily(0.3, 5)
    k = np.arange(n + 1)
    u = upper_rate(k, n, 0.025)
    for x in (0.01, 0.05, 0.3):
        y = float(curves.trade_off(true, x))
        chance = np.outer(binom.pmf(k, n, x), binom.pmf(k, n, y))
        above = curves.trade_off(true, u)[:, None] > u[None, :]
        assert chance[above].sum() <= 0.05


@pytest.mark.parametrize(
    "counts",
    [Counts(0, 1, 0, 1), Counts(50, 50, 50, 50), Counts(25, 50, 25, 50), Counts(40, 50, 45, 50)],
)
def test_counts_that_show_nothing_give_zero(counts):
    bound = PLD(CURVE).bound(counts, DELTA)
    assert bound.epsilon == 0
    assert bound.ceiling < math.inf


def test_no_error_at_all_reaches_the_ceiling():
    estimator = PLD(CURVE)
    bound = estimator.bound(Counts(0, 100, 0, 100), DELTA)
    assert 0 < bound.epsilon == bound.ceiling == estimator.ceiling(100, 100, DELTA) < math.inf


def test_more_errors_and_more_confidence_never_raise_the_bound():
    fewer, more = (PLD(CURVE).bound(Counts(fp, 500, 250, 500), DELTA) for fp in (20, 40))
    assert more.epsilon < PLD(CURVE).bound(SOME, DELTA).epsilon < fewer.epsilon
    surer = PLD(CURVE, confidence=0.99).bound(SOME, DELTA)
    assert surer.epsilon < PLD(CURVE).bound(SOME, DELTA).epsilon


def test_without_a_curve_it_is_clopper_pearson():
    """The (epsilon, delta) curve itself, solved by the same bisection."""
    found = PLD(PureFamily(DELTA)).bound(SOME, DELTA)
    assert found.epsilon == pytest.approx(ClopperPearson().bound(SOME, DELTA).epsilon, abs=1e-6)
    assert found.assumption == "none"


@pytest.mark.parametrize("outcome", [Scores(np.zeros(3), np.ones(3)), Guesses(10, 5, 4)])
def test_scores_and_guesses_are_refused(outcome):
    with refuses("wrong-outcome", value=(type(outcome).__name__, "Counts")):
        PLD(CURVE).bound(outcome, DELTA)


@pytest.mark.parametrize("confidence", [95, 1.0, 0.0, math.nan])
def test_impossible_confidence_is_refused(confidence):
    with refuses("out-of-range", "confidence"):
        PLD(CURVE, confidence)


@pytest.mark.parametrize(("delta", "code"), [(0.0, "needs-delta"), (1.0, "out-of-range")])
def test_impossible_delta_is_refused(delta, code):
    with refuses(code, "delta", delta):
        PLD(CURVE).bound(SOME, delta)
