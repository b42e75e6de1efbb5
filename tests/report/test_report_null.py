"""Reports of the null, where nothing is planted: they speak of no models with a canary."""

from __future__ import annotations

import html
import json
import re

import pytest
from matplotlib.text import Text
from report_examples import inconclusive, judged, no_violation_found, violation, with_evidence

from dpaudit.canaries import Null
from dpaudit.data import load
from dpaudit.report import page, render, to_dict
from dpaudit.report.run_figures import figures
from dpaudit.results import Growth, Report
from dpaudit.types import Claim

MADE = Null().build(load("digits"), 0).canary.made
CANARY = {"name": "none", "made": MADE, "label": 3}
UTILITY = {"accuracy": 0.8, "accuracy_in": 0.81, "accuracy_out": 0.79}

WRONG = re.compile(r"(with|without|had) (the|one|a|it\b) ?(canary|planted)|another canary", re.I)
"""Words that tell two worlds apart by a canary."""


def null(report: Report) -> Report:
    data = {**report.data, "out": 1000, "in": 1000}
    made = judged(report, canary=CANARY, data=data, utility=UTILITY, warnings=(), next_steps=())
    return with_evidence(made, original=None)


REPORTS = [
    null(no_violation_found()),
    null(violation()),
    null(inconclusive()),
    null(no_violation_found(claim=Claim(2.0, 1e-5, trials="reports"))),
    null(no_violation_found(claim=Claim(2.0, 1e-5, trials="releases"))),
    null(no_violation_found(growth=Growth([1.0, 2.0], [], 20.0, 1000))),
]


def said(report: Report) -> list[str]:
    """All words of a report, in every form."""
    drawn = list(figures(report, 2))
    words = [text.get_text() for p in drawn for text in p.drawing.findobj(Text)]
    told = [word for p in drawn for word in (p.title, p.caption, p.alt)]
    shown = html.unescape(re.sub(r"<[^>]*>", " ", page(report).partition("</style>")[2]))
    texts = [render(report), shown, json.dumps(to_dict(report)), *words, *told]
    return [" ".join(text.split()) for text in texts]


@pytest.mark.parametrize("report", REPORTS)
def test_no_word_tells_the_worlds_apart_by_a_canary(report: Report) -> None:
    assert [text for text in said(report) if WRONG.search(text)] == []


def test_with_a_canary_such_words_are_found() -> None:
    planted = with_evidence(no_violation_found())
    assert sum(bool(WRONG.search(text)) for text in said(planted)) > 10


def test_the_null_is_told_as_what_it_is() -> None:
    text = " ".join(render(REPORTS[0]).split())
    for words in (
        "1,000 trained: 500 of group 1, 500 of group 2",
        "models of group 2 and on 110 of 250 of group 1",
        "accuracy 80 %",
    ):
        assert words in text
    assert "accuracy in" not in text
    assert "\nAttacker" not in render(REPORTS[0]).partition("\nAttacks\n")[0]
