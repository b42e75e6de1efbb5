"""Rules of other tools: what they are, and that they alarm too often."""

import math

import numpy as np
import pytest
from chance import A
from scipy.stats import binom

from dpaudit.calibration import methods as every
from dpaudit.calibration.all_methods import usable_methods
from dpaudit.calibration.methods import BoundSettings
from dpaudit.calibration.other_tools import best_clopper_pearson, best_gdp, best_katz, best_one_run
from dpaudit.calibration.simulated import KnownLaplace, NoLeak, SimulatedRun, mechanisms
from dpaudit.estimators import OneRun
from dpaudit.estimators.one_run import count_right
from dpaudit.judging.plan import best_guess_count
from dpaudit.results import Scores
from dpaudit.types import IN, Claim

DELTA = 1e-5
N = 50


def scored(mechanism, trials, seed):
    worlds = np.tile([0, 1], trials)
    z = mechanism.draw(worlds, np.random.default_rng(seed))
    return Scores(z[worlds == 0], z[worlds == 1])


@pytest.mark.parametrize(
    ("rule", "mechanism", "trials", "games"),
    [
        (best_katz, NoLeak(), N, 200),
        (best_gdp, KnownLaplace(1.0), N, 100),
        pytest.param(best_clopper_pearson, KnownLaplace(1.0), 1000, 1500, marks=pytest.mark.verify),
    ],
)
def test_the_best_threshold_alarms_too_often(rule, mechanism, trials, games):
    """So many alarms at 5 % have a probability of 1e-5."""
    truth = mechanism.epsilon(DELTA)
    alarms = sum(
        rule(scored(mechanism, trials, seed), DELTA, 0.95) > truth for seed in range(games)
    )
    assert alarms > binom.isf(A, games, 0.05)


def test_the_best_number_of_guesses_alarms_too_often_and_a_fixed_one_does_not():
    found, games = {"best": 0, "fixed": 0}, 1000
    one_run = next(
        method
        for method in usable_methods(NoLeak(), DELTA)
        if method.judged == "one-run, fixed count"
    )
    for seed in range(games):
        run = SimulatedRun(NoLeak(), N, seed)
        found["best"] += best_one_run(*run.one_training, DELTA, 0.95) > 0
        found["fixed"] += one_run.epsilon(run, BoundSettings(DELTA, 0.95), 0) > 0
    assert found["best"] > binom.isf(A, games, 0.05) >= found["fixed"]


def test_katz_is_the_formula():
    scores = Scores(np.array([0.0] * 40 + [1.0] * 10), np.array([0.0] * 20 + [1.0] * 30))
    z = 1.6448536269514722
    said_in = math.log((0.6 - DELTA) / 0.2) - z * math.sqrt(0.4 / 30 + 0.8 / 10)
    said_out = math.log((0.8 - DELTA) / 0.4) - z * math.sqrt(0.2 / 40 + 0.6 / 20)
    assert best_katz(scores, DELTA, 0.95) == pytest.approx(max(said_in, said_out))


def test_as_many_canaries_are_guessed_as_a_run_takes():
    """Of mechanisms with and without a curve, and of one that leaks nothing."""
    for mechanism in mechanisms(DELTA)[:4]:
        curve = mechanism.curves[0] if mechanism.curves else None
        claim = Claim(mechanism.epsilon(DELTA) or 1.0, DELTA, curve=curve)
        run = SimulatedRun(mechanism, N, 0)
        scores, coins = run.one_training
        guesses = count_right(scores, coins == IN, best_guess_count(claim, 2 * N, 0.95))
        for method in usable_methods(mechanism, DELTA):
            if method.judged == "one-run, fixed count":
                expected = OneRun().bound(guesses, DELTA).epsilon
                assert method.epsilon(run, BoundSettings(DELTA, 0.95), 0) == expected


def test_of_more_canaries_than_can_be_planned_the_same_share_is_guessed(monkeypatch):
    asked = []
    monkeypatch.setattr(every, "best_guess_count", lambda c, m, sure: asked.append(m) or m // 4)
    assert every.number(1.25, DELTA, None, 50_000, 0.95) == 12_500
    assert asked == [20_000]
