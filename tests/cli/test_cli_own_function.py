"""A user's own training function, from the command line."""

import json
from pathlib import Path

import pytest
from refusals import Line

OWN = """
import numpy as np
import os

def telling(dataset, seed):
    return len(dataset) + np.random.default_rng(seed).uniform(0, 0.5)

def idle(dataset, seed):
    return float((dataset.tensors[0] > 1).sum()) + np.random.default_rng(seed).laplace()

def deaf(dataset, seed):
    return 1.0

def dying(dataset, seed):
    os._exit(9)
"""


def words(npz, mechanism):
    line = f"run --data {npz} --canary random --claim 1,1e-5 --models 60 --workers 1 --out run"
    return [*line.split(), "--mechanism", mechanism]


def test_the_full_game_is_played_and_only_the_same_code_goes_on_with_it(shell, npz):
    code, folder = Path(shell.cwd, "my_module.py"), Path(shell.cwd, "run")
    code.write_text(OWN)
    done = shell(*words(npz, "my_module:telling"))
    assert done.returncode == 0, done.stderr
    assert "rehearsing my_module:telling" in done.stderr
    report = json.loads((folder / "report.json").read_text())
    assert report["verdict"] == "VIOLATION"
    assert {bound["attack"] for bound in report["bounds"]} == {"released"}
    assert report["claim"]["source"].startswith("stated")

    journal = (folder / "journal.sqlite").read_bytes()
    code.write_text(f"{OWN}\nchanged = True\n")
    again = shell(*words(npz, "my_module:telling"))
    assert again.returncode == 2
    Line(again.stderr.splitlines()[-1]).tells("other-configuration", "code:")
    assert (folder / "journal.sqlite").read_bytes() == journal


@pytest.mark.parametrize("more", [[], ["--until-decided"]], ids=["all", "until decided"])
def test_a_canary_that_changes_nothing_is_inconclusive_in_every_report(cli, npz, tmp_path, more):
    name = f"idle_module_{len(more)}"  # this process imports each once
    (tmp_path / f"{name}.py").write_text(OWN)
    files = ["--sarif", "a.sarif", "--junit", "a.xml", "--models", "160"]
    done = cli(*words(npz, f"../{name}.py:idle"), *files, *more)
    assert done.exit_code == 0, done.output
    report = json.loads(Path("run/report.json").read_text())
    assert report["verdict"] == "INCONCLUSIVE"
    said = report["untested"].partition(":")[0]
    assert f"WEAK TEST: {said}" in " ".join(done.stdout.split())
    assert "Take a canary" in report["next_steps"][0]
    for page in ("run/report.html", "a.sarif", "a.xml"):
        assert said in Path(page).read_text()


@pytest.mark.parametrize(
    ("name", "exit_code", "code", "facts"),
    [
        ("deaf", 2, "no-randomness", "bad_deaf.py:deaf 50"),
        ("dying", 5, "workers-died", "worker"),
        ("nowhere", 2, "unknown-name", "'nowhere' bad_nowhere"),
    ],
)
def test_a_bad_function_leaves_nothing_behind(cli, npz, tmp_path, name, exit_code, code, facts):
    (tmp_path / f"bad_{name}.py").write_text(OWN)  # this process imports each once
    done = cli(*words(npz, f"../bad_{name}.py:{name}"), "--workers", 2)  # one of which may die
    assert done.exit_code == exit_code
    Line(done.stderr.splitlines()[-1]).tells(code, facts)
    assert done.stdout == ""
    assert list(Path().iterdir()) == []
