"""The verdict for a test report: JUnit XML, one test case that is the claim."""

from __future__ import annotations

import os
from xml.etree import ElementTree

from dpaudit.files import write_whole
from dpaudit.report import formats, promises, terminal, words
from dpaudit.report.conclusion import conclusion, numbers
from dpaudit.results import Report

OUTCOMES = {
    "VIOLATION": "failure",
    "INCONCLUSIVE": "skipped",
    "NO_GUARANTEE_CLAIMED": "skipped",
}
"""What a verdict is as the outcome of a test; a claim that was not refuted has passed."""


def to_junit(report: Report) -> bytes:
    """One suite, `dpaudit`, with one case: the claim against the bound that decides."""
    whole = terminal.render(report)
    outcome = OUTCOMES.get(report.verdict)
    seconds = f"{sum(report.seconds.values()):.3f}"
    suites = ElementTree.Element("testsuites")
    suite = _element(
        suites,
        "testsuite",
        name="dpaudit",
        tests="1",
        failures=str(int(outcome == "failure")),
        errors="0",
        skipped=str(int(outcome == "skipped")),
        time=seconds,
    )
    told = _element(suite, "properties")
    for name, value in numbers(report).items():
        _element(told, "property", name=name, value="no limit" if value is None else str(value))
    claimed = promises.promise(report.claim, words.digits_needed(report))
    name = f"{claimed}, {report.canary['name']}"
    case = _element(suite, "testcase", classname="dpaudit", name=name, time=seconds)
    if outcome:
        said = _element(case, outcome, message=conclusion(report))
        if outcome == "failure":
            said.set("type", report.verdict)
            said.text = _clean("\n".join(report.next_steps))
    _element(case, "system-out").text = "\n".join(map(_clean, whole.split("\n")))
    ElementTree.indent(suites)
    xml: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"


def dump_junit(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the test report whole or not at all."""
    write_whole(path, to_junit(report))


def _element(parent: ElementTree.Element, tag: str, **given: str) -> ElementTree.Element:
    clean = {name: _clean(value) for name, value in given.items()}
    return ElementTree.SubElement(parent, tag, clean)


def _clean(text: str) -> str:
    """Text that XML can hold: it has no control codes."""
    return formats.printable(text)
