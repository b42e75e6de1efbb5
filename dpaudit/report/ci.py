"""The verdict for continuous integration: SARIF 2.1.0 for code scanning, and JUnit XML."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from dpaudit.files import write_whole
from dpaudit.judging.advice import BREAKS
from dpaudit.judging.outcome import check
from dpaudit.report.formats import printable
from dpaudit.report.machine import plain, write
from dpaudit.report.run import render
from dpaudit.report.run_verdict import in_one_line
from dpaudit.report.wording import digits_needed, promise
from dpaudit.results import Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def _rule(id: str, level: str, title: str, text: str, advice: str, *tags: str) -> dict[str, Any]:
    return {
        "id": id,
        "name": id.title().replace("-", ""),
        "shortDescription": {"text": title},
        "fullDescription": {"text": text},
        "help": {"text": advice},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["privacy", *tags], "precision": "very-high"},
    }


RULES = {
    "VIOLATION": _rule(
        *("claim-refuted", "error", "More leaks than the privacy claim allows"),
        "An audit has certified an epsilon above the claimed one: attacks tell models with one "
        "record from models without it more surely than the claim allows.",
        BREAKS,
        "security",
    ),
    "NULL_FAILED": _rule(
        *("null-check-failed", "error", "A leak is certified where no canary was planted"),
        "No canary was planted, so there was no leak to find, but an epsilon above 0 is certified. "
        "Chance does this in at most 5 % of audits.",
        "Repeat the null check with another --seed.",
    ),
    "WEAK": _rule(
        *("weak-test", "note", "The privacy claim was tested too weakly"),
        "The claim was not refuted, and less than half of it was certified. A weak test is no "
        "evidence of privacy.",
        "Try stronger attackers (dpaudit ladder) or more models; the message says which.",
    ),
    "INCONCLUSIVE": _rule(
        *("audit-inconclusive", "note", "The audit could not have refuted the privacy claim"),
        "The models are too few to certify an epsilon above the claimed one, or the canary "
        "changes nothing that is released: the audit says nothing about the claim.",
        "Train more models (dpaudit plan), or take another canary; the message says which.",
    ),
}
"""The SARIF rule of each outcome that is a result; a strong test without a violation is none."""

SKIPPED = ("WEAK", "INCONCLUSIVE", "NO_GUARANTEE_CLAIMED")
FAILED = ("VIOLATION", "NULL_FAILED")
OUTCOMES = {**dict.fromkeys(FAILED, "failure"), **dict.fromkeys(SKIPPED, "skipped")}
"""The JUnit outcome of each result; a claim that held against a strong test has passed."""


def _outcome(report: Report) -> str:
    """Return the verdict, but for weak tests without a violation and for null checks."""
    if report.strength.startswith("null-"):
        return "NULL_FAILED" if report.strength == "null-failed" else "NULL_PASSED"
    weak = report.strength == "weak" and report.verdict == "NO_VIOLATION_FOUND"
    return "WEAK" if weak else report.verdict


def _message(report: Report) -> str:
    """Return the outcome in one line, and the first step to a stronger test if it was weak."""
    first = report.next_steps[:1] if report.strength == "weak" else ()
    return " ".join([in_one_line(report), *first])


def numbers(report: Report) -> dict[str, Any]:
    """Return claim, deciding bound and ceiling by name; None where there is no limit."""
    bound = report.bounds[report.primary]
    values = {
        "verdict": report.verdict,
        "strength": report.strength,
        "claim": report.claim.epsilon,
        "delta": report.claim.delta,
        "bound": bound.epsilon,
        "confidence": bound.confidence,
        "ceiling": report.reach,
        "assumption": bound.assumption,
        "attack": bound.attack,
        "estimator": bound.estimator,
        "models": report.models["in"] + report.models["out"],
        "seed": report.seed,
    }
    return {name: plain(value) for name, value in values.items()}


@dataclass(frozen=True)
class Source:
    """A line of a file."""

    file: Path
    line: int = 1

    @property
    def uri(self) -> str:
        """The file relative to the working folder, as code scanning needs it."""
        here, there = Path.cwd(), Path(os.path.abspath(self.file))
        if not there.is_relative_to(here):
            return there.as_uri()
        return quote(there.relative_to(here).as_posix())


def source(mechanism: str, folder: Path) -> Source:
    """Find the line that defines a user's function, MODULE:FUNCTION; else a run's configuration.

    Nothing is imported. A module is looked for where it usually lies: here, or in `src`.
    """
    where, _, name = mechanism.rpartition(":")
    file = Path(where if where.endswith(".py") else f"{where.replace('.', '/')}.py")
    for place in (file, "src" / file):
        if where and name.isidentifier() and place.is_file():
            return Source(place, _line(place, name))
    return Source(folder / "config.toml")


def _line(file: Path, name: str) -> int:
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return 1  # it has changed since it was audited
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return next((n.lineno for n in body if isinstance(n, defined) and n.name == name), 1)


def to_sarif(report: Report, source: Source) -> dict[str, Any]:
    """Return the log of one audit, with one result at most; its properties are the numbers."""
    check(report)
    outcome = _outcome(report)
    driver: dict[str, Any] = {"name": "dpaudit", "rules": list(RULES.values())}
    if version := report.versions.get("dpaudit"):
        driver["version"] = version
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(report, outcome, source)] if outcome in RULES else [],
        "properties": numbers(report),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [plain(run)]}


def _result(report: Report, outcome: str, source: Source) -> dict[str, Any]:
    rule = RULES[outcome]
    place = {"artifactLocation": {"uri": source.uri}, "region": {"startLine": source.line}}
    return {
        "ruleId": rule["id"],
        "ruleIndex": list(RULES).index(outcome),
        "level": rule["defaultConfiguration"]["level"],
        "message": {"text": _message(report)},
        "locations": [{"physicalLocation": place}],
    }


def dump_sarif(report: Report, source: Source, path: str | os.PathLike[str]) -> None:
    """Write the SARIF log, whole or not at all."""
    write(to_sarif(report, source), path)


def to_junit(report: Report) -> bytes:
    """Return one suite, `dpaudit`, with one case: the claim against the bound that decides."""
    outcome = OUTCOMES.get(_outcome(report))
    seconds = f"{sum(report.seconds.values()):.3f}"
    suites = ElementTree.Element("testsuites")
    failures, skipped = (str(int(outcome == kind)) for kind in ("failure", "skipped"))
    counts = {"tests": "1", "failures": failures, "errors": "0", "skipped": skipped}
    suite = _element(suites, "testsuite", name="dpaudit", **counts, time=seconds)
    properties = _element(suite, "properties")
    for name, value in numbers(report).items():
        text = "no limit" if value is None else str(value)
        _element(properties, "property", name=name, value=text)
    name = f"{promise(report.claim, digits_needed(report))}, {report.canary['name']}"
    case = _element(suite, "testcase", classname="dpaudit", name=name, time=seconds)
    if outcome:
        result = _element(case, outcome, message=_message(report))
        if outcome == "failure":
            result.set("type", report.verdict)
            result.text = printable("\n".join(report.next_steps))
    _element(case, "system-out").text = render(report)
    ElementTree.indent(suites)
    xml: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"


def dump_junit(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the JUnit report, whole or not at all."""
    write_whole(path, to_junit(report))


def _element(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    # XML cannot hold control codes, which names from files and plug-ins may have.
    clean = {name: printable(value) for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, clean)
