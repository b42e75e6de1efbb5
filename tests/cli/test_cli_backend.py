"""Another backend than the fastest: because it must be, or because it is asked for."""

import json

import pytest

from dpaudit.training import backends
from dpaudit.training.native import compiler
from dpaudit.training.native.library import library

RUN = "run --network logreg --noise-multiplier 2 --epochs 1 --models 4 --samples 3 --workers 1"
SMALL = [*RUN.split(), "--canary", "random", "--attack", "loss"]
MISSING = "C++ compiler"


@pytest.fixture
def bare(cli, tmp_path, monkeypatch):
    """The command on a machine without a compiler, on which nothing has been compiled yet."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    remembered = (compiler._own_folder, library, backends._first_use)
    for each in remembered:
        each.cache_clear()
    yield cli
    for each in remembered[1:]:
        each.cache_clear()


def backend(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))["backend"]


def test_without_a_compiler_the_next_is_taken_with_a_line_that_says_so(bare, tmp_path):
    done = bare(*SMALL, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("backend ")]
    assert said.startswith("backend torch (not native: ")
    assert MISSING in said
    assert backend(tmp_path / "run")["name"] == "torch"
    assert backend(tmp_path / "run")["reason"].startswith("not native: ")


def test_a_named_one_that_cannot_be_had_is_refused(bare, tmp_path):
    done = bare(*SMALL, "--backend", "native", "--out", tmp_path / "run")
    assert done.exit_code == 2
    assert done.stdout == ""
    said = done.stderr.splitlines()[-1]
    assert said.startswith("Error: ")
    assert MISSING in said
    assert not (tmp_path / "run").exists()


def test_opacus_itself_is_audited_where_it_is_asked_for(cli, tmp_path):
    done = cli(*SMALL, "--backend", "opacus", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert backend(tmp_path / "run") == {"name": "opacus", "reason": "as configured"}
    # What goes on there, goes on by the same one.
    again = cli(*SMALL, "--out", tmp_path / "run")
    assert again.exit_code == 0, again.output
    assert "backend opacus (as configured)" in again.stderr.splitlines()
