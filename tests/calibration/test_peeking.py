"""A hold-out that peeks is found by a calibration: a rule chosen on the half that judges it."""

from dataclasses import dataclass

import pytest

from dpaudit.calibration import calibrate as module
from dpaudit.calibration import methods
from dpaudit.calibration.calibrate import Subject, calibrate
from dpaudit.calibration.methods import Selected
from dpaudit.calibration.results import Setting
from dpaudit.calibration.simulated import NoLeak
from dpaudit.estimators.selections import HoldOut
from dpaudit.estimators.selections.hold_out import Fixed
from dpaudit.results import Counts

DELTA = 1e-5
TRIALS = 50


@dataclass(frozen=True)
class Peeking(HoldOut):
    """As hold-out, but for the half on which the rule is chosen."""

    def fix(self, attack, trials, criterion, takes=Counts):
        _, judging = trials.halves()
        return Fixed(judging.fit(attack, criterion), judging, "hold-out")


@pytest.mark.parametrize(("selection", "held"), [(Peeking(), False), (HoldOut(), True)])
def test_a_rule_that_was_chosen_on_the_half_that_judges_it_is_blamed(monkeypatch, selection, held):
    way = Selected("all-four", "clopper-pearson", None)
    monkeypatch.setattr(methods, "HoldOut", lambda: selection)
    monkeypatch.setattr(module, "subjects", lambda *_: [Subject(NoLeak(), TRIALS, DELTA, [way])])
    found = calibrate(Setting(repetitions=100, trials=TRIALS))
    assert found.held is held, found.rows
