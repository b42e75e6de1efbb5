"""What the published estimate finds where there is nothing to find (STATISTICS, law 4)."""

import pytest

from dpaudit.attacks import Loss, MeanStd
from dpaudit.attacks.classifier import AllFour, InvStd, Mean, MinMax
from dpaudit.attacks.search import search
from dpaudit.rates import PointCriterion

GAMES = 100


@pytest.fixture
def null(trials):
    """The mean in-sample estimate of an attack over games of 50 + 50 trials without a leak."""

    def mean_estimate(attack):
        point, total = PointCriterion(1e-5), 0.0
        for seed in range(GAMES):
            seen = trials(attack, 50, seed)
            total += max(0.0, search(seen.features, seen.worlds, attack.kinds, point).value)
        return total / GAMES

    return mean_estimate


@pytest.mark.parametrize(
    ("attack", "low", "high"),
    [
        (Loss(), 0.8, 1.3),
        (Mean(), 0.8, 1.3),
        (InvStd(), 0.8, 1.3),
        (MinMax(), 1.35, 1.85),
        (MeanStd(), 1.7, 2.2),
        (AllFour(), 1.95, 2.45),
    ],
    ids=repr,
)
def test_selection_alone_makes_the_published_pattern(null, attack, low, high):
    """About 1.0 for one statistic, 1.4 to 2.0 for two, above 2 for four: with no leak at all.

    Over 100 games the standard error is at most .06 (.55 / 10), and the seeds are fixed; the
    limits are 4 standard errors and more around 1.05, 1.60, 1.97 and 2.19 (200 other games).
    """
    assert low < null(attack) < high


@pytest.mark.parametrize("attack", [Loss(), MeanStd(), MinMax(), AllFour()], ids=repr)
def test_rule_judged_on_other_trials_certifies_nothing_without_a_leak(certified, attack):
    """At 95 % at most 5 % of games may certify more than 0: of 40, seven or more have
    probability .003 if every one had its full 5 %; Clopper-Pearson gives far less."""
    assert sum(certified(attack, 50, seed) > 0 for seed in range(40)) < 7
