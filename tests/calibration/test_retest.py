"""Bounds whose interval lies above their level are measured again, and that decides."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from dpaudit.calibration import calibrate as module
from dpaudit.calibration.calibrate import CalibrationCase, calibrate
from dpaudit.calibration.results import AGAIN, Calibration, CalibrationRow, Measurement, Setting
from dpaudit.calibration.simulated import NoLeak

DELTA = 1e-5
N = 50


@dataclass(frozen=True)
class Coin:
    """Alarms in a share of all audits, and is asked by the seeds that it is given."""

    rate: float
    asked: list = field(default_factory=list, compare=False)
    judged: str = "a coin"
    attack: str = "loss"
    standing: str = "bound"
    share: float = 1.0

    def epsilon(self, run, asked, seed):
        self.asked.append((run.seed, seed))
        return float(np.random.default_rng(seed).random() < self.rate)


def tossed(monkeypatch, *coins, workers=1, **setting):
    subject = CalibrationCase(NoLeak(), 12, DELTA, coins)
    monkeypatch.setattr(module, "cases", lambda *_: [subject])
    return calibrate(Setting(trials=12, **setting), workers)


def test_a_bound_that_is_wrong_too_often_is_measured_again_and_broken(monkeypatch):
    wrong, right = Coin(0.12), Coin(0.03, judged="another")
    found = tossed(monkeypatch, wrong, right)
    (broken,) = found.broken
    assert broken.judged == "a coin"
    assert found.held is False
    assert broken.first.repetitions == 400
    assert broken.measured.repetitions == AGAIN * 400
    assert found.rows[1].first is None
    assert found.rows[1].measured.repetitions == len(right.asked) == 400
    assert len({s for pair in wrong.asked for s in pair}) == 2 * 5 * 400  # none twice


def test_fresh_audits_alone_decide(monkeypatch):
    """A coin of 5 % is in doubt with some seed, and cleared."""
    for seed in range(100):
        found = tossed(monkeypatch, Coin(0.05), seed=seed, repetitions=200)
        if found.rows[0].first is not None:
            break
    (row,) = found.rows
    assert row.first.alarms > 0.05 * 200
    assert row.interval[0] <= row.level
    assert found.held is True


def test_nothing_is_said_to_hold_that_could_not_have_been_found(monkeypatch):
    for repetitions in (1, 2, 3, 20):
        assert tossed(monkeypatch, Coin(0.0), repetitions=repetitions).held is None
    assert tossed(monkeypatch, Coin(0.0), repetitions=400).held is True
    assert tossed(monkeypatch, Coin(1.0), repetitions=5).held is False


def test_a_bound_is_held_to_the_level_that_it_states(monkeypatch):
    found = tossed(monkeypatch, Coin(0.04, share=0.25), Coin(0.04, judged="another"))
    assert [r.level for r in found.rows] == pytest.approx([0.0125, 0.05])
    assert [r.broken for r in found.rows] == [True, False]


def row(alarms, standing="bound", n=400):
    measured = Measurement(alarms, n, 0.1)
    return CalibrationRow("no leak", N, DELTA, 0.0, "loss", "x", standing, 0.05, measured)


def test_a_bound_holds_if_its_interval_reaches_down_to_its_level():
    """38 of 400 are 9.5 %, and at least 6.8 %."""
    found = Calibration(Setting(), [row(20), row(28), row(38), row(400, "no bound")])
    assert [r.measured.alarms for r in found.broken] == [38]
    assert found.held is False
    assert Calibration(Setting(), [row(20), row(28), row(400, "credible")]).held is True
