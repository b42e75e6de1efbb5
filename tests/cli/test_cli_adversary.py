"""`--adversary`, from the command line to the report."""

import json

import pytest

from dpaudit.cli.settings import configured

SMALL = ["run", "--network", "logreg", "--batch", "full", "--epsilon", 8]
FEW = ["--models", 40]


@pytest.fixture
def audited(cli, tmp_path):
    """What a run of a few seconds says, and its report."""

    def audited(*words):
        folder = tmp_path / "run"
        done = cli(*SMALL, "--workers", 1, "--verbose", "--out", folder, *words)
        assert done.exit_code == 0, done.output
        return done.stdout, json.loads((folder / "report.json").read_text())

    return audited


@pytest.mark.parametrize(
    ("name", "attack", "canary"),
    [
        ("worst-case", "loss", "blank"),
        ("white-box", "updates", "dirac"),
        ("final-weights", "weights", "blank"),
    ],
)
def test_it_brings_its_canary_and_attack_and_says_what_follows(audited, name, attack, canary):
    said, report = audited("--adversary", name, *FEW)
    assert report["canary"]["name"] == canary
    assert {bound["attack"] for bound in report["bounds"]} == {attack}
    assert report["adversary"].startswith(f"{name}: chose the canary")
    assert report["deployment"]
    assert " ".join(report["deployment"].split()) in " ".join(said.split())
    assert report["bounds"][0]["estimator"] == "rank-test"


def test_single_steps_of_two_trainings_are_all_trials_there_are(audited):
    said, report = audited("--adversary", "per-step", "--batch", 100, "--steps", 60)
    assert report["models"]["in"] == report["models"]["out"] == 60
    assert [bound["estimator"] for bound in report["bounds"]] == ["paired-auc", "pld"]
    assert "> steps paired-auc" in " ".join(said.split())
    assert "60 with the canary" in said


def test_the_same_command_goes_on_and_report_shows_the_same(cli, tmp_path):
    words = [*SMALL, *FEW, "--adversary", "white-box", "--workers", 1, "--out", tmp_path / "run"]
    first, again = cli(*words), cli(*words)
    shown = cli("report", tmp_path / "run")
    for other in (again, shown):
        assert other.exit_code == 0, other.output
        assert other.stdout.partition("\nReport ")[0].rstrip() in first.stdout


def test_a_configuration_that_was_saved_plays_the_same_run(cli, tmp_path):
    words = [*SMALL, *FEW, "--adversary", "worst-case", "--lr", 0.1, "--workers", 1]
    cli(*words, "--out", tmp_path / "one")
    saved = tmp_path / "one" / "config.toml"
    cli("run", "--config", saved, "--workers", 1, "--out", tmp_path / "two")
    one, two = (json.loads((tmp_path / n / "report.json").read_text()) for n in ("one", "two"))
    assert one["bounds"] == two["bounds"]


IMPOSSIBLE = [
    (["--canary", "dirac"], "needs-record", "dirac --adversary"),
    (
        ["--adversary", "worst-case", "--canary", "random-direction"],
        "needs-record",
        "random-direction --adversary",
    ),
    (["--adversary", "nobody"], "usage", "--adversary 'nobody' 'observer', 'worst-case'"),
    (["--epochs", "3", "--steps", "3"], "excluded-options", "--epochs --steps"),
    (["--steps", "0"], "too-small", "steps 1"),
    (["--adversary", "per-step", "--models", "40"], "no-effect", "--models"),
    (
        ["--adversary", "per-step", "--canary", "blank"],
        "needs-gradient-canary",
        "per-step --canary",
    ),
    (
        ["--adversary", "per-step", "--canary", "none"],
        "needs-gradient-canary",
        "per-step --canary",
    ),
    (["--adversary", "per-step", "--steps", "3"], "too-small", "4"),
    (["--adversary", "per-step", "--until-decided"], "excluded-options", "until-decided"),
    (["--adversary", "per-step", "--claim", "1,1e-5"], "single-steps", "--claim"),
]


def test_what_cannot_be_is_refused_in_one_sentence(refused):
    for words, code, facts in IMPOSSIBLE:
        refused("run", *words).tells(code, facts)


@pytest.mark.parametrize(
    ("adversary", "more", "code", "facts"),
    [
        ("observer", "--attack updates", "not-released", "updates"),
        ("observer", "--attack updates", "not-released", "all-four, inv_std, learned, loss, max,"),
        ("worst-case", "--attack updates", "not-released", "learned, loss"),
        ("worst-case", "--attack mean", "not-released", "learned, loss"),
        ("final-weights", "--attack loss", "not-released", "loss logits"),
        ("final-weights", "--attack loss", "not-released", "weights"),
        ("white-box", "--attack loss", "not-released", "updates"),
        ("white-box", "--canaries 20 --attack loss", "not-released", "updates"),
        ("per-step", "--attack updates", "not-released", "steps"),
        ("observer", "--attack min --defence quantize:0.1", "not-released", "quantize:0.1, min"),
        ("white-box", "--defence quantize:0.1", "not-released", "quantize:0.1, updates"),
        ("white-box", "--defence quantize:0.1", "not-released", "updates"),
        ("final-weights", "--defence quantize:0.1", "not-released", "quantize:0.1, weights"),
        ("per-step", "--defence quantize:0.1", "not-released", "quantize:0.1, steps"),
    ],
)
def test_what_does_not_fit_the_adversary_is_refused_before_anything_is_written(
    refused, adversary, more, code, facts
):
    words = ["run", "--network", "logreg", "--adversary", adversary, *more.split()]
    refused(*words).tells(code, facts)


WITHOUT_EFFECT = [
    ("--adversary worst-case --init fixed", "no-effect", "--init worst-case"),
    ("--adversary per-step --init random", "no-effect", "--init per-step"),
    ("--adversary worst-case --samples 9", "no-effect", "--samples --dropout"),
    ("--adversary white-box --dropout .5 --samples 9", "no-effect", "--samples white-box"),
    ("--adversary final-weights --samples 9", "no-effect", "--samples final-weights"),
    ("--adversary white-box --canaries 1", "too-small", "canaries 1"),
    ("--canaries 1", "too-small", "canaries 1 2"),
    ("--canary blank --clip-canary", "no-effect", "--clip-canary blank"),
    ("--adversary white-box --clip-canary", "no-effect", "--clip-canary dirac"),
    ("--batch full --accountant rdp", "no-effect", "--accountant full"),
    ("--guesses 3", "needs-option", "guesses --canaries"),
    ("--mechanism my:f --clip-canary --claim 1,1e-5", "no-effect", "--clip-canary my:f"),
    ("--mechanism leaky --adversary white-box", "no-effect", "--adversary leaky"),
    ("--mechanism leaky --epochs 3 --lr 2", "no-effect", "--epochs --lr leaky"),
]


def test_what_would_change_nothing_is_refused(refused):
    for words, code, facts in WITHOUT_EFFECT:
        refused("run", *words.split()).tells(code, facts)
        planned = refused("plan", *words.split())
        if "guesses" not in words:
            planned.tells(code, facts)


def test_what_has_an_effect_beside_a_strong_adversary_is_taken():
    said = {"adversary": "worst-case", "dropout": 0.5, "samples": 9}
    assert configured(None, dict(said)).attacker.samples == 9
    clipped = {"canary": "adv-maxloss", "clip_canary": True}
    assert configured(None, clipped).planting.clip_canary
    assert configured(None, {"adversary": "observer", "init": "fixed"}).training.init == "fixed"
