"""A report on one training with many canaries: what it says of guesses, and what it draws."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report_examples import violation, with_evidence

from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.report import page, render, to_dict
from dpaudit.report.figure_scores import attack_scores, draw_guesses, ends
from dpaudit.report.run_figures import figures
from dpaudit.report.run_setting import contents
from dpaudit.results import Evidence, Guesses, Report, Scores
from dpaudit.types import Claim, GaussianCurve

GUESSES = Guesses(canaries=1000, guesses=200, correct=197)


def one_run(guesses: Guesses = GUESSES, **changes: Any) -> Report:
    bounds = [
        replace(
            estimator.bound(guesses, 1e-5),
            attack="updates",
            rule="the 100 highest scores in, the 100 lowest out",
            trials=(480, 520),
        )
        for estimator in (OneRunFDP(), OneRun())
    ]
    draw = np.random.default_rng(0)
    scores = Scores(out=draw.normal(-1, size=480), inn=draw.normal(1, size=520))
    made = violation(
        claim=Claim(1.0, 1e-5, curve=GaussianCurve(0.27), source="theorem 4"),
        bounds=bounds,
        primary=0,
        published=[],
        models={"in": 1, "out": 0, "choosing": 0, "judging": 1},
        evidence=Evidence(scores=[scores, scores], cuts=[None, None]),
    )
    return replace(made, **changes)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("shown", [render, page])
def test_guesses_are_told_where_models_would_be(shown: Any) -> None:
    said = flat(shown(one_run()))
    assert re.search(r" 1,000 canaries: \D+ 520 in \D+ 480 out\b", said)
    assert len(re.findall(r"197 of 200 \w+ on 1,000 ", said)) >= 2


def test_a_machine_is_told_the_same_and_null_of_other_runs() -> None:
    told = to_dict(one_run())["guesses"]
    assert told == {"canaries": 1000, "guesses": 200, "correct": 197, "tied": False}
    assert to_dict(violation())["guesses"] is None


def test_the_scores_of_canaries_are_drawn_with_where_guesses_end() -> None:
    report = one_run()
    drawn = {picture.name: picture for picture in figures(report, 2)}
    assert drawn.keys() == {"bounds", "scores"}
    (attack,) = attack_scores(report)
    ranked = np.sort(np.concatenate([attack.scores.out, attack.scores.inn]))
    assert ends(attack, GUESSES) == (ranked[99], ranked[900])
    (axes,) = drawn["scores"].drawing.axes
    assert {text.get_text().strip() for text in axes.texts} >= {"called out", "called in"}
    assert "197 of 200 guesses" in drawn["scores"].alt
    assert "guesses" in drawn["bounds"].caption
    assert "models" not in drawn["bounds"].caption


def test_a_single_guess_calls_nothing_out() -> None:
    (attack,) = attack_scores(one_run())
    alone = Guesses(1000, 1, 1)
    assert ends(attack, alone)[0] == -np.inf
    (axes,) = draw_guesses(attack, alone).axes
    assert [text.get_text().strip() for text in axes.texts] == ["called in"]


def test_canaries_that_were_all_put_in_leave_nothing_to_draw() -> None:
    everything = Scores(out=np.empty(0), inn=np.arange(3.0))
    report = one_run(evidence=Evidence(scores=[everything] * 2, cuts=[None] * 2))
    assert [picture.name for picture in figures(report, 2)] == ["bounds"]


def test_the_page_says_that_it_shows_no_record() -> None:
    assert (
        contents(one_run())[0]
        == contents(violation())[0]
        != contents(with_evidence(violation()))[0]
    )
