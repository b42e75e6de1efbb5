"""What needs no torch works where importing it would fail, in this process and in workers."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

NUMPY = """
import numpy as np

def release(dataset, seed):
    assert len(dataset) == len(dataset.x) == len(dataset.y)
    return np.sum(dataset.x.max(axis=(1, 2, 3)) > 0) + np.random.default_rng(seed).laplace()
"""

IN_PYTHON = """
import dpaudit as dp
from dpaudit.testing import assert_private
from numpy_only import release

if __name__ == "__main__":
    assert_private(release, claim=(1.0, 1e-5), models=100, false_alarm=0.01, size=50)
    data = dp.data.load("digits")
    pair = dp.canaries.Static().build(data, seed=0)
    target = dp.mechanisms.Function(release, (8.0, 1e-5), data)
    verdict = dp.play(target, pair, models=8, out="played", workers=2).judge().verdict
    below = dp.mechanisms.DPSGD(data).claim.epsilon < 8.01
    print(f"VIOLATION {verdict == 'VIOLATION'}, claim below 8.01 {below}")
"""

ASKED = [
    "report run --html page.html",
    "compare run --defence quantize:0.1",
    "estimate --fp 3 --fn 4 --out-trials 100 --in-trials 100",
    "plan",
    "plan --mechanism p3gm",
    "calibrate --repetitions 1 --trials 10 --workers 2",
]

ASKING = """
import sys
from click.testing import CliRunner
from dpaudit.cli import main

if __name__ == "__main__":
    for words in sys.argv[1:]:
        done = CliRunner().invoke(main, words.split())
        print(done.exit_code, words)
        print(done.output if done.exit_code else "", done.exception or "", file=sys.stderr)
"""
"""Commands one after the other in one process: what it imports is there for all of them."""


@pytest.fixture(scope="module")
def torchless(shell, tmp_path_factory):
    """A shell in whose processes an import of torch fails, with a function of numpy's."""
    folder = tmp_path_factory.mktemp("torchless")
    (folder / "torch.py").write_text("raise RuntimeError('torch is imported')")
    (folder / "numpy_only.py").write_text(NUMPY)
    path = os.pathsep.join([str(folder), shell.env["PYTHONPATH"]])
    return replace(shell, env={**shell.env, "PYTHONPATH": path}, cwd=folder)


@pytest.fixture(scope="module")
def played(torchless):
    """A run of that function."""
    words = "run --mechanism numpy_only:release --claim 8,1e-5 --canary static --models 12"
    return torchless(*words.split(), "--size", 50, "--workers", 2, "--out", "run")


def test_commands_that_train_nothing_import_no_torch(torchless, played):
    assert played.returncode == 0, played.stderr
    done = python(torchless, ASKING, *ASKED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"0 {words}" for words in ASKED]


def test_neither_does_an_audit_of_numpy_code_in_python(torchless):
    done = python(torchless, IN_PYTHON)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "VIOLATION False, claim below 8.01 True\n"


def python(torchless, script, *words):
    """A script in such a process."""
    (torchless.cwd / "script.py").write_text(script)
    return subprocess.run(
        [sys.executable, "script.py", *words],
        cwd=torchless.cwd,
        env=torchless.env,
        capture_output=True,
        text=True,
    )
