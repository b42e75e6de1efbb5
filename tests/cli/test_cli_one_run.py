"""`dpaudit run --canaries`, from the command line to the page."""

import json

import pytest
from jsonschema import Draft202012Validator

from dpaudit.journal import Journal
from dpaudit.report import load_schema

WORDS = "run --adversary white-box --network logreg --batch full --steps 2 --canaries 100"
ONE_RUN = [*WORDS.split(), "--guesses", 40, "--workers", 1]


@pytest.fixture(scope="module")
def done(shell, tmp_path_factory):
    """One training on the embedded digits, and what it said."""
    folder = tmp_path_factory.mktemp("runs") / "one"
    return folder, shell(*ONE_RUN, "--verbose", "--out", folder)


def test_it_trains_one_model_and_reports_its_guesses(done):
    folder, said = done
    assert said.returncode == 0, said.stderr
    assert "1/1 models" in said.stderr
    with Journal.read(folder / "journal.sqlite") as journal:
        assert len(journal.trials()[0]) == 1
    text = " ".join(said.stdout.split())
    assert "1 model with 100 canaries" in text
    assert "of 40 guesses on 100 canaries were right" in text
    assert " one-run-fdp " in text
    assert " one-run " in text
    saved = (folder / "config.toml").read_text()
    assert "canaries = 100" in saved
    assert "models" not in saved


def test_its_report_fulfils_the_schema_and_has_its_figures(done):
    folder, _ = done
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert list(Draft202012Validator(load_schema()).iter_errors(report)) == []
    assert report["guesses"].keys() == {"canaries", "guesses", "correct", "tied"}
    assert report["published"] == []
    assert {p.stem for p in (folder / "figures").iterdir()} == {"bounds", "scores"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "canaries apart" in page


def test_the_same_command_the_saved_file_and_report_show_the_same(done, cli):
    folder, first = done
    for words in (ONE_RUN, ["run", "--config", folder / "config.toml"], ["report"]):
        where = [folder] if words == ["report"] else ["--out", folder]
        shown = cli(*words, *where)
        assert shown.exit_code == 0, shown.output
        assert shown.stdout.partition("\nReport ")[0].rstrip() in first.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["report", "RUN", "--confidence", 0.9], "fixed-choice"),
        (["report", "RUN", "--attack", "loss"], "fixed-choice"),
        (["report", "RUN", "--estimator", "one-run"], "fixed-choice"),
        (["compare", "RUN", "--defence", "quantize:0.1"], "judged-otherwise"),
    ],
)
def test_nothing_else_may_judge_it(done, refused, words, code):
    said = refused(*(done[0] if word == "RUN" else word for word in words))
    said.tells(code, str(done[0]))


@pytest.mark.parametrize(
    ("more", "code", "facts"),
    [
        (["--models", 100], "excluded-options", "--canaries --models"),
        (["--until-decided"], "excluded-options", "until-decided"),
        (["--canaries", 700], "too-large", "700 650"),
        (["--guesses", 101], "too-large", "101 100"),
        (["--canary", "blank"], "one-canary-only", "blank --canary"),
        (["--adversary", "observer"], "excluded-options", "--adversary white-box"),
        (["--attack", "loss", "--attack", "updates"], "attack-chooses", "loss, updates"),
        (["--estimator", "one-run"], "excluded-options", "guesses estimator"),
        (["--defence", "quantize:0.1"], "excluded-options", "guesses defence"),
    ],
)
def test_what_cannot_be_one_run_is_refused(refused, more, code, facts):
    refused(*ONE_RUN, *more).tells(code, facts)


def test_your_own_function_cannot_be_given_gradients(refused):
    words = "run --mechanism my_module:train --claim 8,1e-5 --canaries 100"
    refused(*words.split()).tells("no-effect", "--canaries my_module:train")


def test_guesses_are_of_many_canaries(refused):
    refused("run", "--guesses", 10).tells("needs-option", "guesses --canaries")


def test_a_plan_of_the_saved_file_is_of_its_canaries(done, cli, tmp_path):
    folder, _ = done
    shown = cli("plan", "--config", folder / "config.toml", "--json", tmp_path / "plan.json")
    assert shown.exit_code == 0, shown.output
    planned = json.loads((tmp_path / "plan.json").read_text())
    assert {row["judging"] for row in planned["estimators"]} == {40}
