"""`dpaudit plan`: a table, a file and a figure, and what is refused in one sentence."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from dpaudit.accounting import gaussian_epsilon
from dpaudit.cli import plan as module
from dpaudit.estimators.bets import LOOK
from dpaudit.report import load_schema

CLAIM = ("--claim", "1,1e-5", "--true-epsilon", "6")


@pytest.fixture
def plan(cli):
    """The plan as it was printed, and as it was written."""

    def check(*words):
        done = cli("plan", *words, "--verbose", "--json", "p.json")
        assert done.exit_code == 0, done.output
        assert max(map(len, done.stdout.splitlines())) <= 80
        written = json.loads(Path("p.json").read_text())
        assert list(Draft202012Validator(load_schema("plan")).iter_errors(written)) == []
        return done.stdout, written

    return check


def cells(printed) -> dict[str, list[str]]:
    """Of the tables, by estimator: first those of the details, then those of the summary."""
    found: dict[str, list[str]] = {}
    for table in printed.split("\n---")[1:]:
        lines = table.partition("\n\n")[0].splitlines()[1:]
        for name, *rest in (re.split(r"\s{2,}", line.strip()) for line in lines):
            found[name] = found.get(name, []) + rest
    return found


def test_alone_it_plans_the_default_run(plan):
    printed, written = plan()
    assert written["claim"] == {"epsilon": 8.0, "delta": 1e-5, "curve": "dpsgd:0.256,234"}
    assert (written["models"], written["true_epsilon"], written["pace"]) == (1000, 16.0, None)
    assert "DP-SGD with sample rate 0.256 and 234 steps" in printed
    assert "(--true-epsilon)" in printed
    shown = cells(printed)
    assert list(shown) == ["clopper-pearson", "exact-scan", "rank-test", "paired-auc", "pld"]
    assert shown["clopper-pearson"][0] == "4.21"
    assert shown["exact-scan"][0] == "5.11"
    best = written["estimators"][written["best"]]
    assert best["estimator"] == "rank-test"
    assert f"(--models {best['for_power']})" in " ".join(printed.split())
    short = [e["estimator"] for e in written["estimators"] if e["ceiling"] < 8]
    assert short == ["clopper-pearson", "exact-scan"]
    assert " and ".join(short) in printed


@pytest.mark.parametrize("name", ["worst-case", "final-weights", "white-box"])
def test_where_the_adversary_fixes_the_score_all_models_judge(plan, name):
    words = ("--epsilon", 10, "--batch", "full", "--models", 40)
    printed, written = plan(*words, "--adversary", name)
    assert written["fixed_score"] is True
    ceilings = {row["estimator"]: row["ceiling"] for row in written["estimators"]}
    # As such runs of 40 models print them: all judge, but of counted errors half.
    assert ceilings["rank-test"] == pytest.approx(13.83, abs=0.01)
    assert ceilings["exact-scan"] == pytest.approx(2.55, abs=0.01)
    assert ceilings["clopper-pearson"] == pytest.approx(0.81, abs=0.01)
    assert f" --adversary {name})" in " ".join(printed.split())
    _, held_out = plan(*words)
    assert held_out["fixed_score"] is False


def test_single_steps_are_not_planned(refused):
    refused("plan", "--adversary", "per-step").tells("not-plannable", "per-step --steps")


def test_settings_of_the_run_change_the_plan(plan):
    _, written = plan("--epsilon", 2, "--true-epsilon", 9, "--batch", "full", "--models", 41)
    assert written["claim"] == {"epsilon": 2.0, "delta": 1e-5, "curve": "gaussian"}
    assert written["models"] == 44, "in fours"
    _, written = plan(
        "--noise-multiplier", 20, "--epochs", 1, "--batch", "full", "--true-epsilon", 9
    )
    assert written["claim"]["epsilon"] == pytest.approx(gaussian_epsilon(1 / 20, 1e-5))


def test_a_bare_claim_is_planned_without_data_and_curve(plan):
    printed, written = plan(*CLAIM, "--models", 200, "--target-bound", 2)
    assert written["claim"] == {"epsilon": 1.0, "delta": 1e-5, "curve": "none"}
    assert list(cells(printed)) == ["clopper-pearson", "exact-scan", "paired-auc"]
    assert {e["assumption"] for e in written["estimators"]} == {"none"}
    for row, found in zip(cells(printed).values(), written["estimators"], strict=True):
        assert row[1] == f"{found['for_claim']:,}"
        reach = found["for_reach"]
        assert row[2] == ("> 1e6" if reach is None else f"{reach:,}")
    assert written["true_curve"] == "gaussian"
    assert "Gaussian mechanism (--true-curve)" in printed
    assert ": --curve gaussian." in printed, "a claim that states it takes fewer"


def test_what_is_supposed_to_leak_is_said(plan):
    printed, written = plan(*CLAIM, "--true-curve", "pure")
    words = " ".join(printed.split())
    assert written["true_curve"] == "pure"
    assert words.count("randomized response") == 2, "in details and summary"
    assert "most leaking" in words
    assert "--curve" not in words.replace("--true-curve", "")
    printed, written = plan(*CLAIM, "--curve", "gaussian")
    assert written["true_curve"] == "gaussian"
    assert "claimed kind" in printed
    printed, written = plan(*CLAIM, "--true-curve", "dpsgd:0.1,200", "--models", 40)
    assert written["true_curve"] == "dpsgd:0.1,200"
    assert re.search(r"DP-SGD\b.* 0\.1 .* 200 ", printed)


def test_many_canaries_of_one_training(plan):
    words = ("--curve", "gaussian", "--canaries", 400, "--guesses", 100)
    printed, written = plan(*CLAIM, *words)
    assert (written["models"], written["canaries"]) == (None, 400)
    assert "400 in one training, each put in by a coin; 100 guessed" in printed
    assert list(cells(printed)) == ["one-run", "one-run-fdp"]
    assert "--probe" not in printed


def test_what_holds_for_so_many_guesses_names_them(plan):
    words = ("--claim", "2.8,1e-5", "--true-epsilon", 4, "--curve", "gaussian", "--canaries", 1000)
    printed, written = plan(*words, "--guesses", 50)
    said = " ".join(printed.split())
    one_run, by_curve = written["estimators"]
    assert one_run["ceiling"] < 2.8 < by_curve["ceiling"]
    assert "1,000 canaries and 50 guesses, one-run can" in said
    assert said.count("50 guesses") == 2, "the chance is that of so many, too"
    printed, written = plan(*words)
    said = " ".join(printed.split())
    one_run, by_curve = written["estimators"]
    assert f": {one_run['judging']} by one-run, {by_curve['judging']} by one-run-fdp" in said
    assert one_run["ceiling"] > 2.8
    assert "one-run can" not in said
    assert "--curve" not in said.replace("--true-curve", ""), "it was stated"
    printed, written = plan(*CLAIM, "--curve", "gaussian", "--canaries", 400)
    best = written["estimators"][written["best"]]
    advice = printed.rpartition("Next")[2]
    assert re.search(rf" {best['for_power']} canaries .* {best['guesses']} of", advice)


def test_a_score_that_is_fixed_has_an_attack_to_be_named(plan):
    printed, written = plan(*CLAIM, "--fixed-score", "--models", 100)
    assert written["fixed_score"]
    assert "--attack NAME)" in " ".join(printed.split())
    assert [e["judging"] for e in written["estimators"]] == [25, 50, 50]


def test_nothing_that_has_the_chance_is_said_so(plan):
    printed, written = plan("--claim", "20,1e-5", "--true-epsilon", "21", "--models", 8)
    assert written["best"] is None
    assert all(row["for_power"] is None for row in written["estimators"])
    advice = printed.rpartition("Next")[2]
    assert "80 %" in advice
    assert "(--true-epsilon)" in advice


def test_a_probe_trains_a_few_models_and_tells_the_time(plan, npz):
    run = ("--mechanism", "leaky", "--data", npz, "--canary", "random", "--models", 40)
    printed, written = plan(*run, *CLAIM, "--probe", "--workers", 2)
    pace = written["pace"]
    assert 2 <= pace["probed"] <= 16
    assert pace["workers"] == 2
    assert pace["total"] == pytest.approx(pace["seconds"] * 20)
    assert "40 take about" in printed
    words = " ".join(printed.split())
    assert "in 2 processes" in words
    assert re.search(r"half of audits stop after \d+ models \(about [^)]+\), 80 %", words)


@pytest.mark.parametrize("curve", ["none", "gaussian"])
def test_what_is_stopped_when_decided_is_stopped_at_a_look(plan, curve):
    printed, written = plan(*CLAIM, "--curve", curve, "--models", 40)
    found = written["until_decided"]
    assert found["half"] % LOOK == found["power"] % LOOK == 0
    said = " ".join(printed.split())
    assert f"every {LOOK} models" in said
    assert ("best threshold" in said) == (curve == "none")


@pytest.mark.parametrize("name", ["p.png", "p.svg"])
def test_a_figure_is_drawn(plan, name):
    plan(*CLAIM, "--curve", "gaussian", "--models", 40, "--figure", name)
    start = b"\x89PNG" if name.endswith("png") else b"<svg"
    assert Path(name).read_bytes().startswith(start)
    if name.endswith("svg"):
        assert b"mathdefault" not in Path(name).read_bytes()


UNPLANNED = [
    ("--claim one", "no-claim", "'one' 8,1e-5"),
    ("--claim 1,1e-5 --true-epsilon 0.5", "too-small", "0.5 1"),
    ("--claim 1,1e-5 --power 80", "out-of-range", "power 0 1 80.0"),
    ("--claim 1,1e-5 --models 0", "too-small", "models 4 0"),
    ("--claim 1,1e-5 --curve laplace", "unknown-choice", "curve 'laplace'"),
    ("--claim 1,1e-5 --true-curve none", "unknown-choice", "pure gaussian 'none'"),
    ("--claim 1,0 --curve gaussian", "out-of-range", "delta 0 1 0.0"),
    ("--claim 1,1e-5 --guesses 5", "needs-option", "guesses canaries"),
    ("--claim 1,1e-5 --canaries 9 --models 8", "excluded-options", "--canaries --models"),
    ("--claim 1,1e-5 --canaries 9 --fixed-score", "excluded-options", "--fixed-score"),
    ("--claim 4,1e-5 --epsilon 4", "excluded-options", "--epsilon --claim"),
    ("--claim 1,1e-5 --json a.svg --figure a.svg", "same-file", "--json --figure"),
    ("--mechanism my:train", "needs-claim", "my:train --claim"),
    ("--mechanism nothing", "unknown-name", "'nothing'"),
    ("--data nowhere", "unknown-name", "nowhere"),
    ("--epsilon -1", "not-positive", "epsilon 0 -1.0"),
]


def test_what_cannot_be_planned_is_refused(refused):
    for words, code, facts in UNPLANNED:
        refused("plan", *words.split()).tells(code, facts)


def test_a_missing_module_is_refused_before_anything_is_planned(refused, monkeypatch):
    from dpaudit.judging import plan as planning

    monkeypatch.delattr(planning, "plan")
    said = refused("plan", "--mechanism", "nope:train", "--claim", "1,1e-5", "--probe")
    said.tells("module-missing", "nope")


def test_a_probe_starts_where_the_adversary_does(plan, npz):
    run = ["--adversary", "white-box", "--network", "logreg", "--batch", "full"]
    _, written = plan(*run, "--data", npz, "--probe", "--workers", 1)
    assert written["pace"]["probed"] >= 2


def test_a_plan_without_a_probe_imports_nothing_that_trains():
    script = """
import sys
from click.testing import CliRunner
from dpaudit.cli import main
for words in ("plan --help", "plan --claim 1,1e-5", "plan --true-epsilon 30 --models 8"):
    assert CliRunner().invoke(main, words.split()).exit_code == 0, words
print(sorted({"torch", "opacus", "matplotlib"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


def test_settings_are_those_of_a_run():
    from dpaudit.cli import run

    mine, theirs = ({p.name for p in c.command.params} for c in (module, run))
    judging = {"attack", "estimator", "defence", "primary", "raw_scores"}
    showing = {"out", "cluster", "html", "sarif", "junit", "no_canary_image"}
    failing = {"fail_on_violation", "fail_on_weak"}
    stopping = {"until_decided", "time_limit"}
    assert theirs - mine == judging | showing | failing | stopping
