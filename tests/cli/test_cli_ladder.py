"""`dpaudit ladder`, from the command line to the page."""

import json
import signal

import pytest
from jsonschema import Draft202012Validator

from dpaudit.report import load_schema

WORDS = "ladder --network logreg --size 200 --batch full --models 60 --steps 4"
TINY = [*WORDS.split(), "--workers", 1]


def test_a_wrong_claim_is_refuted_by_insiders_though_not_by_the_observer(shell, tmp_path):
    wrong = ["--noise-multiplier", 1, "--claim", "0.2,1e-5", "--out", tmp_path / "out"]
    files = ["--json", tmp_path / "ladder.json", "--html", tmp_path / "ladder.html"]
    done = shell(*TINY, *wrong, *files, "--fail-on-violation")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("REFUTED: ")
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert "Left out  single steps" in done.stdout

    found = json.loads((tmp_path / "ladder.json").read_text(encoding="utf-8"))
    assert list(Draft202012Validator(load_schema("ladder")).iter_errors(found)) == []
    verdicts = {rung["name"]: rung["verdict"] for rung in found["rungs"]}
    assert verdicts["observer"] != "VIOLATION" == verdicts["worst-case start"]
    assert verdicts["single steps"] is None
    out = tmp_path / "out"
    assert json.loads((out / "report.json").read_text(encoding="utf-8")) == found
    assert (out / "report.html").read_bytes() == (tmp_path / "ladder.html").read_bytes()
    for rung in found["rungs"]:
        if rung["folder"]:
            own = json.loads((out / rung["folder"] / "report.json").read_text(encoding="utf-8"))
            assert own["verdict"] == rung["verdict"]


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(shell, tmp_path):
    process = shell.start(*TINY, "--out", tmp_path / "out")
    shell.until(process, "worst-case start")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    last = told.splitlines()[-1]
    assert last.startswith("Stopped: ")
    assert "observer" in last
    assert str(tmp_path / "out") in last
    assert (tmp_path / "out" / "observer" / "report.json").exists()


@pytest.mark.parametrize(
    ("more", "code", "facts"),
    [
        (["--confidence", "1"], "out-of-range", "confidence"),
        (["--epochs", "2"], "excluded-options", "--epochs --steps"),
        (["--accountant", "rdp"], "no-effect", "--accountant"),
        (["--noise-multiplier", "1", "--epsilon", "2"], "excluded-options", "epsilon"),
        (["--adversary", "white-box"], "usage", "--adversary"),
    ],
)
def test_what_no_ladder_can_be_made_of_is_refused(refused, more, code, facts):
    refused(*TINY, *more).tells(code, facts)
