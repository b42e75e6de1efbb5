"""Mean bounds at the ideal score are the known ones: delta 1e-5, 95 %.

A bound on pairs is known from the pairs that are won, and a rank test's from its U: the bounds
of some U are computed, and those of all that are drawn lie between. A known mean is itself one
of a simulation, and given to two digits: .05 is allowed for it.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from chance import A
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import binom, norm

from dpaudit.accounting import gaussian_epsilon
from dpaudit.accounting.curves import DPSGDFamily, GaussianFamily
from dpaudit.attacks import Statistic, ThresholdAttack
from dpaudit.estimators import GDP, PLD, ClopperPearson, ExactScan, PairedAUC, RankTest
from dpaudit.estimators.exact_tests import wins
from dpaudit.estimators.hold_out import FixedRule, HoldOut
from dpaudit.estimators.trials import Trials
from dpaudit.rates import BoundCriterion
from dpaudit.results import Scores
from dpaudit.types import IN, OUT, DPSGDCurve

DELTA = 1e-5
KNOWN_TO = 0.05

ONE = ThresholdAttack(
    Statistic("one", frozenset({"values"}), lambda seen, known: seen["values"][:, 0])
)


@cache
def of_epsilon(true):
    """The mu of a Gaussian mechanism."""
    return brentq(lambda mu: gaussian_epsilon(mu, DELTA) - true, 0.01, 10)


def is_known(values, mean):
    """Within the simulation's error, which a false alarm exceeds with a probability of 2e-5."""
    error = norm.isf(A) * np.std(values) / math.sqrt(len(values))
    return abs(np.mean(values) - mean) < error + KNOWN_TO


# ---------------------------------------------------------------- paired AUC


def pairs(won, n):
    return Scores(np.zeros(n), np.where(np.arange(n) < won, 1.0, -1.0))


def mean_of_pairs(estimator, n, auc):
    """Exactly, over the numbers of pairs that are won; between 40 of them by interpolation."""
    k = np.arange(*binom.interval(1 - 1e-6, n, auc)).astype(int)
    some = np.unique(np.linspace(k[0], k[-1], 40).astype(int))
    bounds = [estimator.bound(pairs(won, n), DELTA).epsilon for won in some]
    chance = binom.pmf(k, n, auc)
    return chance @ np.interp(k, some, bounds) / chance.sum()


GAUSSIAN = {
    100: ((1, 0.19, 0.27), (2, 0.76, 1.00), (4, 2.45, 2.83), (8, 5.84, 6.51), (10, 7.44, 8.32)),
    250: ((1, 0.33, 0.43), (2, 1.17, 1.34), (4, 3.01, 3.24), (8, 6.63, 7.02), (10, 8.36, 8.91)),
    500: ((1, 0.48, 0.58), (2, 1.41, 1.53), (4, 3.30, 3.46), (8, 7.03, 7.31), (10, 8.84, 9.22)),
    1000: ((1, 0.63, 0.70), (2, 1.58, 1.66), (4, 3.50, 3.61), (8, 7.31, 7.50), (10, 9.18, 9.44)),
    2000: ((1, 0.73, 0.78), (2, 1.70, 1.76), (4, 3.65, 3.73), (8, 7.51, 7.65), (10, 9.42, 9.60)),
}
"""Trials a world: true epsilon, paired AUC, rank test."""


@pytest.mark.parametrize("n", GAUSSIAN)
def test_paired_auc_under_a_gaussian_curve(n):
    for true, paired, _ in GAUSSIAN[n]:
        auc = ndtr(of_epsilon(true) / math.sqrt(2))
        assert mean_of_pairs(PairedAUC(), n, auc) == pytest.approx(paired, abs=KNOWN_TO), true


# ---------------------------------------------------------------- rank test


