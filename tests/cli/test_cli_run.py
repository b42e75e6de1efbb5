"""Whole runs, some in processes of their own; most with a mechanism that trains nothing."""

import json
import os
import random
import re
import shlex
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from compiled import compiled
from jsonschema import Draft202012Validator
from refusals import Line

from dpaudit.config import Config
from dpaudit.journal import Journal
from dpaudit.report import load_schema

FILES = {"journal.sqlite", "config.toml", "report.json", "report.html", "figures"}


def files(folder):
    return {path.name for path in folder.iterdir()}


def report_of(folder):
    """A run's report without the time that it took."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report.pop("seconds").keys() == {"training", "judging"}
    return report


def played(folder):
    with Journal.read(folder / "journal.sqlite") as journal:
        return journal.observations()


def figures(folder):
    return {path.stem for path in (folder / "figures").iterdir()}


# ---------------------------------------------------------------- from end to end


@pytest.fixture(scope="module")
def trained(shell, tmp_path_factory):
    """The real thing: DP-SGD on the embedded digits, as small as it gets."""
    folder = tmp_path_factory.mktemp("runs") / "trained"
    words = "run --network logreg --noise-multiplier 2 --epochs 1 --models 8 --samples 5"
    more = "--canary random --attack loss --attack mean --workers 1 --out"
    return folder, shell(*words.split(), *more.split(), folder)


def test_a_real_run_leaves_journal_configuration_and_report(trained):
    folder, done = trained
    assert done.returncode == 0, done.stderr
    assert files(folder) == FILES
    saved = Config.from_toml(folder / "config.toml")
    assert saved.training.network == "logreg"
    assert (saved.privacy.noise_multiplier, saved.privacy.epsilon) == (2.0, None)
    seen = played(folder)
    assert seen["logits"].shape == (8, 10)
    assert seen["mc"].shape == (8, 5, 10)
    assert len(np.unique(seen["logits"][:, 0])) == 8, "every model has noise of its own"


@compiled
def test_the_fastest_backend_is_chosen_named_and_kept(trained):
    folder, done = trained
    backend = report_of(folder)["backend"]
    assert backend["name"] == "native"
    assert "fastest" in backend["reason"]
    assert f"backend native ({backend['reason']})" in done.stderr.splitlines()
    assert Config.from_toml(folder / "config.toml").training.backend == "native"


def test_a_real_report_fulfils_its_schema_and_says_what_was_played(trained):
    folder, _ = trained
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    Draft202012Validator(load_schema()).validate(report)
    assert report["verdict"] == "INCONCLUSIVE"
    assert report["canary"]["name"] == "random"
    assert report["models"] == {"in": 4, "out": 4, "choosing": 4, "judging": 4}
    assert report["claim"]["curve"]["noise_multiplier"] == 2.0
    assert [(bound["attack"], bound["estimator"]) for bound in report["bounds"]] == [
        (attack, estimator)
        for attack in ("loss", "mean")
        for estimator in ("rank-test", "exact-scan")
    ] + [(report["bounds"][report["primary"]]["attack"], "clopper-pearson")]


def test_stdout_is_the_report_alone_and_progress_goes_to_stderr(undisturbed, cli):
    folder, done = undisturbed
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("WEAK TEST: ")
    assert "40/40 models" in done.stderr
    assert "/40 models" not in done.stdout
    assert f"{folder}/report.html" in "".join(done.stdout.split())

    again = cli("report", folder)
    assert again.exit_code == 0
    first, where = again.stdout.split("Report ")
    assert first == done.stdout.partition("Report ")[0]
    assert f"{folder}/report.html" in "".join(where.split())
    assert again.stderr == ""


def test_same_command_again_plays_nothing_and_says_the_same(undisturbed, cli, command):
    folder, _ = undisturbed
    before = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    again = cli(*command, "--out", folder, "--workers", 1)
    after = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert again.exit_code == 0
    assert before["seconds"].pop("judging")
    assert after["seconds"].pop("judging")
    assert after == before, "even the training's time, for nothing was trained"
    assert "making the" not in again.stderr


def test_a_saved_configuration_plays_the_same_run_again(undisturbed, cli, tmp_path):
    folder, _ = undisturbed
    other = tmp_path / "again"
    done = cli("run", "--config", folder / "config.toml", "--out", other, "--workers", 1)
    assert done.exit_code == 0
    assert report_of(other) == report_of(folder)
    for name, array in played(folder).items():
        np.testing.assert_array_equal(played(other)[name], array)


def test_default_folder_is_named_after_the_configuration(cli, command):
    """So the same line finds it again."""
    assert cli(*command, "--models", 4, "--workers", 1).exit_code == 0
    (folder,) = Path("runs").iterdir()
    assert files(folder) == FILES
    assert folder.name == Config.from_toml(folder / "config.toml").digest()


def test_a_violation_fails_only_if_asked_to(cli, command, tmp_path):
    words = [*command, "--claim", "0.01,1e-5", "--workers", 1, "--out", tmp_path / "run"]
    assert cli(*words).exit_code == 0
    assert report_of(tmp_path / "run")["verdict"] == "VIOLATION"
    for gate in ("--fail-on-violation", "--fail-on-weak"):
        assert cli("report", tmp_path / "run", gate).exit_code == 1


def test_a_weak_test_fails_only_if_asked_to(cli, command, tmp_path):
    """Four models cannot decide."""
    words = [*command, "--models", 4, "--workers", 1, "--out", tmp_path / "run"]
    assert cli(*words).exit_code == 0
    assert report_of(tmp_path / "run")["strength"] == "weak"
    assert cli("report", tmp_path / "run", "--fail-on-violation").exit_code == 0
    assert cli("report", tmp_path / "run", "--fail-on-weak").exit_code == 1


def test_a_report_that_cannot_be_written_after_all_is_still_printed(
    undisturbed, cli, tmp_path, monkeypatch
):
    folder, _ = undisturbed
    monkeypatch.setattr("dpaudit.cli.output.Destination.problem", lambda *_: None)
    done = cli("report", folder, "--json", tmp_path / "nowhere" / "report.json")
    assert done.exit_code == 2
    assert done.stdout.startswith("WEAK TEST: ")
    assert "cannot write " in done.stderr
    assert done.stderr.count("\n") == 1
    done = cli("report", folder, "--json", tmp_path / "report.json")
    assert done.exit_code == 0
    assert report_of(tmp_path) == report_of(folder)


# ---------------------------------------------------------------- interruptions


def test_a_run_that_is_stopped_while_it_prepares_denies_no_kept_models(cli, npz):
    Path("stop.py").write_text("raise KeyboardInterrupt")
    done = cli("run", "--mechanism", "stop.py:train", "--claim", 8, "--data", npz)
    assert done.exit_code == 130
    said = done.stderr.splitlines()[-1]
    assert "preparing" in said
    assert "earlier start" in said
    assert "first model" not in said


@pytest.mark.parametrize("polite", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_an_interrupted_run_says_so_and_goes_on_to_the_same_report(
    undisturbed, shell, cli, command, tmp_path, polite
):
    """Ctrl-C reaches every process of the group, and comes twice from the impatient; a
    scheduler's SIGTERM reaches only the first."""
    folder = tmp_path / "a run"
    process = shell.start(*command, "--workers", 2, "--out", folder, pause=0.1)
    shell.until(process, "^4/40 models")
    if polite == signal.SIGTERM:
        process.send_signal(polite)
    else:
        for _ in range(2):
            os.killpg(process.pid, polite)
            time.sleep(0.01)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    (line,) = [line for line in err.splitlines() if "models," not in line]
    kept = re.fullmatch(rf"Stopped: (\d+) of 40 models are kept in {folder}; (.*)\.", line)
    assert "same command" in kept[2]
    assert 4 <= int(kept[1]) < 40
    # The signal may come between a trial's being written and its being counted.
    assert len(played(folder)["logits"]) - int(kept[1]) in (0, 1)

    if polite == signal.SIGTERM:
        return
    # What `report` says to do is a command that does it.
    refused = cli("report", folder)
    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
    way = shlex.split(refused.stderr.partition("go on with ")[2])[:-1]  # without the code
    assert way[:2] == ["dpaudit", "run"]
    assert cli(*way[1:], "--workers", 1).exit_code == 0
    assert report_of(folder) == report_of(undisturbed[0])


