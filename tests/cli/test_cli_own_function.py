"""A user's own training function, from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpaudit.journal import Journal

OWN = """
import numpy as np
import os

def noisy_sum(dataset, seed):
    x, _ = dataset.tensors
    return float(x.sum()) + np.random.default_rng(seed).laplace()

def telling(dataset, seed):
    return len(dataset) + np.random.default_rng(seed).uniform(0, 0.5)

def deaf(dataset, seed):
    return 1.0

def failing(dataset, seed):
    raise ValueError("no such file: weights.pt")

def moody(dataset, seed):
    if len(dataset) == 50:  # the whole pool, in the rehearsal and in D'
        return np.random.default_rng(seed).normal(size=2)
    return np.random.default_rng(seed).normal(size=3)

def dying(dataset, seed):
    os._exit(9)
"""


@pytest.fixture
def own(tmp_path, npz):
    (tmp_path / "own_code.py").write_text(OWN)
    words = f"run --data {npz} --canary random --claim 1,1e-5 --models 60 --workers 1 --mechanism"
    return [*words.split(), f"{tmp_path}/own_code.py:"]


@pytest.fixture
def audited(shell, own, tmp_path):
    def call(name, *more):
        done = shell(*own[:-1], own[-1] + name, "--out", tmp_path / "run", *more)
        return done, tmp_path / "run"

    return call


def test_the_full_game_is_played_with_released_numbers(audited):
    done, folder = audited("telling")
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report.json").read_text())
    assert report["verdict"] == "VIOLATION"
    assert [bound["attack"] for bound in report["bounds"]] == ["released"]
    assert report["claim"]["source"] == "stated by the user"
    assert "rehearsing" in done.stderr


def test_a_changed_function_does_not_go_on_with_the_run(audited, tmp_path):
    assert audited("noisy_sum", "--models", 4)[0].returncode == 0
    (tmp_path / "own_code.py").write_text(OWN + "\nchanged = True\n")
    done, folder = audited("noisy_sum", "--models", 4)
    assert done.returncode == 2
    assert "holds a run of another configuration (code: " in done.stderr
    with Journal.read(folder / "journal.sqlite") as journal:
        assert np.shape(journal.observations()["values"]) == (4,)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deaf", "own_code.py:deaf gives the same for different seeds"),
        ("failing", "own_code.py:failing failed: ValueError: no such file: weights.pt"),
        ("dying", "a worker process died"),
        ("nowhere", "no 'nowhere' among the functions of own_code"),
    ],
)
def test_a_bad_function_leaves_nothing_behind(audited, name, said):
    done, folder = audited(name)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert done.stdout == ""
    assert not folder.exists()


def test_a_function_that_changes_its_shape_later_is_told(audited):
    done, _ = audited("moody")
    assert done.returncode == 2
    assert "release the same names and shapes always" in done.stderr


def test_a_module_is_found_where_dpaudit_is_called(shell, own):
    Path(shell.cwd, "my_module.py").write_text(OWN)
    done = shell(*own[:-1], "my_module:noisy_sum", "--models", 4, "--out", "here")
    assert done.returncode == 0, done.stderr
