"""What decides a run, as a calibration asks for it: the same bound as the run's own code has."""

import numpy as np
import pytest

from dpaudit.calibration.methods import AsRun, BoundSettings, UntilDecided
from dpaudit.calibration.simulated import (
    KnownGaussian,
    KnownRandomizedResponse,
    NoLeak,
    SimulatedRun,
)
from dpaudit.config.settings import ALL, Judging
from dpaudit.estimators.bets import Bets
from dpaudit.judging.choice import Choice
from dpaudit.types import Claim, GaussianCurve

DELTA = 1e-5
TARGET = BoundSettings(DELTA, 0.95)
CURVED = Claim(1.0, DELTA, curve=GaussianCurve(0.268))
BARE = Claim(1.0, DELTA)


def shown(run, names, upto=None):
    attacks = Choice(names).fitting(run.seen)
    rows = np.arange(2 * (run.trials if upto is None else upto))
    return attacks, {name: run.of(name, attack)[rows] for name, attack in attacks.items()}


@pytest.mark.parametrize("claim", [CURVED, BARE], ids=["curve", "no curve"])
@pytest.mark.parametrize("names", [("loss",), Judging.attacks], ids=["one", "all"])
def test_the_last_bound_of_a_run_that_may_stop_is_the_largest_on_its_way(claim, names):
    run = SimulatedRun(KnownGaussian(2.0), 40, 5)
    bets = Bets(shown(run, names)[0], claim, 0.95)
    course = []
    for i in range(run.trials):
        _, trials = shown(run, names)
        bets.show({name: t[np.arange(2 * i, 2 * i + 2)] for name, t in trials.items()})
        course.append([bound.epsilon for bound in bets.bounds()])
    for place, bound in enumerate(bets.bounds()):
        method = UntilDecided(claim, None, names, bound.estimator)
        assert method.epsilon(run, TARGET, 0) == max(course, key=lambda c: c[place])[place]
    assert max(course[-1]) > 0


def test_all_attacks_share_the_error():
    """With several that find nothing, the best is above 0 less often than any would be at 5 %."""
    run = SimulatedRun(KnownGaussian(2.5), 40, 1)
    alone, shared = AsRun(CURVED), AsRun(CURVED, primary=ALL)
    assert shared.epsilon(run, TARGET, 0) > 0
    assert (alone.attack, shared.attack) == ("picked", "all")
    assert alone.share == shared.share == 1
    unpaid = AsRun(CURVED, primary=ALL).epsilon(run, BoundSettings(DELTA, 1 - 0.05 / 6), 0)
    assert unpaid < shared.epsilon(run, TARGET, 0)


def test_a_later_look_states_less_error_and_shows_less():
    run = SimulatedRun(KnownRandomizedResponse(3.0), 60, 2)
    looks = [AsRun(BARE, looks=n) for n in (1, 2, 3)]
    assert [method.share for method in looks] == [1, 1 / 4, 1 / 8]
    found = [method.epsilon(run, TARGET, 0) for method in looks]
    assert found[0] > found[1] > found[2] > 0


@pytest.mark.verify
def test_without_shares_all_attacks_would_alarm_too_often():
    """So that a rate of 5 % where nothing leaks says something of the shares."""
    alarms = sum(
        AsRun(BARE, primary=ALL).epsilon(
            SimulatedRun(NoLeak(), 50, seed), BoundSettings(DELTA, 0.7), seed
        )
        > 0
        for seed in range(200)
    )
    assert alarms / 200 > 0.1
