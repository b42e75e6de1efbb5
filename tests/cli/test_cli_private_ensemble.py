"""Private ensembles from the command line."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from refusals import Line

RUN = ["run", "--mechanism", "private-ensemble", "--workers", "1", "--out", "out"]


def report():
    return json.loads(Path("out/report.json").read_text())


def test_it_brings_its_data_canary_and_attack_and_the_same_line_goes_on(cli):
    done = cli(*RUN, "--models", "400")
    assert done.exit_code == 0, done.stderr
    found = report()
    assert found["verdict"] == "NO_VIOLATION_FOUND"
    assert found["claim"]["epsilon"] == 4.0
    assert found["data"]["name"] == "sphere"
    assert found["data"]["organisations"] == 16
    assert found["canary"]["name"] == "corner"
    assert {bound["attack"] for bound in found["bounds"]} == {"learner"}
    assert 0.3 < found["bounds"][0]["epsilon"] < 4

    kept = Path("out/journal.sqlite").read_bytes()
    again = cli("run", "--config", "out/config.toml", "--out", "out")
    assert again.exit_code == 0, again.stderr
    assert Path("out/journal.sqlite").read_bytes() == kept


def test_a_run_that_was_cut_off_goes_on_with_the_data_that_were_crafted(cli):
    done = cli(*RUN, "--models", "80")
    assert done.exit_code == 0, done.stderr
    whole = report()["bounds"]
    with closing(sqlite3.connect("out/journal.sqlite")) as journal:
        for table in ("trials", "seen"):
            journal.execute(f"DELETE FROM {table} WHERE idx >= 10")
        journal.commit()
    again = cli(*RUN, "--models", "80")
    assert again.exit_code == 0, again.stderr
    assert report()["bounds"] == whole


def test_what_an_aggregate_tells_of_its_receiver_is_no_violation(cli):
    done = cli(
        *RUN, "--models", "200", "--set", "target=receiver", "--fail-on-violation", "--verbose"
    )
    assert done.exit_code == 0, done.stderr
    assert "NO CLAIM: the leak is at least" in done.stdout
    assert "not publish" in done.stdout
    assert report()["verdict"] == "NO_GUARANTEE_CLAIMED"
    assert report()["claim"]["epsilon"] is None


def test_who_promises_it_all_the_same_is_refuted(cli):
    done = cli(
        *RUN, "--models", "400", "--set", "target=receiver", "--claim", "4,0", "--fail-on-violation"
    )
    assert done.exit_code == 1
    assert report()["verdict"] == "VIOLATION"


def test_the_user_s_own_rows_are_taken_if_they_are_scaled(cli, npz):
    done = cli(*RUN, "--data", npz, "--canary", "replaced", "--models", "80", "--set", "bound=2")
    assert done.exit_code == 0, done.stderr
    assert report()["data"]["records_of_each"] == 3


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("--set target=all", "unknown-choice", "'all' target"),
        ("--set organisation=2", "unknown-name", "'organisations'"),
        ("--set lam=much", "wrong-type", "'much' lam private-ensemble"),
        ("--set features=1", "no-difference", "corner features=2"),
        ("--data digits", "too-long", "1000 1"),
        ("--canary mislabelled", "other-adjacency", "replace add-remove"),
        ("--attack loss", "not-released", "loss"),
        ("--batch full", "no-effect", "--batch private-ensemble"),
        ("--set organisations=5000", "too-few-records", "5000 2 3338"),
    ],
)
def test_what_it_cannot_take_is_refused_before_anything_is_written(cli, words, code, facts):
    done = cli(*RUN, *words.split())
    assert done.exit_code == 2
    Line(done.stderr.splitlines()[-1]).tells(code, facts)
    assert list(Path().iterdir()) == []


def test_it_is_explained_with_its_claim_its_paper_its_flaw_and_its_settings(cli):
    told = cli("explain", "private-ensemble").stdout
    for part in ("The claim", "The flaw", "Minami, Sato, Arai and Nakagawa", "--set lam=0.005"):
        assert part in told
