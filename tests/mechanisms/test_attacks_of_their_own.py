"""Mechanisms that name their attack are judged by it from Python, too, at the first look."""

import pytest
from settings import make_mechanism

import dpaudit as dp
from dpaudit.canaries import Replaced
from dpaudit.executors import SerialExecutor
from dpaudit.papers.laplace import LaplaceLearningFirst
from dpaudit.papers.local import RandomizedResponse


@pytest.mark.parametrize(
    ("kind", "given", "attack"),
    [
        (LaplaceLearningFirst, {"shift": 0.5}, "laplace"),
        (RandomizedResponse, {"matrix": "grr:1"}, "reported-value"),
    ],
)
def test_what_suits_a_mechanism_judges_it_without_being_named(data, tmp_path, kind, given, attack):
    mechanism = make_mechanism(kind, data, **given)
    pair = Replaced((0, 1)).build(data, 0)
    run = dp.play(mechanism, pair, models=40, out=tmp_path / "run", workers=SerialExecutor())
    report = run.judge()
    assert {bound.attack for bound in report.bounds} == {attack}
    assert report.looks == 1
    assert run.judge(attacks=(attack,)).looks == 1
