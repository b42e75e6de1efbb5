"""The log for code scanning: what SARIF 2.1.0 requires, and one result for each verdict."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from refusals import refuses
from report_examples import bound, inconclusive, no_violation_found, violation

from dpaudit.report.ci import RULES, Source, dump_sarif, source, to_sarif
from dpaudit.report.run_verdict import NO_EVIDENCE

HERE = Source(Path("my_module.py"), 7)


def result(report):
    (run,) = to_sarif(report, HERE)["runs"]
    (found,) = run["results"]
    return found


def test_it_has_all_that_the_schema_requires():
    """Of SARIF 2.1.0: version and runs, a driver's name, rules' ids, texts of all messages."""
    log = to_sarif(violation(), HERE)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("dpaudit", "0.1.0")
    assert [invocation["executionSuccessful"] for invocation in run["invocations"]] == [True]
    for rule in driver["rules"]:
        assert re.fullmatch(r"[a-z-]+", rule["id"])
        for text in ("shortDescription", "fullDescription", "help"):
            assert rule[text]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "note")


def test_a_refuted_claim_is_an_error_at_the_function_that_broke_it():
    found = result(violation())
    assert (found["ruleId"], found["level"]) == ("claim-refuted", "error")
    assert list(RULES.values())[found["ruleIndex"]]["id"] == "claim-refuted"
    text = found["message"]["text"]
    assert re.match(r"REFUTED: \D*1\.00 \D+ 1\.41 \(95 %", text)
    (location,) = found["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "my_module.py"},
        "region": {"startLine": 7},
    }


def test_what_was_not_refuted_has_no_result_but_its_numbers():
    (run,) = to_sarif(no_violation_found(), HERE)["runs"]
    assert run["results"] == []
    assert run["properties"]["verdict"] == "NO_VIOLATION_FOUND"
    assert run["properties"]["claim"] == 2.0
    assert 0 < run["properties"]["bound"] < 2 < run["properties"]["ceiling"]


def test_an_audit_that_could_not_decide_is_a_note():
    found = result(inconclusive())
    assert (found["ruleId"], found["level"]) == ("audit-inconclusive", "note")
    assert found["message"]["text"].startswith("WEAK TEST: ")


def weak():
    return no_violation_found(bounds=[bound(fp=100, fn=110, n=250)], primary=0, published=[])


def test_a_weak_test_is_a_note_that_says_so_and_what_to_do():
    assert weak().verdict == "NO_VIOLATION_FOUND"
    found = result(weak())
    assert (found["ruleId"], found["level"]) == ("weak-test", "note")
    assert NO_EVIDENCE in found["message"]["text"]
    assert found["message"]["text"].endswith(weak().next_steps[0])


def test_no_limit_is_null_and_the_file_is_json(tmp_path):
    unlimited = no_violation_found(bounds=[bound(ceiling=float("inf"))], primary=0, published=[])
    dump_sarif(unlimited, HERE, tmp_path / "log.sarif")
    log = json.loads((tmp_path / "log.sarif").read_text(encoding="utf-8"))
    assert log["runs"][0]["properties"]["ceiling"] is None


def test_a_report_that_contradicts_itself_is_refused():
    with refuses("contradiction", option="verdict", value="VIOLATION"):
        to_sarif(replace(no_violation_found(), verdict="VIOLATION"), HERE)


# ---------------------------------------------------------------- where


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack age").mkdir()
    text = "import this_is_never_imported\n\n\ndef train(dataset, seed):\n    pass\n"
    (tmp_path / "own.py").write_text(text)
    (tmp_path / "pack age" / "own.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("mechanism", "uri", "line"),
    [
        ("own:train", "own.py", 4),
        ("own.py:train", "own.py", 4),
        ("pack age/own.py:train", "pack%20age/own.py", 4),
        ("own:elsewhere", "own.py", 1),
        ("nowhere:train", "runs/1/config.toml", 1),
        ("dpsgd", "runs/1/config.toml", 1),
        ("DPSGD(noise='1:2')", "runs/1/config.toml", 1),
    ],
)
def test_the_place_is_found_without_running_anything(folder, mechanism, uri, line):
    found = source(mechanism, Path("runs/1"))
    assert (found.uri, found.line) == (uri, line)
    assert source(f"{folder}/own.py:train", Path("runs/1")) == Source(folder / "own.py", 4)


def test_a_file_elsewhere_or_no_longer_python_still_has_a_place(folder, monkeypatch):
    Path("own.py").write_text("def train(:")
    assert source("own:train", Path("runs")).line == 1
    (folder / "deeper").mkdir()
    monkeypatch.chdir(folder / "deeper")
    assert Source(folder / "own.py").uri == (folder / "own.py").as_uri()
