"""Randomized response from the command line."""

import json
from pathlib import Path

import pytest
from refusals import Line

from dpaudit import registry
from dpaudit.config import Config

RUN = ["run", "--mechanism", "randomized-response", "--workers", "1", "--out", "out"]


def test_its_defaults_refute_the_paper_and_the_same_line_goes_on(cli, npz):
    done = cli(*RUN, "--data", npz, "--verbose")
    assert done.exit_code == 0, done.stderr
    report = json.loads(Path("out/report.json").read_text())
    assert report["verdict"] == "VIOLATION"
    assert report["claim"]["epsilon"] == pytest.approx(1.0986, abs=1e-4)
    assert report["claim"]["unit"] == "one report"
    assert report["claim"]["adjacency"] == "replace"
    assert report["canary"]["name"] == "replaced"
    assert {bound["attack"] for bound in report["bounds"]} == {"reported-value"}
    assert "4,000 given" in done.stdout
    assert "trained" not in done.stdout

    kept = Path("out/journal.sqlite").read_bytes()
    config = Config.from_toml(Path("out/config.toml"))
    assert "matrix=blended" in config.target.set
    assert "reports=1" in config.target.set
    again = cli("run", "--config", "out/config.toml", "--out", "out")
    assert again.exit_code == 0, again.stderr
    assert Path("out/journal.sqlite").read_bytes() == kept
    config = Path("out/config.toml")
    config.write_text(config.read_text().replace("reported-value", "report"))
    for words in (
        ("run", "--config", config, "--out", "out"),
        ("report", "out", "--attack", "report"),
    ):
        registry.current_name.cache_clear()
        older = cli(*words)
        assert older.exit_code == 0, older.stderr
        assert older.stderr.count("'reported-value'") == 1
    assert Path("out/journal.sqlite").read_bytes() == kept
    other = cli("run", "--config", "out/config.toml", "--out", "out", "--set", "theta=1")
    assert other.exit_code == 2
    assert "holds a run of another configuration (set: " in other.stderr


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("--set matrx=grr:1", "unknown-name", "'matrx' randomized-response"),
        ("--set matrix=blend", "unknown-name", "'blend' 'blended'"),
        ("--epsilon 2", "no-effect", "--epsilon randomized-response"),
        ("--samples 2 --batch full", "no-effect", "randomized-response"),
        ("--canary random", "other-adjacency", "replace add-remove"),
        ("--attack laplace", "not-released", "laplace"),
    ],
)
def test_what_it_cannot_take_is_refused_before_anything_is_written(cli, npz, words, code, facts):
    done = cli(*RUN, "--data", npz, *words.split())
    assert done.exit_code == 2
    Line(done.stderr.splitlines()[-1]).tells(code, facts)
    assert list(Path().iterdir()) == []


def test_settings_of_its_own_are_not_those_of_others(cli, npz):
    done = cli("run", "--data", npz, "--set", "matrix=blended")
    assert done.exit_code == 2
    assert "dpsgd has no settings of its own; leave --set matrix out" in done.stderr


def test_it_is_explained_with_its_claim_its_paper_its_flaw_and_its_settings(cli):
    told = cli("explain", "randomized-response").stdout
    for part in ("The claim", "The flaw", "Takagi, Cao and Yoshikawa", "--set matrix=blended"):
        assert part in told
