"""The test report: one case, which a parser of any CI reads."""

import re
from xml.etree import ElementTree

import pytest
from report_examples import bound, inconclusive, no_violation_found, violation

from dpaudit.report import render
from dpaudit.report.ci import dump_junit, to_junit
from dpaudit.report.run_verdict import NO_EVIDENCE

WEAK = no_violation_found(bounds=[bound(fp=100, fn=110, n=250)], primary=0, published=[])


def suite_of(report):
    root = ElementTree.fromstring(to_junit(report))
    assert root.tag == "testsuites"
    (suite,) = root
    assert (suite.tag, suite.get("name"), suite.get("tests")) == ("testsuite", "dpaudit", "1")
    return suite


def case_of(report):
    (case,) = suite_of(report).findall("testcase")
    return case


@pytest.mark.parametrize(
    ("report", "outcome", "failures", "skipped"),
    [
        (violation(), "failure", "1", "0"),
        (no_violation_found(), None, "0", "0"),
        (inconclusive(), "skipped", "0", "1"),
        (WEAK, "skipped", "0", "1"),
    ],
    ids=["violation", "strong", "inconclusive", "weak"],
)
def test_each_verdict_is_the_outcome_of_a_test(report, outcome, failures, skipped):
    suite = suite_of(report)
    assert (suite.get("failures"), suite.get("skipped"), suite.get("errors")) == (
        failures,
        skipped,
        "0",
    )
    case = case_of(report)
    assert [child.tag for child in case if child.tag != "system-out"] == [outcome] * bool(outcome)
    assert "epsilon" in case.get("name")


def test_a_failure_says_what_was_found_and_what_to_look_for():
    failure = case_of(violation()).find("failure")
    assert failure.get("type") == "VIOLATION"
    assert re.search(r" 1\.00 \D+ 1\.41 ", failure.get("message"))
    assert violation().next_steps[0] in failure.text


def test_a_weak_test_says_so_where_it_is_skipped():
    message = case_of(WEAK).find("skipped").get("message")
    assert NO_EVIDENCE in message
    assert message.endswith(WEAK.next_steps[0])


def test_the_whole_report_is_what_the_test_printed():
    for report in (violation(), inconclusive()):
        assert case_of(report).find("system-out").text.strip() == render(report).strip()


def test_properties_are_the_numbers_and_a_bound_is_not_rounded_up():
    report = violation(bounds=[bound(fp=20, fn=100, n=250)], primary=0, published=[])
    told = {p.get("name"): p.get("value") for p in suite_of(report).iter("property")}
    assert (told["claim"], told["delta"], told["verdict"]) == ("1.0", "1e-05", "VIOLATION")
    assert float(told["bound"]) == report.bounds[0].epsilon
    assert float(told["ceiling"]) == report.reach
    unlimited = no_violation_found(bounds=[bound(ceiling=float("inf"))], primary=0, published=[])
    told = {p.get("name"): p.get("value") for p in suite_of(unlimited).iter("property")}
    assert told["ceiling"] == "no limit"


def test_names_cannot_break_out_of_it(tmp_path):
    """Names come from files and plug-ins; XML cannot even hold some characters."""
    evil = "</system-out>\x00\x1b[31m]]>&<failure/>\ud800\ufffe"
    report = inconclusive(
        canary={"name": evil, "made": evil, "label": 1}, adversary=evil, warnings=[evil]
    )
    dump_junit(report, tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [case.find("failure") for case in root.iter("testcase")] == [None]
    assert "</system-out>" in root.find(".//system-out").text
    assert "\x1b" not in root.find(".//system-out").text
