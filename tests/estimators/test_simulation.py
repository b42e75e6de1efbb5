"""The engine under the rank test and the exact scan, and their level, in one place.

A level is tested without a bisection: the bound exceeds the truth only if p <= a at the true
parameter, and at one parameter the draws serve all repetitions.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from dpaudit.accounting import gaussian_epsilon
from dpaudit.accounting.curves import DPSGDFamily, GaussianFamily, PureFamily
from dpaudit.estimators import simulation
from dpaudit.estimators.exact_tests import wins
from dpaudit.estimators.simulation import Draws, enough, last_rejected
from dpaudit.rates import log_ratio, upper_rate

DELTA = 1e-5
A = 0.05


def test_draws_are_uniform_numbers_in_order():
    """A fixed seed; the test would fail by chance with a probability of 1e-4."""
    out, inn = Draws(out=5, inn=3, number=2000, seed=1).all()
    assert (np.diff(out, axis=1) > 0).all()
    for world in (out, inn):
        assert kstest(world.ravel(), "uniform").pvalue > 1e-4 / 3
    # The lowest of five is Beta(1, 5).
    assert kstest(1 - (1 - out[:, 0]) ** 5, "uniform").pvalue > 1e-4 / 3


def test_a_draw_is_the_same_whichever_others_are_asked_for(monkeypatch):
    monkeypatch.setattr(simulation, "AT_ONCE", 100)
    draws = Draws(out=4, inn=6, number=50, seed=2)
    assert [part for part, _, _ in draws.chunks()][:2] == [slice(0, 8), slice(8, 16)]
    out, inn = draws.all()
    kept = np.array([0, 7, 8, 31, 49])
    some = list(replace(draws, kept=kept).chunks())
    assert [part for part, _, _ in some] == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 5)]
    np.testing.assert_array_equal(np.concatenate([o for _, o, _ in some]), out[kept])
    np.testing.assert_array_equal(np.concatenate([i for _, _, i in some]), inn[kept])


@pytest.mark.parametrize("level", [0.05, 0.3])
def test_the_last_rejected_step_is_where_a_plain_loop_finds_it(level):
    """p by its definition, with every draw at every step; it may only rise with the leak."""
    curves, draws = GaussianFamily(), Draws(out=4, inn=5, number=79, seed=3)
    out, inn = draws.all()
    won = 18

    def p(step):
        x = curves.inn(curves.parameter(step), inn)
        stars = [sum(i < o for i in x[b] for o in out[b]) for b in range(draws.number)]
        return (1 + sum(star >= won for star in stars)) / (draws.number + 1)

    def exceeds(drawn, uniform, parameter):
        return wins(drawn, curves.inn(parameter, uniform)) >= won

    step = last_rejected(curves, exceeds, draws, level)
    stride = curves.steps // simulation.RESOLUTION
    assert step > 0
    assert p(step) <= level < p(step + stride)
    risen = [p(k * curves.steps // 200) for k in range(0, 40, 4)]
    assert risen == sorted(risen)


@pytest.mark.parametrize("held", [0, 300, 3000])
def test_what_is_kept_in_memory_changes_nothing(held, monkeypatch):
    curves, draws = GaussianFamily(), Draws(out=20, inn=30, number=200, seed=3)

    def exceeds(drawn, uniform, parameter):
        return wins(drawn, curves.inn(parameter, uniform)) >= 420

    monkeypatch.setattr(simulation, "AT_ONCE", 700)  # chunks of 13 draws
    kept = last_rejected(curves, exceeds, draws, 0.05)
    monkeypatch.setattr(simulation, "HELD", held)
    assert last_rejected(curves, exceeds, draws, 0.05) == kept > 0


def test_there_are_draws_enough_for_any_confidence():
    assert enough(2000, 0.05) == 2000
    assert enough(2000, 1e-4) == 20_000


# ---------------------------------------------------------------- level


def laplace(draw, shape):
    return draw.laplace(size=shape), 1 + draw.laplace(size=shape)


def gaussian(draw, shape):
    return draw.normal(size=shape), 1 + draw.normal(size=shape)


def randomized_response(draw, shape):
    """Says the truth with probability e/(1+e); ties by a coin."""
    right = math.e / (1 + math.e)
    bits = draw.random(shape) < 1 - right, draw.random(shape) < right
    return tuple(bit + 0.5 * draw.random(shape) for bit in bits)


def subsampled(draw, shape):
    """Two steps of noise 1, the record in each with probability 0.4; the best score there is."""

    def score(x):
        return np.log(0.6 + 0.4 * np.exp(x - 0.5)).sum(axis=-1)

    out = draw.normal(size=(*shape, 2))
    inn = draw.normal(size=(*shape, 2)) + (draw.random((*shape, 2)) < 0.4)
    return score(out), score(inn)


MECHANISMS = [
    (gaussian, GaussianFamily(), 1.0),
    (subsampled, DPSGDFamily(0.4, 2), 1.0),
    (randomized_response, PureFamily(0.0), 1.0),
    (laplace, PureFamily(0.0), 1.0),
    (gaussian, PureFamily(DELTA), gaussian_epsilon(1.0, DELTA)),
    (subsampled, PureFamily(DELTA), DPSGDFamily(0.4, 2).epsilon(1.0, DELTA)),
]
SIZES = pytest.mark.parametrize(("n0", "n1"), [(20, 20), (100, 60), (250, 250)])
EXACT = (gaussian, subsampled, randomized_response)
"""Whose ROC is the very curve of their family, unless that is one of some delta."""

REPEATS = 4000


def p_values(stars, found):
    """(1 + #{T* >= T})/(B + 1) for every T."""
    below = np.searchsorted(np.sort(stars), found, side="left")
    return (1 + len(stars) - below) / (len(stars) + 1)


def errs_as_stated(stars, found, exact):
    """Whether p <= a in no more trials than in draws under the curve, and in as many if exact.

    T has steps, so that p <= a may have a smaller probability than a: that which the draws show.
    Beyond 4.5 deviations of the difference of both shares with a probability of 7e-6.
    """
    stated, missed = (np.mean(p_values(stars, t) <= A) for t in (stars, found))
    tolerance = 4.5 * math.sqrt(2 * A * (1 - A) / REPEATS)
    return stated <= A and -tolerance < stated - missed < (tolerance if exact else 1)


def draw_trials(mechanism, curves, true, n0, n1, seed):
    """Trials in order, small is in: of the mechanism, and under the curve."""
    draw = np.random.default_rng([seed, n0])
    # Both worlds at the larger size, of which the first are kept.
    worlds = mechanism(draw, (REPEATS, max(n0, n1)))
    trials = [np.sort(-w[:, :n], axis=1) for w, n in zip(worlds, (n0, n1), strict=True)]
    out, inn = Draws(n0, n1, REPEATS, seed).all()
    return trials, (out, curves.inn(true, inn))


@SIZES
@pytest.mark.parametrize(("mechanism", "curves", "true"), MECHANISMS)
def test_the_rank_test_errs_as_often_as_stated(mechanism, curves, true, n0, n1):
    trials, drawn = draw_trials(mechanism, curves, true, n0, n1, 7)
    exact = mechanism in EXACT and getattr(curves, "delta", 0) == 0
    assert errs_as_stated(wins(*drawn), wins(*trials), exact)


@SIZES
@pytest.mark.parametrize(("mechanism", "curves", "true"), MECHANISMS[2:])
def test_the_exact_scan_errs_as_often_as_stated(mechanism, curves, true, n0, n1):
    """T by the table of all counts."""
    u0, u1 = (upper_rate(np.arange(n + 1), n, 0.025) for n in (n0, n1))
    table = log_ratio(u0[:, None], u1[None, :], curves.delta)

    def largest(out, inn):
        missed = n1 - np.array([np.searchsorted(i, o) for o, i in zip(out, inn, strict=True)])
        return table[np.arange(n0), missed].max(axis=1)

    trials, drawn = draw_trials(mechanism, curves, true, n0, n1, 9)
    exact = mechanism is randomized_response
    assert errs_as_stated(largest(*drawn), largest(*trials), exact)
