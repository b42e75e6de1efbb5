"""The verdict for code scanning: SARIF 2.1.0, which shows a refuted claim beside its code."""

from __future__ import annotations

import os
from typing import Any

from dpaudit.judging.advice import BREAKS
from dpaudit.report.conclusion import conclusion, numbers
from dpaudit.report.consistent import check
from dpaudit.report.machine import plain, write
from dpaudit.report.source import Source
from dpaudit.results import Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

RULES: dict[str, dict[str, Any]] = {
    "VIOLATION": {
        "id": "claim-refuted",
        "name": "ClaimRefuted",
        "shortDescription": {"text": "More leaks than the privacy claim allows"},
        "fullDescription": {
            "text": "An audit has certified an epsilon above the claimed one: attacks tell models "
            "that were trained with one record from models without it more surely than the claim "
            "allows."
        },
        "help": {"text": BREAKS},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["privacy", "security"], "precision": "very-high"},
    },
    "INCONCLUSIVE": {
        "id": "audit-inconclusive",
        "name": "AuditInconclusive",
        "shortDescription": {"text": "The audit could not have refuted the privacy claim"},
        "fullDescription": {
            "text": "The models are too few to certify an epsilon above the claimed one, or the "
            "canary changes nothing that is released: the audit says nothing about the claim."
        },
        "help": {
            "text": "Train more models, of which dpaudit plan tells the number, or take another "
            "canary; the message says which."
        },
        "defaultConfiguration": {"level": "note"},
        "properties": {"tags": ["privacy"]},
    },
}
"""What each verdict that is a result is shown as; a claim that was not refuted is none."""


def to_sarif(report: Report, source: Source) -> dict[str, Any]:
    """The log of one audit, with one result at most; its properties hold the numbers."""
    check(report)
    version = report.versions.get("dpaudit")
    driver = {"name": "dpaudit", "rules": list(RULES.values())}
    log: dict[str, Any] = plain(
        {
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {"driver": {**driver, **({"version": version} if version else {})}},
                    "invocations": [{"executionSuccessful": True}],
                    "results": _results(report, source),
                    "properties": numbers(report),
                }
            ],
        }
    )
    return log


def dump_sarif(report: Report, source: Source, path: str | os.PathLike[str]) -> None:
    """Write the log whole or not at all."""
    write(to_sarif(report, source), path)


def _results(report: Report, source: Source) -> list[dict[str, Any]]:
    if report.verdict not in RULES:
        return []
    rule = RULES[report.verdict]
    place = {
        "artifactLocation": {"uri": source.uri},
        "region": {"startLine": source.line},
    }
    return [
        {
            "ruleId": rule["id"],
            "ruleIndex": list(RULES).index(report.verdict),
            "level": rule["defaultConfiguration"]["level"],
            "message": {"text": conclusion(report)},
            "locations": [{"physicalLocation": place}],
        }
    ]
