"""Tests of the bounds' tightness: every row is measured, kept results are those of the page."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from click.testing import CliRunner

from dpaudit.audit import Run
from dpaudit.executors import SerialExecutor
from dpaudit.report.formats import at_least

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results"


@pytest.fixture
def tightness():
    return import_module("reproductions.tightness.run")


def test_every_bar_of_tightness_is_there(tightness):
    bars = {
        (row.game.name, row.per_world, row.estimator): row.bar
        for row in tightness.rows()
        if row.bar is not None
    }
    assert bars == {
        ("per-step 10 1", None, "paired-auc"): 0.78,
        ("per-step 10 4", None, "paired-auc"): pytest.approx(0.85 * 4),
        ("per-step 10 8", None, "paired-auc"): pytest.approx(0.80 * 8),
        ("worst-case full 10", 100, "rank-test"): 7.0,
        ("worst-case full 10", 500, "rank-test"): 8.5,
        ("worst-case full 10", 2_000, "rank-test"): 9.3,
        ("worst-case full 10", 1_000, "exact-scan"): 3.2,
        ("worst-case full 1", 2_000, "rank-test"): 0.65,
        ("worst-case full 2", 2_000, "rank-test"): 1.6,
        ("worst-case full 4", 2_000, "rank-test"): 3.5,
        ("white-box full 8", None, "one-run"): 2.5,
        ("white-box full 8", None, "one-run-fdp"): 4.2,
        ("white-box 100 8", 2_000, "rank-test"): pytest.approx(0.85 * 8),
    }


def test_a_bar_of_tightness_is_held_against_the_mean_and_only_in_full(tightness):
    row = tightness.rows()[0]
    assert tightness.Measured(row, [0.77, 0.79], 1.0).verdict == "0.78 met"
    assert tightness.Measured(row, [0.77, 0.78], 1.0).verdict == "0.78 MISSED"
    assert tightness.Measured(row.scaled(0.5), [0.77], 1.0).verdict == "-"


def test_a_bound_of_tightness_is_printed_rounded_down(tightness):
    shown = tightness.line(tightness.Measured(tightness.rows()[0], [0.7799, 0.9073], 1.0), 2)
    assert shown.split()[-6:] == ["0.84", "0.77", "0.90", "0.78", "met", "1"]


def test_the_page_on_tightness_has_what_is_kept(tightness):
    text = (ROOT / "docs/tightness.md").read_text()
    page = {" ".join(line.split()) for line in text.splitlines()}
    digits = json.loads((RESULTS / "digits.json").read_text())
    mnist = json.loads((RESULTS / "mnist.json").read_text())["parts"]
    assert len(digits["rows"]) == len(tightness.rows())
    for one in (row for part in (digits, *mnist) for row in part["rows"]):
        row = tightness.Row(**{**one["row"], "game": tightness.Game(**one["row"]["game"])})
        *shown, _ = tightness.line(tightness.Measured(row, one["bounds"], 0), 5).split()
        assert " ".join(shown) in page
    often = json.loads((RESULTS / "mnist_one_run.json").read_text())["rows"]
    means = [at_least(fmean(row["bounds"])) for row in often]
    others = [at_least(fmean(row["bounds"][5:])) for row in often]
    for one, other in (means, others):
        assert f"{one} and {other}" in " ".join(text.split())


def test_the_readme_has_the_kept_bounds_of_tightness():
    """It names the means of the first and the last number of models against a claim of 10."""
    kept = json.loads((RESULTS / "digits.json").read_text())["rows"]
    means = {
        one["row"]["per_world"]: at_least(np.mean(one["bounds"]))
        for one in kept
        if one["row"]["game"]["adversary"] == "worst-case"
        and one["row"]["game"]["epsilon"] == 10
        and one["row"]["estimator"] == "rank-test"
    }
    said = " ".join((ROOT / "README.md").read_text().split())
    assert f"certifies {means[100]} with 100 + 100 models and {means[2000]} with 2,000" in said


def test_bounds_above_the_claim_are_told(tightness):
    measured = tightness.Measured(tightness.rows()[0], [0.9, 1.1, 1.0], 1.0)
    fewer = replace(measured, row=replace(measured.row, estimator="exact-scan"))
    told = "1 of 3 trainings have a bound above their claim; so many or more have a chance of 0.14"
    assert tightness.exceeding([measured, fewer]).startswith(told)


def test_no_two_trainings_of_tightness_share_a_seed(tightness):
    games = {row.game for row in tightness.rows()}
    seeds = {game.settings({}, i)["seed"] for game in games for i in range(5)}
    assert len(seeds) == 5 * len(games)


@pytest.fixture
def play(tightness, tmp_path):
    """Plays one repetition of a row, and judges it."""

    def bound(row):
        with ThreadPoolExecutor(1) as pool:
            journal = tightness.played(row.game, {"data": "digits"}, 0, tmp_path, pool)
        ((bound, seconds),) = tightness.judged(journal, [row])
        assert seconds > 0
        return journal.parent, bound

    return bound


def test_the_first_models_of_many_are_judged_as_a_run_of_so_many_is(tightness, play):
    of_many, of_few = (tightness.Game("worst-case", 10, per_world=n) for n in (6, 4))
    _, first = play(tightness.Row(of_many, 4, "rank-test"))
    alone, same = play(tightness.Row(of_few, 4, "rank-test"))
    told = Run(alone).judge()
    assert first == same == told.bounds[told.primary].epsilon


def test_single_steps_are_trials_of_two_trainings(tightness, play):
    name = "per-step 10 1"
    (row,) = [r.scaled(0.02) for r in tightness.rows() if r.game.name == name]
    folder, bound = play(row)
    told = Run(folder).judge()
    assert bound == told.bounds[told.primary].epsilon
    assert told.models["in"] == row.game.steps == 100


def test_many_canaries_are_guessed_in_one_training(tightness, tmp_path):
    wanted = [r.scaled(0.02) for r in tightness.rows() if r.game.name == "white-box full 8"]
    with ThreadPoolExecutor(1) as pool:
        journal = tightness.played(wanted[0].game, {"data": "digits"}, 0, tmp_path, pool)
    found = [bound for bound, _ in tightness.judged(journal, wanted)]
    told = Run(journal.parent).judge()
    assert (told.guesses.canaries, told.guesses.guesses) == (20, 4)
    assert found == [{b.estimator: b.epsilon for b in told.bounds}[r.estimator] for r in wanted]


def test_tightness_prints_writes_draws_and_goes_on(tightness, tmp_path, monkeypatch):
    monkeypatch.setattr("dpaudit.executors.local_pool", lambda workers: SerialExecutor())
    words = ["--only", "worst-case full 10", "--scale", "0.002", "--repetitions", "2"]
    words += ["--keep", tmp_path, "--json", tmp_path / "a.json", "--figure", tmp_path / "a.png"]
    tables = []
    for _ in range(2):
        done = CliRunner().invoke(tightness.main, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        tables.append(json.loads((tmp_path / "a.json").read_text())["rows"])
    first, again = ([one["bounds"] for one in table] for table in tables)
    assert first == again
    assert [len(bounds) for bounds in first] == [2, 2, 2, 2]
    assert done.output.count("worst-case ") == 4
    assert len(list((tmp_path / "digits").iterdir())) == 2


def test_models_are_cut_into_small_audits_that_share_none(tightness, tmp_path, monkeypatch):
    judged = import_module("reproductions.tightness.judged")
    game = tightness.Game("worst-case", 10, per_world=10)
    with ThreadPoolExecutor(1) as pool:
        journal = tightness.played(game, {"data": "digits"}, 0, tmp_path, pool)
    monkeypatch.setattr(judged, "SMALL", 4)
    models = judged.Models.of(journal)
    bounds = [models.bound(i, i + 4, "rank-test") for i in (0, 4)]
    above = judged.small(replace(game, epsilon=min(bounds)), [journal])
    assert (above.audits, above.above["rank-test"]) == (2, len(set(bounds)) - 1)


def test_more_small_audits_above_the_claim_than_chance_has_it_are_told(tightness):
    Small = import_module("reproductions.tightness.judged").Small
    game = tightness.Game("worst-case", 10)
    told = [Small(game, 200, {"rank-test": n}) for n in (21, 22)]
    assert [one.allowed for one in told] == [21, 21]
    assert [one.held for one in told] == [True, False]
    assert "rank-test 22 of 200; at most 21: NOT HELD" in told[1].line()


def test_what_is_not_measured_is_refused(tightness, monkeypatch, tmp_path):
    monkeypatch.setenv("DPAUDIT_DATA", str(tmp_path))
    for words, told in {("--only", "nobody"): "'nobody'", ("--data", "mnist"): "mnist_12k"}.items():
        done = CliRunner().invoke(tightness.main, words)
        assert done.exit_code == 2
        assert told in done.output


def test_a_checkpoint_is_held_against_the_bar_of_its_training(tmp_path, monkeypatch):
    checkpoint = import_module("reproductions.tightness.checkpoint")
    by_heart, private = checkpoint.CASES
    assert (by_heart.verdict(2.1), by_heart.verdict(2.0)) == ("> 2 met", "> 2 MISSED")
    assert (private.verdict(0.9), private.verdict(1.0)) == ("< 1 met", "< 1 MISSED")
    monkeypatch.setattr(checkpoint, "EPOCHS", 40)
    words = ["--canaries", "60", "--repetitions", "1", "--kind", "random"]
    done = CliRunner().invoke(checkpoint.main, [*words, "--json", str(tmp_path / "a.json")])
    assert done.exit_code == 0, done.output
    first, second = json.loads((tmp_path / "a.json").read_text())
    assert first["bound"] > second["bound"]
    assert done.output.count(" random ") == 2
