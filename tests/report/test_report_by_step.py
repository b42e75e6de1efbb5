"""A report on single steps: what it says of them, and what it must not hold."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from refusals import refuses
from report_examples import bound, published, violation, with_evidence

from dpaudit.accounting.curves import DPSGDStepsFamily
from dpaudit.estimators import PairedAUC
from dpaudit.report import load_schema, page, render, to_dict
from dpaudit.report.figure_roc import most_by_curve
from dpaudit.report.run_figures import figures
from dpaudit.results import Growth, Report, Scores
from dpaudit.types import Claim, StepsCurve

CLAIM = Claim(1.0, 1e-5, curve=StepsCurve(0.05, 200, 2.0), source="PLD accountant")


def judged() -> Any:
    """The bound of steps with a third of the noise."""
    draw = np.random.default_rng(1)
    scores = Scores(out=draw.normal(size=200), inn=draw.normal(1.5, size=200))
    found = PairedAUC(CLAIM.curve).bound(scores, 1e-5)
    return replace(found, attack="released", trials=(200, 200))


def scored(**changes: Any) -> Report:
    made = violation(
        claim=CLAIM,
        bounds=[judged()],
        primary=0,
        published=[],
        models={"in": 200, "out": 200, "choosing": 0, "judging": 400},
        canary={"name": "gradient", "made": "a gradient that no record has", "label": 8},
        data={"name": "digits", "pool": 1000},
    )
    return replace(made, **changes)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("shown", [render, page])
def test_what_is_taken_as_claimed_is_said_and_why_there_is_no_other_bound(shown: Any) -> None:
    said = flat(shown(scored()))
    assert "sample rate 0.05, 200 steps" in said
    assert re.search(r"assuming DP-SGD [^.]* 0\.05, [^.]* 200 steps ", said)
    assert "without assumptions" in said
    assert "single step" in said
    assert "single step" not in flat(shown(violation()))


def test_trials_are_called_steps_and_not_models() -> None:
    growth = Growth(wealth=[1.0, 25.0], beside=[], needed=20.0, most=400)
    for report in (scored(), scored(growth=growth)):
        said = flat(render(report))
        assert "400 scored: 200 with the canary, 200 without it" in said
        assert "Steps" in said
        assert "models" not in said
    alts = " ".join(p.alt + p.caption for p in figures(with_evidence(scored(growth=growth)), 2))
    assert "After 4 steps" in alts
    assert alts.count("models") == alts.count("models were"), "that saw the canary"


def test_a_report_on_steps_fulfils_the_schema_and_tells_their_curve() -> None:
    written = to_dict(scored())
    assert list(Draft202012Validator(load_schema()).iter_errors(written)) == []
    assert written["claim"]["curve"] == {
        "kind": "dpsgd-steps",
        "sample_rate": 0.05,
        "steps": 200,
        "noise_multiplier": 2.0,
    }


@pytest.mark.parametrize("assumption", ["none", "gaussian", "prior"])
def test_a_bound_on_a_single_step_is_never_written(assumption: Any) -> None:
    beside = bound("released", assumption=assumption)
    with refuses("single-steps", option="bounds"):
        to_dict(scored(bounds=[judged(), beside]))
    with refuses("single-steps", option="published"):
        to_dict(scored(published=[published("released")]))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_steps_are_drawn_against_the_curve_of_a_step_and_no_region(adjacency: Any) -> None:
    claim = replace(CLAIM, adjacency=adjacency)
    fpr = np.linspace(0, 1, 21)
    of_step = 1 - DPSGDStepsFamily(0.05, 200, adjacency).trade_off(2.0, fpr)
    np.testing.assert_array_equal(most_by_curve(fpr, claim), of_step)
    drawn = {p.name: p for p in figures(with_evidence(scored(claim=claim)), 2)}
    for axes in drawn["roc"].drawing.axes:
        assert all("allowed" not in name for name in axes.get_legend_handles_labels()[1])
        assert not axes.texts
        assert axes.get_xlabel().startswith("steps without the canary, accused")
        assert axes.get_ylabel().startswith("steps with the canary, ")
        assert "the most of a step by the claim's curve" in axes.get_legend_handles_labels()[1]
    assert "single steps" in drawn["roc"].caption
