"""The workflow that gates pull requests: its YAML, and its commands as they stand there."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from dpaudit.cli.run import command

WORKFLOW = Path(__file__).parent.parent / "examples" / "privacy_workflow.yml"


@pytest.fixture(scope="module")
def workflow():
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def steps(workflow):
    return workflow["jobs"]["audit"]["steps"]


@pytest.fixture(scope="module")
def audit(steps):
    """The words of its one dpaudit command, after `dpaudit run`."""
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    (words,) = [shlex.split(line) for line in lines if line.startswith("dpaudit ")]
    assert words[:2] == ["dpaudit", "run"]
    return words[2:]


def test_it_runs_on_pull_requests_and_may_show_what_it_finds(workflow):
    assert "pull_request" in workflow[True]  # YAML takes `on` for a truth
    assert workflow["permissions"] == {"contents": "read", "security-events": "write"}


def test_every_word_of_its_command_is_one_that_dpaudit_takes(audit):
    given = command.make_context("run", list(audit)).params
    assert given["until_decided"]
    assert given["fail_on_violation"]
    assert given["claim"] == (1.0, 1e-5)


def test_what_is_uploaded_is_what_the_audit_writes_and_also_when_it_fails(steps, audit):
    written = {audit[audit.index(flag) + 1] for flag in ("--sarif", "--junit")}
    sarif, kept = (step for step in steps if "upload" in step.get("uses", ""))
    assert sarif["uses"].startswith("github/codeql-action/upload-sarif@")
    assert {sarif["with"]["sarif_file"], kept["with"]["path"].splitlines()[0]} == written
    assert all(step["if"].startswith("always()") for step in (sarif, kept))
    assert not any(step.get("continue-on-error") for step in steps if "run" in step)


def test_its_command_fails_on_a_leak_and_leaves_both_files(audit, tmp_path):
    (tmp_path / "my_module.py").write_text(
        "import numpy as np\n\n\n"
        "def train(dataset, seed):\n"
        "    return len(dataset) + np.random.default_rng(seed).normal(scale=0.1)\n"
    )
    dpaudit = Path(sys.executable).with_name("dpaudit")
    done = subprocess.run(
        [dpaudit, "run", *audit, "--workers", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    (run,) = json.loads((tmp_path / "dpaudit.sarif").read_text(encoding="utf-8"))["runs"]
    (found,) = run["results"]
    place = found["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "my_module.py"}, "region": {"startLine": 4}}
    suite = ElementTree.parse(tmp_path / "dpaudit.xml").getroot().find("testsuite")
    assert suite.get("failures") == "1"
    assert (tmp_path / "audit" / "report.html").is_file()
