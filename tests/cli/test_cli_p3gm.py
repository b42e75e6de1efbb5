"""P3GM and its parts from the command line."""

import json
from pathlib import Path

import pytest
from refusals import Line

from dpaudit.config import Config

OUT = ["--workers", "1", "--out", "out"]
PCA = ["run", "--mechanism", "p3gm-pca", *OUT]
SMALL = ["--set", "hidden=8", "--set", "rows=50", "--set", "latent=4", "--epochs", "1"]
WHOLE = ["run", "--mechanism", "p3gm", "--models", "8", *OUT, *SMALL]


def reported():
    return json.loads(Path("out/report.json").read_text())


def test_wishart_noise_is_refuted_and_the_same_line_goes_on(cli, npz):
    done = cli(*PCA, "--data", npz, "--set", "epsilon_pca=1", "--models", "600", "--verbose")
    assert done.exit_code == 0, done.stderr
    report = reported()
    assert report["verdict"] == "VIOLATION"
    assert (report["claim"]["epsilon"], report["claim"]["delta"]) == (1, 0)
    assert report["canary"]["name"] == "opposites"
    assert {bound["attack"] for bound in report["bounds"]} == {"second-moment"}
    assert "600 made" in done.stdout
    assert "trained" not in done.stdout.split("to do next")[0]
    assert "is one-sided" in " ".join(done.stdout.split())

    kept = Path("out/journal.sqlite").read_bytes()
    assert "noise=wishart" in Config.from_toml(Path("out/config.toml")).target.set
    again = cli("run", "--config", "out/config.toml", "--out", "out")
    assert again.exit_code == 0, again.stderr
    assert Path("out/journal.sqlite").read_bytes() == kept


def test_the_gaussian_correction_is_not_refuted(cli, npz):
    done = cli(*PCA, "--data", npz, "--set", "noise=gaussian", "--models", "400")
    assert done.exit_code == 0, done.stderr
    assert reported()["verdict"] == "NO_VIOLATION_FOUND"
    assert reported()["claim"]["curve"]["mu"] > 0


def test_published_em_is_refuted_and_the_safe_one_is_not(cli, npz):
    words = ["run", "--data", npz, "--mechanism", "p3gm-em", "--workers", "1", "--models", "100"]
    words += ["--set", "latent=4", "--set", "iterations=4"]
    for variant, verdict in (("published", "VIOLATION"), ("safe", "NO_VIOLATION_FOUND")):
        done = cli(*words, "--set", f"variant={variant}", "--out", variant)
        assert done.exit_code == 0, done.stderr
        assert json.loads(Path(variant, "report.json").read_text())["verdict"] == verdict


def test_the_whole_generator_is_audited_by_what_it_draws_and_knows(cli, npz):
    done = cli(*WHOLE, "--data", npz, "--noise-multiplier", "8")
    assert done.exit_code == 0, done.stderr
    report = reported()
    assert {b["attack"] for b in report["bounds"]} == {"nearest", "reconstruction", "elbo"}
    assert report["backend"]["name"] == "torch"
    assert report["training"]["noise_multiplier"] == 8


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("--mechanism p3gm-pca --set noise=laplace", "unknown-choice", "noise"),
        ("--mechanism p3gm-pca --epsilon 2", "no-effect", "--epsilon p3gm-pca"),
        ("--mechanism p3gm-pca --set epsilon_pca=much", "wrong-type", "epsilon_pca 'much'"),
        ("--mechanism p3gm-pca --canary random", "other-adjacency", "replace add-remove"),
        ("--mechanism p3gm-em --set components=0", "several-problems", "components 0 latent"),
        ("--mechanism p3gm --set epsilon_pca=9 --set latent=3", "budget-spent", "epsilon 1"),
        ("--mechanism p3gm", "too-large", "latent 6 10"),
        (
            "--mechanism p3gm --set model=vae --set latent=3 --attack subspace",
            "not-released",
            "subspace needs",
        ),
        ("--mechanism p3gm --dropout 0.5", "no-effect", "--dropout p3gm"),
    ],
)
def test_what_they_cannot_take_is_refused_before_anything_is_written(cli, npz, words, code, facts):
    done = cli("run", "--data", npz, *OUT, *words.split())
    assert done.exit_code == 2
    Line(done.stderr.splitlines()[-1]).tells(code, facts)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["p3gm", "p3gm-pca", "p3gm-em"])
def test_they_are_explained_with_claim_paper_flaw_and_settings(cli, name):
    told = cli("explain", name).stdout
    for part in ("The claim", "The flaw", "Takagi, Takahashi, Cao and Yoshikawa", "--set "):
        assert part in told