def test_a_run_killed_at_any_instant_ends_with_the_same_report(
    undisturbed, shell, command, tmp_path
):
    """While it starts, then at a random instant (of a fixed seed) on its way."""
    folder, instants = tmp_path / "run", random.Random(11)
    for reached in (0, 16):
        process = shell.start(*command, "--workers", 2, "--out", folder, pause=0.03)
        if reached:
            shell.until(process, rf"^({'|'.join(map(str, range(reached, 40)))})/40 models")
        time.sleep(instants.uniform(0.0, 0.2))
        process.kill()
        process.communicate()
    assert 16 <= len(played(folder)["logits"]) < 40
    assert shell(*command, "--workers", 1, "--out", folder).returncode == 0
    assert report_of(folder) == report_of(undisturbed[0])


# ---------------------------------------------------------------- what a run is made of


def test_changed_data_are_refused_whichever_way_they_come(undisturbed, cli, command, tmp_path):
    folder, npz = shutil.copytree(undisturbed[0], tmp_path / "run"), tmp_path / "own.npz"
    data = dict(np.load(command[-1]))
    data["x"][0, 0] += 0.5
    np.savez(npz, **data)
    before = (folder / "journal.sqlite").read_bytes()

    again = cli(*command[:-1], npz, "--out", folder)
    assert again.exit_code == 2
    assert "fingerprint: " in again.stderr

    config = (folder / "config.toml").read_text().replace(str(command[-1]), str(npz))
    (folder / "config.toml").write_text(config)
    again = cli("run", "--config", folder / "config.toml", "--out", folder)
    assert again.exit_code == 2
    Line(again.stderr.splitlines()[-1]).tells("data-changed", "own.npz")
    assert (folder / "journal.sqlite").read_bytes() == before


