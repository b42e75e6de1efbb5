"""`dpaudit compare`: what it prints and writes, and what it refuses in one sentence."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from playground import KNOWN, facts, observe, worlds_and_indices, write_journal
from refusals import Line

from dpaudit import registry
from dpaudit.journal import Journal
from dpaudit.protocols import Defence
from dpaudit.report import load_schema
from dpaudit.seeds import trials

DPAUDIT = Path(sys.executable).with_name("dpaudit")
FAST = ("--attack", "loss", "--attack", "min+max")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr("dpaudit.estimators.published.PERMUTATIONS", 5)


def run(folder="run", models=40, shift=4.0):
    worlds, _ = worlds_and_indices(models)
    seen = observe(worlds, np.random.default_rng(0), shift)
    return write_journal(Path(folder) / "journal.sqlite", seen)


def contents(folder):
    return {p: p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_table_and_file_hold_the_same(cli, tmp_path):
    run()
    before = contents(tmp_path)
    defences = ("--defence", "quantize:0.01", "--defence", "quantize:0.5")
    done = cli(
        "compare", "run", *defences, *FAST, "--confidence", 0.9, "--json", "c.json", "--verbose"
    )
    assert done.exit_code == 0, done.output
    written = json.loads(Path("c.json").read_text())
    assert list(Draft202012Validator(load_schema("comparison")).iter_errors(written)) == []
    names = ["none", "quantize:0.01", "quantize:0.5"]
    assert [d["defence"] for d in written["defences"]] == names
    assert {b["confidence"] for d in written["defences"] for b in d["bounds"]} == {0.9}
    rows = done.stdout.split("\n  ---")[-1].split("\n---")[-1].splitlines()[1:4]
    for row, name, d in zip(rows, names, written["defences"], strict=True):
        (found,) = (b["epsilon"] for b in d["bounds"] if b["attack"] == d["strongest"])
        label, attack, shown, *_ = row.split()
        assert attack == d["strongest"]
        assert label == name
        assert found - 0.01 < float(shown) <= found
    assert max(map(len, done.stdout.splitlines())) <= 80
    Path("c.json").unlink()
    assert contents(tmp_path) == before, "no look is numbered"


def test_attacks_are_those_of_the_run_unless_named(cli):
    worlds, _ = worlds_and_indices(8)
    seen = observe(worlds, np.random.default_rng(0))
    write_journal(Path("run/journal.sqlite"), seen, attacks=["mean"], primary="mean")
    for words, attacks in (((), ["mean"]), (FAST, ["loss", "min+max"])):
        cli("compare", "run", "--defence", "quantize:0.1", *words, "--json", "c.json")
        assert json.loads(Path("c.json").read_text())["attacks"] == attacks


def test_a_file_that_cannot_be_written_after_all_costs_only_the_file(cli, monkeypatch):
    run()
    monkeypatch.setattr("dpaudit.cli.output.Destination.problem", lambda *_: None)
    done = cli("compare", "run", "--defence", "quantize:0.1", *FAST, "--json", "nowhere/c.json")
    assert done.exit_code == 2
    assert "quantize:0.1" in done.stdout
    assert done.stderr.count("\n") == 1
    Line(done.stderr.strip()).tells("file-unwritable", "nowhere/c.json")


def test_chains_sweeps_and_a_figure(cli):
    run_with_tests()
    words = ("--defence", "mean-std + quantize:0.1", "--sweep", "top-k:1,2", "--sweep")
    words += ("quantize:0.01..0.16", "--attack", "learned", "--figure", "c.png", "--json", "c.json")
    done = cli("compare", "run", *words)
    assert done.exit_code == 0, done.output
    written = json.loads(Path("c.json").read_text())
    assert list(Draft202012Validator(load_schema("comparison")).iter_errors(written)) == []
    assert [d["defence"] for d in written["defences"]] == [
        *("none", "mean-std + quantize:0.1", "top-k:1", "top-k:2"),
        *(f"quantize:{unit}" for unit in ("0.01", "0.02", "0.04", "0.08", "0.16")),
    ]
    assert all(d["utility"]["negative_log_likelihood"] > 0 for d in written["defences"])
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    assert done.stderr == ""


def run_with_tests(models=16):
    """A run whose first models were asked about test records."""
    worlds, _ = worlds_and_indices(models)
    draw = np.random.default_rng(0)
    seen = observe(worlds, draw, 4.0)
    asked = [draw.dirichlet(np.ones(3), size=(4, 30)) for _ in range(2)]
    with Journal.open_for_writing(
        Path("run/journal.sqlite"), {"seed": 0, "models": models}
    ) as journal:
        journal.write_facts(facts(), {**KNOWN, "test_y": draw.integers(3, size=30)})
        for row, trial in enumerate(trials(0, models)):
            shown = {name: array[row] for name, array in seen.items()}
            journal.add(trial, {**shown, **({"test_mc": asked[row]} if row < 2 else {})}, 0.1)


def test_a_figure_without_an_accuracy_costs_only_the_figure(cli):
    run(models=8)
    done = cli("compare", "run", "--defence", "quantize:0.1", *FAST, "--figure", "c.png")
    assert done.exit_code == 2
    assert "quantize:0.1" in done.stdout
    assert Line(done.stderr.strip()).code == "no-accuracy"
    assert not Path("c.png").exists()


# ---------------------------------------------------------------- what is refused


BAD_CHOICES = [
    ("", "none-named", "defence"),
    ("--defence none", "no-effect", "'none'"),
    ("--defence quantise:0.01", "unknown-name", "'quantise' 'quantize'"),
    ("--defence quantize", "needs-number", "'quantize' quantize:UNIT"),
    ("--defence quantize:", "not-a-number", "'quantize:'"),
    ("--defence quantize:abc", "not-a-number", "'abc' 'quantize:abc'"),
    ("--defence quantize:0", "out-of-range", "quantize 0 1 0.0"),
    ("--defence quantize:-1", "out-of-range", "0 1 -1.0"),
    ("--defence quantize:nan", "out-of-range", "0 1 nan"),
    ("--defence quantize:inf", "out-of-range", "0 1 inf"),
    ("--defence quantize:2", "out-of-range", "0 1 2.0"),
    ("--defence quantize:0.1 --defence quantize:0.10", "named-twice", "quantize:0.10"),
    ("--defence quantize:0.1 --attack losss", "unknown-name", "'loss'"),
    ("--defence quantize:0.1 --attack released", "not-released", "released"),
    ("--defence quantize:0.1 --estimator clopper", "unknown-name", "'clopper-pearson'"),
    ("--defence quantize:0.1 --confidence 95", "out-of-range", "confidence 0.5 1"),
    ("--defence quantize:0.1 --sweep quantize:0.1,0.2", "named-twice", "quantize:0.1"),
    ("--sweep quantize:0.1", "not-a-sweep", "'quantize:0.1'"),
    ("--sweep quantize:0..1", "out-of-range", "'0..1' 'quantize:0..1'"),
    ("--defence mean-std+none", "no-effect", "'none' 'mean-std+none'"),
    ("--defence top-k:1.5", "too-small", "top-k 1 1.5"),
    ("--defence label-only --figure c.pdf", "wrong-ending", "c.pdf .png .svg"),
    ("--defence theirs", "code-failed", "theirs OSError"),
    ("--defence shorter", "code-failed", "'mean' shorter 8"),
]


def test_a_bad_choice_is_refused(refused, third_parties):
    run(models=8)
    for words, code, named in BAD_CHOICES:
        refused("compare", "run", *words.split()).tells(code, named)


@pytest.fixture
def third_parties(plugins, tmp_path_factory, monkeypatch):
    """Two defences of another package, neither of which works."""
    installed = tmp_path_factory.mktemp("site") / "theirs-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    names = f"theirs = {__name__}:Unlucky\nshorter = {__name__}:Shorter\n"
    (installed / "entry_points.txt").write_text(f"[dpaudit.defences]\n{names}")
    monkeypatch.syspath_prepend(installed.parent)
    registry._entries.cache_clear()


class Unlucky(Defence):
    """A third party's defence that fails."""

    def protect(self, seen):
        raise OSError("no luck\ntoday")


class Shorter(Defence):
    """A third party's defence that loses a trial."""

    def protect(self, seen):
        return {"mean": seen["mean"][1:]}


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_pipe_without_a_reader_is_no_error_message(tmp_path):
    run(tmp_path / "run", models=8)
    command = f"{DPAUDIT} compare {tmp_path}/run --defence quantize:0.1 --attack loss"
    script = f"{command} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("141\n", "")
