"""What a report says by who attacks, and how it was trained."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from report_examples import bound, judged, no_violation_found, violation, with_evidence

from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.report import load_schema, page, render, to_dict
from dpaudit.report.run_setting import START, contents
from dpaudit.results import Report

TRAINING = {
    "network": "cnn-small",
    "steps": 10,
    "batch": 200.0,
    "sample_rate": 1.0,
    "lr": 0.03,
    "clip": 1.0,
    "noise_multiplier": 3.25,
    "dropout": 0.0,
    "start": "crafted",
}
GRADIENT = {"name": "dirac", "made": "a gradient along one parameter"}


def facing(name: str, **changes: Any) -> Report:
    """A report against an adversary."""
    adversary = ADVERSARIES[name]
    told = {"attacker": name, "adversary": adversary.describe(0), "deployment": adversary.follows}
    return replace(no_violation_found(), **{**told, **changes})


def flat(text: str) -> str:
    return " ".join(text.split()).replace("&#39;", "'")


@pytest.mark.parametrize("shown", [render, page])
@pytest.mark.parametrize("name", ADVERSARIES)
def test_what_it_controlled_and_saw_and_what_follows_is_in_every_report(
    shown: Any, name: str
) -> None:
    report = facing(name)
    said = flat(shown(report))
    assert report.adversary in said
    assert ADVERSARIES[name].follows in said
    written = to_dict(report)
    assert written["attacker"] == name
    assert written["adversary"] == report.adversary
    assert written["deployment"] == ADVERSARIES[name].follows


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("observer", "one planted record, the canary. Attacks guess from a model whether"),
        ("worst-case", "the canary, all from parameters that the attacker had chosen."),
        ("worst-case", "guess from a model's answers on the canary whether it had the canary"),
        ("final-weights", "guess from a model's parameters whether it had the canary"),
        ("white-box", "guess from the noisy updates of a training whether it had the canary"),
    ],
)
def test_the_game_is_told_as_it_was_played(name: str, said: str) -> None:
    assert said in flat(render(facing(name)))
    planted = flat(render(facing(name, canary=GRADIENT)))
    assert "with and without one planted gradient, the canary" in planted
    data = {"name": "digits", "pool": 200, "out": 200, "in": 200}
    assert "200 with it" not in flat(render(facing(name, canary=GRADIENT, data=data)))
    assert "200 with it" in flat(render(facing(name, data=data)))


def test_of_an_unnamed_attacker_nothing_is_made_up() -> None:
    said = flat(render(no_violation_found()))
    assert "Recipe" not in said
    assert "Meaning" not in said


@pytest.mark.parametrize("shown", [render, page])
def test_how_a_model_was_trained_is_told(shown: Any) -> None:
    said = flat(shown(facing("worst-case", training=TRAINING)))
    assert re.search(r"cnn-small, 10 [^.]* 200, [^.]* 0\.03, [^.]* 1, [^.]* 3\.25, ", said)
    crafted = START["crafted"]
    assert crafted in said
    poisson = {**TRAINING, "sample_rate": 0.25, "batch": 50.0, "dropout": 0.5, "start": "random"}
    said = flat(shown(facing("observer", training=poisson)))
    assert re.search(r" 10 steps [^.]* 50 [^.]*sample rate 0\.25", said)
    assert "dropout 0.5" in said
    assert START["random"] in said
    assert crafted not in said


def test_training_attacker_and_reason_are_part_of_the_contract_and_may_be_absent() -> None:
    written = to_dict(facing("worst-case", training=TRAINING, why="It was named."))
    checked = Draft202012Validator(load_schema())
    assert list(checked.iter_errors(written)) == []
    assert written["training"] == TRAINING
    assert written["why"] == "It was named."
    for name in ("training", "attacker", "why"):
        del written[name]
    assert list(checked.iter_errors(written)) == []
    assert list(checked.iter_errors(to_dict(violation()))) == []


def test_why_the_estimator_decides_stands_beside_what_decides() -> None:
    assert "It was named." in flat(render(facing("observer", why="It was named.")))


def test_where_all_judge_a_fixed_score_no_half_is_said_to_choose() -> None:
    models = {"in": 25, "out": 25, "choosing": 26, "judging": 24}
    one = no_violation_found()
    alone = judged(
        one, models=models, published=[], primary=0, bounds=[bound(ceiling=99.0)], deciders=()
    )
    said = flat(render(alone))
    assert "all 50 judge" in said
    assert "26 to choose" not in said


def test_a_page_on_a_gradient_says_that_it_shows_no_record() -> None:
    report = with_evidence(facing("white-box"))
    assert report.evidence is not None
    bare = replace(report, evidence=replace(report.evidence, canary=None, original=None))
    shown = contents(replace(bare, canary=GRADIENT))
    assert shown[0] == contents(no_violation_found())[0]
