import math

import numpy as np
import pytest
from outcome_strategies import DELTA
from refusals import refuses
from scipy.stats import binom, norm

from dpaudit.accounting import epsilon as claimed
from dpaudit.accounting.curves import DPSGDFamily, GaussianFamily, PureFamily, symmetric
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run import refuted_by_curve
from dpaudit.results import Guesses
from dpaudit.types import DPSGDCurve


@pytest.mark.parametrize(
    ("g", "value"), [(Guesses(1000, 1000, 700), 1.37198), (Guesses(1000, 200, 180), 2.901243)]
)
def test_known_answers(g, value):
    assert OneRunFDP().bound(g, DELTA).epsilon == pytest.approx(value, abs=1e-5)


def naive(mu, g, a):
    """The algorithm without its shortcuts: two lists, filled to the end."""
    m, made, right = g.canaries, g.guesses, g.correct
    r, h = [0.0] * (right + 1), [0.0] * (right + 1)
    r[right], h[right] = a * right / m, a * (made - right) / m
    for i in reversed(range(right)):
        h[i] = max(h[i + 1], norm.cdf(norm.ppf(r[i + 1]) - mu))
        r[i] = min(1.0, r[i + 1] + i / (made - i) * (h[i] - h[i + 1]))
    return r[0] + h[0] > made / m


@pytest.mark.parametrize(
    "g", [Guesses(60, 60, 45), Guesses(100, 40, 38), Guesses(9, 9, 9)], ids=str
)
@pytest.mark.parametrize("mu", [0.0, 0.2, 0.6, 1.0, 1.5, 3.0])
def test_a_curve_is_refuted_as_the_algorithm_without_shortcuts_does(g, mu):
    assert refuted_by_curve(GaussianFamily(), mu, g, 0.05) == naive(mu, g, 0.05)


def test_bound_lies_where_refutation_ends():
    g = Guesses(1000, 200, 180)
    low, high = 0.0, 5.0
    while high - low > 1e-6:
        mu = (low + high) / 2
        low, high = (mu, high) if naive(mu, g, 0.05) else (low, mu)
    end = GaussianFamily().epsilon(low, DELTA)
    assert OneRunFDP().bound(g, DELTA).epsilon == pytest.approx(end, abs=1e-4)


def fewest_that_refute(curves, true, m, made, a):
    """Right guesses from which on the truth itself would be refuted."""
    found = (c for c in range(made + 1) if refuted_by_curve(curves, true, Guesses(m, made, c), a))
    return next(found, made + 1)


@pytest.mark.parametrize("m", [10, 100, 1000])
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("a", [0.05, 0.4])
def test_the_truth_is_refuted_no_more_often_than_stated(m, mu, a):
    """Exactly, by enumeration: a Gaussian mechanism on each canary, guessed by a fixed cut."""
    fewest = fewest_that_refute(GaussianFamily(), mu, m, m, a)
    assert binom.sf(fewest - 1, m, norm.cdf(mu / 2)) <= a
    if m > 10 and mu < 2:
        assert fewest <= m, "an enumeration that could not fail shows nothing"


@pytest.mark.parametrize("mu", [0.0, 1.0, 2.0])
def test_the_truth_is_refuted_no_more_often_than_stated_with_abstention(mu):
    """By simulation of the 20 highest and 20 lowest of 200 scores, 2,000 runs, fixed seed.

    Were the truth refuted with a probability of .2, more than 470 runs would do so with a
    probability below 1e-4.
    """
    m, k, runs, a = 200, 20, 2000, 0.2
    draw = np.random.default_rng(1)
    inside = draw.random((runs, m)) < 0.5
    order = np.argsort(mu * inside + draw.standard_normal((runs, m)), axis=1)
    sorted_ = np.take_along_axis(inside, order, axis=1)
    right = sorted_[:, -k:].sum(axis=1) + (~sorted_[:, :k]).sum(axis=1)
    assert binom.sf(470, runs, a) < 1e-4
    assert np.sum(right >= fewest_that_refute(GaussianFamily(), mu, m, 2 * k, a)) <= 470


def test_it_shows_more_than_without_the_assumption():
    g = Guesses(1000, 1000, 700)
    assert OneRunFDP().bound(g, DELTA).epsilon > OneRun().bound(g, DELTA).epsilon


