"""The outcomes of an audit: what each is called, what it says, and its colour."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from pages import Page
from report_examples import bound, inconclusive, no_violation_found, violation

from dpaudit.report import page, render
from dpaudit.report.run_verdict import NO_EVIDENCE
from dpaudit.results import Growth, Report
from dpaudit.types import Claim

NOTHING_PLANTED = {"name": "none", "made": "nothing is planted", "label": 3}
GAUSSIAN = bound("loss", estimator="gdp", assumption="gaussian", epsilon=9.0, ceiling=12.0)
NONE = bound(epsilon=0.0, ceiling=5.0)
EARLY = Growth(wealth=[1.0], beside=[], needed=20.0, most=1000)

WEAK: Mapping[str, tuple[Report, str]] = {
    "little certified": (
        no_violation_found(claim=Claim(4.0, 1e-5)),
        "WEAK TEST: only 1.41 of the claimed epsilon 4.00 is certified (95 % confidence).",
    ),
    "nothing certified": (
        no_violation_found(claim=Claim(4.0, 1e-5), bounds=[NONE], primary=0),
        "WEAK TEST: only 0.00 of the claimed epsilon 4.00 is certified (95 % confidence).",
    ),
    "too few models": (
        inconclusive(),
        "WEAK TEST: 0.49 of the claimed epsilon 8.00 is certified; this number of models can "
        "certify at most 1.84, so it can never refute the claim.",
    ),
    "untested": (
        inconclusive(untested="The canary changes nothing that is released"),
        "WEAK TEST: The canary changes nothing that is released. The audit had nothing to find.",
    ),
    "stopped early": (
        inconclusive(growth=EARLY, models={"in": 5, "out": 5, "choosing": 10, "judging": 0}),
        "WEAK TEST: the run stopped before any of its models was judged.",
    ),
    "another curve": (
        inconclusive(bounds=[GAUSSIAN], primary=0),
        "WEAK TEST: the bound of 9.00 assumes a Gaussian curve, which the claim of 8.00 "
        "does not promise, so it cannot decide.",
    ),
}
OUTCOMES: Mapping[str, tuple[Report, str]] = {
    "refuted": (
        violation(),
        "REFUTED: the claim of epsilon 1.00 does not hold; the leak is at least 1.41 (95 % "
        "confidence).",
    ),
    "strong": (
        no_violation_found(),
        "HELD AGAINST A STRONG TEST: 1.41 of the claimed epsilon 2.00 is certified (95 % "
        "confidence); these models refute a claim of half as much, 1.00.",
    ),
    "null-passed": (
        no_violation_found(canary=NOTHING_PLANTED, bounds=[NONE], primary=0),
        "NULL CHECK PASSED: no canary was planted, and the bound that decides is 0, as it should "
        "be.",
    ),
    "null-failed": (
        no_violation_found(canary=NOTHING_PLANTED),
        "NULL CHECK FAILED: no canary was planted, but a leak of at least 1.41 is certified. "
        "Chance does this in at most 5 % of audits; repeat it with another --seed.",
    ),
    "not-claimed": (
        no_violation_found(
            claim=Claim(math.inf, 1e-5, unit="one record"), verdict="NO_GUARANTEE_CLAIMED"
        ),
        "NO CLAIM: the leak is at least 1.41 (95 % confidence). Nothing is claimed for one record, "
        "so nothing is refuted.",
    ),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_outcome_has_its_label_and_its_sentence(outcome: str) -> None:
    report, sentence = OUTCOMES[outcome]
    assert report.strength == outcome
    assert render(report, detail="line") == sentence
    assert NO_EVIDENCE not in render(report, detail="line")


@pytest.mark.parametrize("reason", WEAK)
def test_a_weak_test_says_why_and_that_it_is_no_evidence(reason: str) -> None:
    report, sentence = WEAK[reason]
    assert report.strength == "weak"
    assert render(report, detail="line") == f"{sentence} {NO_EVIDENCE}"


@pytest.mark.parametrize("report", [r for r, _ in (*OUTCOMES.values(), *WEAK.values())])
def test_green_is_for_a_strong_test_alone(report: Report) -> None:
    strong = report.strength == "strong"
    assert ("32m" in render(report, color=True)) == strong
    (verdict,) = (kind for kind in Page(page(report)).all("div") if "verdict" in str(kind))
    assert verdict["class"] == f"verdict {report.strength}"
