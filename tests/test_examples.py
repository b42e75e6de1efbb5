"""The examples, as their own first lines say to run them; on less data, to be done in time."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from opacus.accountants import RDPAccountant

from dpaudit.cli import main

ROOT = Path(__file__).parent.parent
DPAUDIT = Path(sys.executable).with_name("dpaudit")


@pytest.fixture
def audited(serial, tmp_path, monkeypatch):
    """The report of an example's own command line, with some words more."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def audited(name, *words):
        text = (ROOT / "examples" / name).read_text(encoding="utf-8")
        (line,) = re.findall(r"^    dpaudit (run .*)$", text, re.MULTILINE)
        folder = str(tmp_path / "run")
        done = CliRunner().invoke(main, [*line.split(), *words, "--workers", "1", "--out", folder])
        assert done.exit_code == 0, done.output
        return json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))

    return audited


def test_a_model_without_privacy_is_caught(audited):
    report = audited("plain_torch.py", "--size", "300", "--models", "52")
    assert report["claim"]["epsilon"] == 1
    assert report["verdict"] == "VIOLATION"
    assert report["bounds"][report["primary"]]["epsilon"] > 1


def test_the_claim_of_the_opacus_example_is_its_accountants():
    settings = runpy.run_path(str(ROOT / "examples" / "opacus_cnn.py"))
    batches = -(-1000 // settings["BATCH"])
    accountant = RDPAccountant()
    accountant.history = [(settings["NOISE"], 1 / batches, batches * settings["EPOCHS"])]
    assert 7.9 < accountant.get_epsilon(1e-5) <= 8


@pytest.mark.filterwarnings("ignore")  # Opacus has some
def test_an_opacus_training_loop_is_audited_unchanged(audited):
    report = audited("opacus_cnn.py", "--models", "4", "--canary", "mislabelled", "--samples", "20")
    assert report["claim"]["epsilon"] == 8
    assert report["verdict"] == "INCONCLUSIVE"
    assert {"loss", "mean+std", "learned"} <= {bound["attack"] for bound in report["bounds"]}
    assert report["utility"]["accuracy"] > 0.8


def test_the_privacy_test_passes_on_opacus_and_fails_on_its_mutant(tmp_path):
    """As pytest runs it for anybody who has copied it, without this repository's settings."""
    shutil.copy(ROOT / "examples" / "test_privacy.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "test_privacy.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout or done.stdout.startswith("..")


def test_predictions_of_scikit_learn_are_audited(tmp_path):
    text = (ROOT / "examples" / "sklearn_kit.py").read_text(encoding="utf-8")
    lines = re.findall(r"^    ((?:dpaudit|python) .*)$", text, re.MULTILINE)
    programs = {"dpaudit": [DPAUDIT], "python": [sys.executable]}
    assert [line.split()[0] for line in lines] == ["dpaudit", "python", "dpaudit"]
    for line in lines:
        program, *words = line.replace("examples/", f"{ROOT}/examples/").split()
        command = [*programs[program], *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("REFUTED: ")


@pytest.mark.parametrize("name", ["opacus_cnn", "plain_torch", "sklearn_kit"])
def test_examples_know_nothing_of_dpaudit(name):
    code = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8").split('"""', 2)[2]
    assert "dpaudit" not in code