def of_wins(u, n):
    """Scores of n trials a world, of whose pairs u are won."""
    won = np.full(n, u // n)
    won[: u % n] += 1
    return Scores(np.arange(n) * 1.0, won - 0.5)


@dataclass(frozen=True)
class ByU:
    """The bounds of a rank test for every U, from those of some."""

    u: np.ndarray
    epsilon: np.ndarray

    @classmethod
    def between(cls, estimator, n, low, high, points):
        """From one AUC to another, evenly by the probits."""
        u = np.unique((ndtr(np.linspace(ndtri(low), ndtri(high), points)) * n**2).astype(int))
        return cls(u, np.array([estimator.bound(of_wins(one, n), DELTA).epsilon for one in u]))

    def __call__(self, u):
        assert self.u[0] <= u.min()
        assert u.max() <= self.u[-1]
        return np.interp(u, self.u, self.epsilon)


def drawn_wins(curves, true, n, games, seed):
    """U of games in which the score is the best there is: its ROC is the curve itself."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(games // 100):
        out = np.sort(draw.random((100, n)), axis=1)
        inn = np.sort(curves.inn(true, draw.random((100, n))), axis=1)
        found.append(wins(out, inn))
    return np.concatenate(found)


def misses_are_as_stated(bounds, true, draws):
    """5 % but for the games and for the draws of the test, which all games here share."""
    share = np.mean(bounds > true)
    deviation = math.sqrt(0.05 * 0.95 * (1 / len(bounds) + 1 / draws))
    return abs(share - 0.05) < norm.isf(A) * deviation


@pytest.mark.verify
@pytest.mark.parametrize("n", GAUSSIAN)
def test_the_rank_test_under_a_gaussian_curve(n):
    """And its bounds are above the truth in 5 % of the games."""
    games, curves = 2000, GaussianFamily()
    drawn = {
        true: drawn_wins(curves, of_epsilon(true), n, games, [n, true])
        for true, _, _ in GAUSSIAN[n]
    }
    low = min(u.min() for u in drawn.values()) / n**2 - 1e-3
    high = max(u.max() for u in drawn.values()) / n**2
    bound = ByU.between(RankTest(), n, low, min(1 - 1e-6, high + 1e-4), 40)
    for true, _, rank in GAUSSIAN[n]:
        bounds = bound(drawn[true])
        assert is_known(bounds, rank), true
        assert misses_are_as_stated(bounds, true, RankTest().draws), true


# ---------------------------------------------------------------- hold-out


def trials_of(out, inn):
    """In turn, as a run has them."""
    values = np.stack([out, inn], axis=1).reshape(-1, 1)
    return Trials(values, np.tile([OUT, IN], len(out)), "one")


def shifted_scores(mu):
    return lambda n, draw: (draw.normal(size=n), draw.normal(size=n) + mu)


def bounds_of(selection, estimator, play, n, games):
    return [
        selection.bound(
            ONE, trials_of(*play(n, np.random.default_rng([n, game]))), estimator, DELTA, 0.95
        ).epsilon
        for game in range(games)
    ]


@pytest.mark.parametrize(("true", "mean"), [(4, 2.6), (10, 8.1)])
def test_hold_out_under_a_gaussian_curve(true, mean):
    """The threshold is chosen by what is then judged: without the curve it would be another."""
    found = bounds_of(HoldOut(), GDP, shifted_scores(of_epsilon(true)), 1000, 60)
    assert is_known(found, mean)


# ---------------------------------------------------------------- nothing assumed


def response(true):
    """Randomized response: the truth with probability e^true/(1+e^true), and a number added.

    The number says nothing; every one is another threshold to choose from.
    """
    right = 1 / (1 + math.exp(-true))

    def play(n, draw):
        bits = draw.random(n) > right, draw.random(n) < right
        return tuple(bit + 0.9 * draw.random(n) for bit in bits)

    return play


def laplace(true):
    return lambda n, draw: (draw.laplace(size=n), draw.laplace(size=n) + true)


FREE = {
    "Gaussian, 4": (shifted_scores(of_epsilon(4)), 4, ndtr(of_epsilon(4) / math.sqrt(2))),
    "Gaussian, 10": (shifted_scores(of_epsilon(10)), 10, ndtr(of_epsilon(10) / math.sqrt(2))),
    "response, 1": (response(1), 1, 1 / (1 + math.exp(-1))),
    "response, 3": (response(3), 3, 1 / (1 + math.exp(-3))),
    "Laplace, 3": (laplace(3), 3, 1 - math.exp(-3) * (2 + 3) / 4),
}
"""A mechanism, its epsilon, and the AUC of the best score."""

NOTHING_ASSUMED = {
    ("Gaussian, 4", 250): (0.46, 0.82, 1.18),
    ("Gaussian, 4", 1000): (0.98, 0.94, 1.63),
    ("Gaussian, 10", 250): (1.86, 2.08, 2.69),
    ("Gaussian, 10", 1000): (2.72, 2.27, 3.53),
    ("response, 1", 250): (0.50, 0.76, 0.78),
    ("response, 1", 1000): (0.72, 0.88, 0.87),
    ("response, 3", 250): (2.19, 2.53, 2.54),
    ("response, 3", 1000): (2.50, 2.76, 2.74),
    ("Laplace, 3", 250): (1.88, 2.29, 2.40),
    ("Laplace, 3", 1000): (2.33, 2.50, 2.67),
}
"""Mechanism and trials a world: hold-out Clopper-Pearson, paired AUC, exact scan."""


@pytest.mark.parametrize(("mechanism", "n"), NOTHING_ASSUMED)
def test_paired_auc_without_any_assumption(mechanism, n):
    known = NOTHING_ASSUMED[mechanism, n][1]
    found = mean_of_pairs(PairedAUC("pure"), n, FREE[mechanism][2])
    assert found == pytest.approx(known, abs=KNOWN_TO)


@pytest.mark.parametrize(("mechanism", "n"), NOTHING_ASSUMED)
def test_hold_out_without_any_assumption(mechanism, n):
    play, true, _ = FREE[mechanism]
    found = bounds_of(HoldOut(), ClopperPearson, play, n, 60)
    assert is_known(found, NOTHING_ASSUMED[mechanism, n][0])
    assert np.sum(np.array(found) > true) <= binom.isf(A, 60, 0.05)


@pytest.mark.verify
@pytest.mark.parametrize(("mechanism", "n"), NOTHING_ASSUMED)
def test_the_exact_scan_without_any_assumption(mechanism, n):
    """And its bounds are above the truth as rarely as stated; of the level see the simulation's."""
    play, true, _ = FREE[mechanism]
    games = 40
    found = np.array(
        [
            ExactScan(seed=game)
            .bound(Scores(*play(n, np.random.default_rng([n, game]))), DELTA)
            .epsilon
            for game in range(games)
        ]
    )
    assert is_known(found, NOTHING_ASSUMED[mechanism, n][2])
    assert np.sum(found > true) <= binom.isf(A, games, 0.05)


# ---------------------------------------------------------------- the accountant's curve


ACCOUNTANT = {
    DPSGDCurve(0.1, 100, 1.0): (7.05, 3.62, 6.12, 6.34),
    DPSGDCurve(0.1, 100, 0.8): (10.98, 6.34, 9.71, 10.06),
    DPSGDCurve(0.01, 1000, 0.7): (4.62, 1.66, 3.71, 3.90),
}
"""1,000 trials a world: epsilon, hold-out, paired AUC, rank test."""


@pytest.mark.verify
@pytest.mark.parametrize("claim", ACCOUNTANT, ids=repr)
def test_paired_auc_and_the_rank_test_under_the_accountants_curve(claim):
    true, _, paired, rank = ACCOUNTANT[claim]
    curves, s, n = DPSGDFamily(claim.sample_rate, claim.steps), claim.noise_multiplier, 1000
    assert curves.epsilon(s, DELTA) == pytest.approx(true, abs=0.01)
    by_pairs = mean_of_pairs(PairedAUC(claim), n, curves.area(s))
    assert by_pairs == pytest.approx(paired, abs=KNOWN_TO)
    drawn = drawn_wins(curves, s, n, 1000, 5)
    low, high = drawn.min() / n**2 - 1e-3, drawn.max() / n**2 + 1e-3
    bounds = ByU.between(RankTest(claim), n, low, high, 12)(drawn)
    assert is_known(bounds, rank)
    assert misses_are_as_stated(bounds, curves.epsilon(s, DELTA), RankTest().draws)


@pytest.mark.verify
@pytest.mark.parametrize("claim", ACCOUNTANT, ids=repr)
def test_hold_out_under_the_accountants_curve(claim):
    """Known for a threshold that is chosen without the curve; with it, it shows no less."""
    curves, known = DPSGDFamily(claim.sample_rate, claim.steps), ACCOUNTANT[claim][1]
    without, found = [], []
    for game in range(30):
        draw = np.random.default_rng([1000, game])
        # Minus, because small is in where curves are concerned.
        out, inn = -draw.random(1000), -curves.inn(claim.noise_multiplier, draw.random(1000))
        trials = trials_of(out, inn)
        choosing, judging = trials.halves()
        fixed = FixedRule(choosing.fit(ONE, BoundCriterion(DELTA)), judging, "hold-out")
        without.append(fixed.bound(lambda sure: PLD(claim, sure), DELTA, 0.95).epsilon)
        found.append(
            HoldOut().bound(ONE, trials, lambda sure: PLD(claim, sure), DELTA, 0.95).epsilon
        )
    assert is_known(without, known)
    assert np.mean(found) > known - KNOWN_TO
