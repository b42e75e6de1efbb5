"""Laplace networks, and raw scores, from the command line."""

import json
from pathlib import Path

import pytest
from refusals import Line

RUN = ["run", "--workers", "1", "--out", "out", "--models", "400"]
SHIFTED = ["--mechanism", "laplace-learning-first", "--set", "shift=0.1", "--set"]


def reported(path="out/report.json"):
    return json.loads(Path(path).read_text())


@pytest.mark.parametrize(
    ("words", "verdict", "unit"),
    [
        ("laplace-learning-first --set shift=0.3", "VIOLATION", "whole model"),
        ("laplace-learning-first --set unit=parameter", "NO_VIOLATION_FOUND", "each parameter"),
        ("laplace-anonymizing-first", "NO_VIOLATION_FOUND", "whole model"),
        ("laplace-anonymized-learning --models 100", "VIOLATION", "whole model"),
        ("laplace-anonymized-learning --set later=10", "VIOLATION", "each parameter"),
    ],
)
def test_each_of_them_is_audited_with_its_unit(cli, npz, words, verdict, unit):
    done = cli(*RUN, "--data", npz, "--mechanism", *words.split())
    assert done.exit_code == 0, done.stderr
    report = reported()
    assert (report["verdict"], report["claim"]["unit"]) == (verdict, unit)
    assert report["claim"]["adjacency"] == "replace"
    assert {bound["attack"] for bound in report["bounds"]} == {"laplace"}
    assert report["warnings"] == []


def test_the_same_line_goes_on_from_what_was_foreseen(cli, npz):
    line = [*RUN, "--data", npz, "--mechanism", "laplace-learning-first", "--epochs", "2"]
    assert cli(*line).exit_code == 0
    first = reported()
    assert cli(*line).exit_code == 0
    again = reported()
    assert first["bounds"] == again["bounds"]
    assert "exactly epsilon" in first["deployment"]


def test_what_has_an_effect_is_not_refused_nor_are_defaults_of_a_saved_configuration(cli, npz):
    """A saved configuration has all settings, also those that its own ones make idle."""
    line = ["--data", npz, "--mechanism", "laplace-learning-first", "--set", "shift=0.2"]
    assert cli(*RUN, *line).exit_code == 0
    again = cli("run", "--config", "out/config.toml", "--out", "out", "--set", "shift=0.2")
    assert again.exit_code == 0, again.stderr
    trained = ["laplace-anonymizing-first", "--set", "trained=true", "--epochs", "1"]
    assert cli(*RUN[:-1], "8", "--data", npz, "--out", "o", "--mechanism", *trained).exit_code == 0


def test_raw_scores_are_shown_named_and_off_by_default(cli, npz):
    """One parameter that leaks .1 in truth, and far more by the low bits of its noise."""
    line = [*RUN, "--data", npz, *SHIFTED, "parameters=1", "--models", "2000"]
    done = cli(*line)
    assert "side channel" not in done.stdout
    assert reported()["bounds"][0]["epsilon"] < 0.3
    looked = cli("report", "out", "--raw-scores", "--json", "raw.json")
    assert looked.exit_code == 0, looked.stderr
    raw = reported("raw.json")
    assert raw["warnings"][0].startswith("floating-point side")
    assert "(--raw-scores)" in raw["warnings"][0]
    assert "side channel" in looked.stdout
    assert "floating-point noise" in raw["next_steps"][0]
    assert raw["looks"] == 2
    assert raw["bounds"][0]["epsilon"] > 1
    cli(*[word if word != "out" else "other" for word in line], "--raw-scores")
    assert reported("other/report.json")["bounds"][0]["epsilon"] > 1
    assert "raw_scores = true" in Path("other/config.toml").read_text()
    assert "raw_scores" not in Path("out/config.toml").read_text()
    cli("report", "other", "--no-raw-scores", "--json", "rounded.json")
    assert reported("rounded.json")["warnings"] == []


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("laplace-learning-first --set shift=2", "out-of-range", "shift 0 1"),
        ("laplace-learning-first --set weights=1", "malformed", "'1' weights"),
        ("laplace-learning-first --delta 1e-6", "no-effect", "--delta laplace-learning-first"),
        ("laplace-learning-first --canary random", "other-adjacency", "replace add-remove"),
        (
            "laplace-learning-first --canary adv-maxloss",
            "unfit-plug-in",
            "adv-maxloss recipe canaries",
        ),
        ("laplace-learning-first --attack loss", "not-released", "loss"),
        ("laplace-anonymized-learning --set k=3", "unknown-name", "'k'"),
        ("laplace-anonymizing-first --set k=900", "too-large", "k 50 900"),
        (
            "laplace-learning-first --raw-scores --until-decided",
            "excluded-options",
            "raw-scores until-decided",
        ),
        (
            "laplace-learning-first --set shift=0.1 --epochs 3",
            "no-effect",
            "--epochs shift",
        ),
        (
            "laplace-learning-first --set shift=0.1 --set hidden=2",
            "no-effect",
            "--set hidden shift",
        ),
        (
            "laplace-anonymized-learning --set later=1 --set clipped=sum",
            "no-effect",
            "--set clipped later",
        ),
        (
            "laplace-anonymizing-first --lr 0.1",
            "no-effect",
            "--lr --set trained=true",
        ),
        ("randomized-response --raw-scores", "no-raw-scores", "reported-value"),
    ],
)
def test_what_they_cannot_take_is_refused_before_anything_is_written(cli, npz, words, code, facts):
    done = cli(*RUN, "--data", npz, "--mechanism", *words.split())
    assert done.exit_code == 2
    Line(done.stderr.splitlines()[-1]).tells(code, facts)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["anonymizing-first", "learning-first", "anonymized-learning"])
def test_each_is_explained_with_its_claim_its_paper_its_flaw_and_its_settings(cli, name):
    told = cli("explain", f"laplace-{name}").stdout
    for part in ("The claim", "The flaw", "Sei and Ohsuga", "--set hidden=3"):
        assert part in told