@pytest.mark.parametrize("curve", ["pure", PureFamily(DELTA)], ids=str)
def test_without_a_curve_it_assumes_nothing(curve):
    """The (epsilon, delta) curve itself: about what Steinke's formula gives."""
    g = Guesses(1000, 1000, 700)
    bound = OneRunFDP(curve=curve).bound(g, DELTA)
    assert bound.assumption == "none"
    assert OneRun().bound(g, DELTA).epsilon == pytest.approx(bound.epsilon, rel=0.01)
    assert OneRunFDP(curve="pure").bound(g, 0.0).epsilon < math.log(700 / 300)


# ---------------------------------------------------------------- the accountant's curve

FEW = DPSGDCurve(sample_rate=0.4, steps=2, noise_multiplier=1.0)
"""Two steps, in each of which a record is sampled with probability 0.4."""


def best_guesses(draw, runs, m):
    """Of runs with m canaries, what the best score says and which canaries were in."""
    inside = draw.random((runs, m)) < 0.5
    sampled = (draw.random((runs, m, 2)) < FEW.sample_rate) & inside[:, :, None]
    x = sampled + draw.standard_normal((runs, m, 2))
    return np.log(0.6 + 0.4 * np.exp(x - 0.5)).sum(axis=2), inside


@pytest.mark.parametrize(("called_in", "called_out"), [(100, 100), (20, 20), (20, 0), (0, 20)])
def test_dpsgd_is_refuted_no_more_often_than_stated(called_in, called_out):
    """By simulation, 2,000 runs of 200 canaries, fixed seed: as for the Gaussian above.

    Guesses on one side alone too, because a record more leaks otherwise than a record fewer.
    """
    runs, m, a = 2000, 200, 0.2
    scores, inside = best_guesses(np.random.default_rng(2), runs, m)
    sorted_ = np.take_along_axis(inside, np.argsort(scores, axis=1), axis=1)
    right = sorted_[:, m - called_in :].sum(axis=1) + (~sorted_[:, :called_out]).sum(axis=1)
    curves = symmetric(DPSGDFamily(FEW.sample_rate, FEW.steps))
    made = called_in + called_out
    fewest = fewest_that_refute(curves, FEW.noise_multiplier, m, made, a)
    assert fewest <= made, "a simulation that could not fail shows nothing"
    assert np.sum(right >= fewest) <= 470


def test_dpsgd_is_bounded_below_its_truth_and_by_its_accountant():
    """500 canaries at s = 1: a run whose right guesses are as many as expected."""
    scores, inside = best_guesses(np.random.default_rng(3), 1, 500)
    right = int(np.sum((scores > np.median(scores)) == inside))
    bound = OneRunFDP(curve=FEW).bound(Guesses(500, 500, right), DELTA)
    assert (bound.assumption, bound.estimator) == ("accountant", "one-run-fdp")
    assert 0 < bound.epsilon < claimed(FEW, DELTA)
    assert "at a rate of 0.4 in 2 steps, as claimed" in bound.sentence
    assert "one record added or removed, canaries that a fair coin" in bound.sentence
    replaced = OneRunFDP(curve=FEW, adjacency="replace").bound(Guesses(500, 500, right), DELTA)
    assert "one record replaced" in replaced.sentence
    full = OneRunFDP(curve=DPSGDCurve(1.0, 4, 2.0)).bound(Guesses(500, 500, right), DELTA)
    assert full.epsilon == OneRunFDP().bound(Guesses(500, 500, right), DELTA).epsilon


def test_with_dpsgd_more_errors_and_more_confidence_never_raise_the_bound():
    found = [
        OneRunFDP(curve=FEW).bound(Guesses(300, 200, v), DELTA).epsilon for v in (100, 150, 170)
    ]
    assert found == sorted(found)
    surer = OneRunFDP(0.99, FEW).bound(Guesses(300, 200, 170), DELTA).epsilon
    assert 0 < surer < found[-1] <= OneRunFDP(curve=FEW).ceiling(300, 200, DELTA)


def test_delta_zero_is_refused_because_no_epsilon_is_finite():
    with refuses("needs-delta", "delta", 0.0):
        OneRunFDP().bound(Guesses(10, 5, 5), 0.0)