def test_other_settings_on_the_same_folder_are_refused_with_what_differs(undisturbed, cli, command):
    folder, _ = undisturbed
    before = (folder / "journal.sqlite").read_bytes()
    done = cli(*command, "--out", folder, "--epsilon", 4, "--delta", 1e-6)
    assert done.exit_code == 2
    assert "(delta: 1e-05 there, 1e-06 here; epsilon: 8.0 there, 4.0 here)" in done.stderr
    assert (folder / "journal.sqlite").read_bytes() == before


# ---------------------------------------------------------------- what is shown


def test_figures_are_there_and_the_canary_is_left_out_if_asked(undisturbed, cli, tmp_path, command):
    folder = shutil.copytree(undisturbed[0], tmp_path / "run")
    assert figures(folder) == {"bounds", "scores", "roc", "canary"}
    shown = (folder / "report.html").read_text()
    done = cli(*command, "--out", folder, "--no-canary-image")
    assert done.exit_code == 0, done.stderr
    assert figures(folder) == {"bounds", "scores", "roc"}
    hidden = (folder / "report.html").read_text()
    assert "no training" not in shown
    assert "no training" in hidden


def test_a_page_can_go_anywhere(undisturbed, cli):
    done = cli("report", undisturbed[0], "--html", "page.html", "--no-canary-image")
    assert done.exit_code == 0, done.stderr
    assert Path("page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert files(Path()) == {"page.html"}


def test_a_file_that_cannot_be_written_is_refused_before_the_work(undisturbed, refused, command):
    for words in (["report", undisturbed[0]], [*command, "--out", "new"]):
        for flag in ("--json", "--html", "--sarif", "--junit"):
            refused(*words, flag, "nowhere/file").tells("folder-missing", f"{flag} nowhere/file")


def test_files_for_other_tools_lie_where_they_were_asked_for(cli, command, tmp_path):
    """Also in the folder that the run is about to make."""
    folder = tmp_path / "run"
    words = [*command, "--claim", "0.01,1e-5", "--workers", 1, "--out", folder]
    asked = ["--sarif", folder / "log.sarif", "--junit", folder / "junit.xml"]
    assert cli(*words, *asked, "--fail-on-violation").exit_code == 1
    (run,) = json.loads((folder / "log.sarif").read_text())["runs"]
    (found,) = run["results"]
    assert found["level"] == "error"
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place.endswith("run/config.toml")
    assert 'failures="1"' in (folder / "junit.xml").read_text()
    before = {name: (folder / name).read_bytes() for name in ("log.sarif", "junit.xml")}
    again = cli("report", folder, *asked, "--fail-on-violation")
    assert again.exit_code == 1
    assert (folder / "log.sarif").read_bytes() == before["log.sarif"]


def test_two_reports_in_one_file_are_refused_before_anything_is_trained(cli, command, tmp_path):
    one = tmp_path / "verdict"
    done = cli(*command, "--sarif", one, "--junit", one, "--out", tmp_path / "run")
    assert done.exit_code == 2
    Line(done.stderr.splitlines()[-1]).tells("same-file", "--sarif --junit")
    assert not one.exists()
    assert not (tmp_path / "run").exists()
