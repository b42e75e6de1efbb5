"""Which backend trains is seen, chosen once, and part of the run."""

import json
from dataclasses import replace

import pytest

from dpaudit.config import Config

RUN = "run --network logreg --noise-multiplier 2 --epochs 1 --models 4 --samples 3 --workers 1"
SMALL = [*RUN.split(), "--canary", "random", "--attack", "loss"]
MISSING = "there is no C++ compiler (c++, g++ or clang++) here, nor a compiled kernel"


@pytest.fixture
def bare(shell, tmp_path):
    """A machine without a compiler, on which nothing has been compiled yet."""
    (tmp_path / "bin").mkdir()
    env = {name: value for name, value in shell.env.items() if name != "CXX"}
    here = {"PATH": str(tmp_path / "bin"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return replace(shell, env={**env, **here})


def backend(folder):
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))["backend"]


def test_the_fastest_is_chosen_named_and_kept(shell, tmp_path):
    done = shell(*SMALL, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "backend native (the fastest one)" in done.stderr.splitlines()
    assert "Backend   native (the fastest one)" in done.stdout.splitlines()
    assert backend(tmp_path / "run") == {"name": "native", "reason": "the fastest one"}
    assert Config.from_toml(tmp_path / "run" / "config.toml").backend == "native"


def test_without_a_compiler_the_next_is_taken_with_a_line_that_says_so(bare, tmp_path):
    done = bare(*SMALL, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("backend ")]
    assert said.startswith(f"backend torch (not native: {MISSING}")
    assert backend(tmp_path / "run")["name"] == "torch"
    assert backend(tmp_path / "run")["reason"].startswith(f"not native: {MISSING}")


def test_a_named_one_that_cannot_be_had_is_refused(bare, tmp_path):
    done = bare(*SMALL, "--backend", "native", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert done.stdout == ""
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"Error: the native backend cannot train logreg here: {MISSING}")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["torch", "opacus"])
def test_a_named_one_is_taken(shell, tmp_path, name):
    done = shell(*SMALL, "--backend", name, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert backend(tmp_path / "run") == {"name": name, "reason": "as asked for"}
