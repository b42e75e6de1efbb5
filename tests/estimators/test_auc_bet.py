"""The paired-AUC bet: against naive play, how often it errs at any time, how soon it is done."""

import math

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import binom, norm

from dpaudit.accounting import gaussian_epsilon
from dpaudit.accounting.curves import DPSGDFamily, GaussianFamily, PureFamily
from dpaudit.estimators.e_process import FRACTIONS
from dpaudit.estimators.paired_auc import AUCBet
from dpaudit.types import DPSGDCurve

DELTA = 1e-5


def bet_on(won, curve="gaussian", confidence=0.95):
    game = AUCBet(DELTA, curve, confidence)
    for first in won:
        game.show([first])
    return game


def wealth(won, area):
    """Every stake played naively, pair after pair."""
    purses = np.ones(len(FRACTIONS))
    course = []
    for first in won:
        purses = purses * (1 + FRACTIONS / area * (first - area))
        course.append(purses.mean())
    return course


@pytest.mark.parametrize("area", [0.5, 0.6, 0.73, 0.95])
def test_wealth_is_every_stake_played_naively(area):
    won = np.random.default_rng(0).choice([0.0, 0.5, 1.0], 60, p=[0.2, 0.2, 0.6])
    assert bet_on(won).wealth(area) == pytest.approx(wealth(won, area)[-1])


def test_an_area_stays_refuted_once_its_wealth_was_enough():
    won = [True] * 20 + [False] * 40
    game = bet_on(won)
    for area in np.linspace(0.5, 0.99, 50):
        assert (game.least > area) == (max(wealth(won, area)) >= 20)
    assert game.wealth(game.least) < 1


@pytest.mark.parametrize(
    ("curve", "curves"),
    [("gaussian", GaussianFamily()), ("pure", PureFamily(DELTA))],
    ids=["gaussian", "pure"],
)
def test_bound_is_the_most_leaking_curve_within_the_refuted_areas(curve, curves):
    bound = bet_on([True] * 40 + [False] * 3, curve).bound()
    least = bet_on([True] * 40 + [False] * 3, curve).least
    at = math.sqrt(2) * norm.ppf(least) if curve == "gaussian" else _pure(least)
    assert bound.epsilon == pytest.approx(curves.epsilon(at, DELTA), abs=1e-4)
    assert bound.assumption == curves.assumption
    assert bound.epsilon < bound.ceiling


def _pure(area):
    return math.log((1 - DELTA) ** 2 / (1 - area) - 1)


def test_a_curve_of_dpsgd_is_the_accountants():
    game = bet_on([True] * 30, DPSGDCurve(0.1, 100, 1.0))
    bound, curves = game.bound(), DPSGDFamily(0.1, 100)
    assert bound.assumption == "accountant"
    assert "rate of 0.1 in 100 steps" in bound.sentence
    assert game.first_above(bound.epsilon) >= game.least - 1e-9
    assert 0.5 < curves.area(1.0) < game.least


def test_what_lies_above_an_epsilon_is_where_a_bound_exceeds_it():
    game = bet_on([])
    area = game.first_above(1.0)
    mu = math.sqrt(2) * norm.ppf(area)
    assert 1 < gaussian_epsilon(mu, DELTA) < 1 + 1e-6
    assert game.first_above(10**6) == 1.0, "which nothing refutes"


def test_before_the_first_pair_and_without_a_leak_nothing_is_shown():
    for won in ([], [True, False] * 50, [False] * 30, [0.5] * 200):
        assert bet_on(won).bound().epsilon == 0
    assert "no leak" in bet_on([]).bound().sentence


def test_attacks_share_the_wealth_equally():
    game = AUCBet(DELTA, attacks=2)
    one, other = [True] * 30, [True, False] * 15
    for pair in zip(one, other, strict=True):
        game.show(pair)
    mean = (wealth(one, 0.6)[-1] + wealth(other, 0.6)[-1]) / 2
    assert game.wealth(0.6) == pytest.approx(mean)


def test_an_attack_that_does_not_bet_keeps_its_share():
    game = AUCBet(DELTA, attacks=2)
    for _ in range(5):
        game.show([True, None])
    assert game.wealth(0.6) == pytest.approx((wealth([True] * 5, 0.6)[-1] + 1) / 2)


def test_more_confidence_or_a_lost_pair_never_raises_the_bound():
    won = list(np.random.default_rng(1).random(50) < 0.9)
    least = bet_on(won).least
    assert bet_on(won, confidence=0.99).least < least
    for i in np.flatnonzero(won)[:10]:
        assert bet_on([*won[:i], False, *won[i + 1 :]]).least <= least


def test_a_claim_that_holds_exactly_is_refuted_no_more_often_than_stated_at_any_time():
    """The most that the wealth ever is in 300 pairs; fails by chance with 1e-5."""
    area, games, a = 0.76, 4000, 0.05
    won = np.random.default_rng(2).random((games, 300)) < area
    factors = 1 + FRACTIONS / area * (won[:, :, None] - area)
    highest = np.exp(np.log(factors).cumsum(axis=1)).mean(axis=2).max(axis=1)
    assert highest[0] == pytest.approx(max(wealth(won[0], area)))
    refuted = int((highest >= 1 / a).sum())
    assert 0.01 * games < refuted < binom.isf(1e-5, games, a)


@pytest.mark.parametrize(("curve", "most"), [("gaussian", 20), ("pure", 50)])
def test_a_gross_violation_is_soon_refuted(curve, most):
    """True epsilon 10 against a claim of 1, by the best score; median of 101 games."""
    area = AUCBet(DELTA, curve).first_above(1.0)
    won = np.random.default_rng(3).random((101, 200)) < norm.cdf(2.0004 / math.sqrt(2))
    taken = [np.argmax(np.array(wealth(game, area)) >= 20) + 1 for game in won]
    assert np.median(taken) < most


@pytest.mark.parametrize(
    ("code", "option", "value"),
    [("out-of-range", "confidence", 1.0), ("unknown-choice", "curve", "bent")],
)
def test_impossible_settings_are_refused(code, option, value):
    with refuses(code, option, value):
        AUCBet(DELTA, **{option: value})


def test_an_impossible_delta_is_refused():
    with refuses("out-of-range", "delta", 1.0):
        AUCBet(1.0)
