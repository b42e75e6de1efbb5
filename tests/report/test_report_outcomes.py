"""The outcomes of an audit: what each is called, what it says, and its colour."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from pages import Page
from report_examples import bound, inconclusive, no_violation_found, violation

from dpaudit.report import page, render
from dpaudit.report.run_verdict import NO_EVIDENCE
from dpaudit.report.wording import LABELS
from dpaudit.results import Growth, Report
from dpaudit.types import Claim

NOTHING_PLANTED = {"name": "none", "made": "not at all", "label": 3}
GAUSSIAN = bound("loss", estimator="gdp", assumption="gaussian", epsilon=9.0, ceiling=12.0)
NONE = bound(epsilon=0.0, ceiling=5.0)
EARLY = Growth(wealth=[1.0], beside=[], needed=20.0, most=1000)

WEAK: Mapping[str, Report] = {
    "little certified": no_violation_found(claim=Claim(4.0, 1e-5)),
    "nothing certified": no_violation_found(claim=Claim(4.0, 1e-5), bounds=[NONE], primary=0),
    "too few models": inconclusive(),
    "idle canary": inconclusive(untested="The canary changes nothing here"),
    "stopped early": inconclusive(
        growth=EARLY, models={"in": 5, "out": 5, "choosing": 10, "judging": 0}
    ),
    "another curve": inconclusive(bounds=[GAUSSIAN], primary=0),
}
NOT_CLAIMED = Claim(math.inf, 1e-5, unit="one record")
OUTCOMES: Mapping[str, Report] = {
    "refuted": violation(),
    "strong": no_violation_found(),
    "null-passed": no_violation_found(canary=NOTHING_PLANTED, bounds=[NONE], primary=0),
    "null-failed": no_violation_found(canary=NOTHING_PLANTED),
    "not-claimed": no_violation_found(claim=NOT_CLAIMED, verdict="NO_GUARANTEE_CLAIMED"),
}
KEPT = Path(__file__).parents[1] / "snapshots" / "outcomes.txt"


def test_each_outcome_and_each_weakness_says_what_was_kept() -> None:
    told = [f"{name}\n{render(r, detail='line')}\n" for name, r in (OUTCOMES | WEAK).items()]
    if os.environ.get("DPAUDIT_RENEW"):
        KEPT.write_text("\n".join(told), encoding="utf-8")
    assert "\n".join(told) == KEPT.read_text(encoding="utf-8"), "renew it: make snapshots"


def test_labels_follow_the_outcome_and_only_a_weak_test_is_no_evidence() -> None:
    assert [report.strength for report in OUTCOMES.values()] == list(OUTCOMES)
    assert {report.strength for report in WEAK.values()} == {"weak"}
    for report in (*OUTCOMES.values(), *WEAK.values()):
        line = render(report, detail="line")
        assert line.startswith(f"{LABELS[report.strength]}: ")
        assert line.endswith(NO_EVIDENCE) == (report.strength == "weak")


@pytest.mark.parametrize("report", [*OUTCOMES.values(), *WEAK.values()])
def test_green_is_for_a_strong_test_alone(report: Report) -> None:
    strong = report.strength == "strong"
    assert ("32m" in render(report, color=True)) == strong
    (verdict,) = (kind for kind in Page(page(report)).all("div") if "verdict" in str(kind))
    assert verdict["class"] == f"verdict {report.strength}"
