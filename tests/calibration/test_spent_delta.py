"""An estimator that forgot delta would be seen, by the mechanism that spends its own."""

from dataclasses import replace

import numpy as np
import pytest
from chance import A
from scipy.stats import binom

from dpaudit.calibration import methods as making
from dpaudit.calibration.calibrate import MANY, SPENT
from dpaudit.calibration.methods import BoundSettings, Selected
from dpaudit.calibration.simulated import KnownRandomizedResponse, SimulatedRun
from dpaudit.protocols import Estimator
from dpaudit.results import Counts

DELTA = 1e-5
N = 50


class Forgetful(Estimator):
    """An estimator that takes a claim at some delta for one at 0."""

    def __init__(self, estimator):
        self.estimator, self.takes = estimator, getattr(estimator, "takes", Counts)

    def bound(self, outcome, delta):
        return replace(self.estimator.bound(outcome, 0.0), delta=delta)


@pytest.mark.parametrize(
    ("estimator", "curve", "trials", "games"),
    [
        ("clopper-pearson", None, MANY * N, 120),
        ("paired-auc", "pure", MANY * N, 40),
        pytest.param("exact-scan", None, N, 400, marks=pytest.mark.verify),
        pytest.param("rank-test", "pure", N, 300, marks=pytest.mark.verify),
    ],
)
def test_only_a_mechanism_that_spends_its_delta_shows_who_forgets_it(
    monkeypatch, estimator, curve, trials, games
):
    method = Selected("loss", estimator, curve)

    def alarms(mechanism, delta):
        runs = (SimulatedRun(mechanism, trials, seed, samples=0) for seed in range(games))
        found = [method.epsilon(run, BoundSettings(delta, 0.95), run.seed) for run in runs]
        return np.sum(np.array(found) > mechanism.epsilon(delta))

    spends, usual = KnownRandomizedResponse(1.0, SPENT), KnownRandomizedResponse(1.0)
    most = binom.isf(A, games, 0.05)
    assert alarms(spends, SPENT) <= most
    sound = making._make
    monkeypatch.setattr(making, "_make", lambda *given: Forgetful(sound(*given)))
    assert alarms(spends, SPENT) > most
    assert alarms(usual, DELTA) <= most
