"""`dpaudit run --until-decided`, from the command line to the page."""

import json
import random
import time

import pytest
from jsonschema import Draft202012Validator

from dpaudit.cli.run import seconds as read_seconds
from dpaudit.journal import Journal
from dpaudit.report import load_schema

UNTIL = ["--until-decided", "--epsilon", 1, "--models", 400, "--workers", 1]


@pytest.fixture(scope="module")
def decided(shell, command, tmp_path_factory):
    """A run that its claim does not survive, and what it said."""
    folder = tmp_path_factory.mktemp("runs") / "decided"
    return folder, shell(*command, *UNTIL, "--verbose", "--out", folder)


def models(folder):
    with Journal.read(folder / "journal.sqlite") as journal:
        return len(journal.trials()[0])


def test_it_stops_early_and_says_why(decided):
    folder, done = decided
    assert done.returncode == 0, done.stderr
    assert models(folder) < 400
    said = " ".join(done.stdout.split())
    assert f"stopped after {models(folder)} models, because the claim was refuted" in said
    assert "REFUTED: " in said
    assert "until_decided = true" in (folder / "config.toml").read_text()


def test_progress_shows_the_evidence_grow(decided):
    folder, done = decided
    assert f"{models(folder)}/400 models, evidence " in done.stderr
    assert " of 20" in done.stderr


def test_its_report_fulfils_the_schema_and_has_the_figure(decided):
    folder, _ = decided
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert list(Draft202012Validator(load_schema()).iter_errors(report)) == []
    growth = report["growth"]
    assert growth["models"][-1] == models(folder)
    assert max(growth["wealth"]) >= growth["needed"] == pytest.approx(20)
    assert growth["most"] == 400
    assert {p.stem for p in (folder / "figures").iterdir()} == {"bounds", "evidence", "canary"}
    assert "Evidence against" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_same_command_plays_no_more_and_report_shows_the_same(decided, cli, command):
    folder, done = decided
    before = models(folder)
    again = cli(*command, *UNTIL, "--out", folder)
    shown = cli("report", folder)
    assert models(folder) == before
    for other in (again, shown):
        assert other.exit_code == 0, other.output
        assert other.stdout.partition("\nReport ")[0].rstrip() in done.stdout


def test_a_run_killed_at_any_instant_stops_where_it_would_have(decided, shell, command, tmp_path):
    """At random instants (of a fixed seed) before and after its first bet."""
    folder, instants = tmp_path / "run", random.Random(5)
    for reached in (4, 34):
        process = shell.start(*command, *UNTIL, "--out", folder, pause=0.03)
        shell.until(process, rf"^({'|'.join(map(str, range(reached, 60)))})/400 models")
        time.sleep(instants.uniform(0.0, 0.2))
        process.kill()
        process.communicate()
    assert 34 <= models(folder) < models(decided[0])
    done = shell(*command, *UNTIL, "--out", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.partition("\nReport ")[0].rstrip() in decided[1].stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["report", "RUN", "--attack", "loss"], "fixed-choice"),
        (["report", "RUN", "--estimator", "clopper-pearson"], "fixed-choice"),
        (["compare", "RUN", "--defence", "quantize:0.1"], "judged-otherwise"),
    ],
)
def test_nothing_else_may_judge_it(decided, refused, words, code):
    said = refused(*(decided[0] if word == "RUN" else word for word in words))
    said.tells(code, str(decided[0]))


IMPOSSIBLE = [
    (["--time-limit", "10m"], "no-effect", "--time-limit --until-decided"),
    (
        ["--until-decided", "--time-limit", "soon"],
        "no-time",
        "'soon' 90s 10m 1h30m",
    ),
    (["--until-decided", "--time-limit", "0m"], "no-time", "'0m'"),
    (["--until-decided", "--time-limit", "-5m"], "no-time", "'-5m'"),
    (["--until-decided", "--time-limit", "10"], "no-time", "'10'"),
    (["--until-decided", "--models", "20"], "cannot-refute", "20 8"),
    (["--until-decided", "--time-limit", "30m1h"], "no-time", "'30m1h'"),
    (["--until-decided", "--time-limit", ""], "no-time", "''"),
    (["--until-decided", "--primary", "loss"], "excluded-options", "primary"),
    (["--until-decided", "--estimator", "rank-test"], "excluded-options", "estimator"),
]


def test_what_cannot_be_is_refused_in_one_sentence(refused, command):
    for words, code, facts in IMPOSSIBLE:
        refused(*command, *words).tells(code, facts)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("1h30m", 5400)]
)
def test_a_budget_is_a_time(text, seconds):
    assert read_seconds(text) == seconds
