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
        done = cli(*SMALL, "--workers", 1, "--out", folder, *words)
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
    assert "Beside it, steps by pld" in " ".join(said.split())
    assert "60 with the canary" in said


def test_the_same_command_goes_on_and_report_shows_the_same(cli, tmp_path):
    words = [*SMALL, *FEW, "--adversary", "white-box", "--workers", 1, "--out", tmp_path / "run"]
    first, again = cli(*words), cli(*words)
    shown = cli("report", tmp_path / "run")
    for other in (again, shown):
        assert other.exit_code == 0, other.output
        assert other.stdout.split("Time ")[0] == first.stdout.split("Time ")[0]


def test_a_configuration_that_was_saved_plays_the_same_run(cli, tmp_path):
    words = [*SMALL, *FEW, "--adversary", "worst-case", "--lr", 0.1, "--workers", 1]
    cli(*words, "--out", tmp_path / "one")
    cli("run", "--config", tmp_path / "one" / "config.toml", "--out", tmp_path / "two")
    one, two = (json.loads((tmp_path / n / "report.json").read_text()) for n in ("one", "two"))
    assert one["bounds"] == two["bounds"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--canary", "dirac"], "dirac is a gradient, not a record; it takes --adversary "),
        (["--adversary", "worst-case", "--canary", "random-direction"], "is a gradient, not a"),
        (["--adversary", "nobody"], "'nobody' is not one of 'observer', 'worst-case'"),
        (["--epochs", "3", "--steps", "3"], "--epochs and --steps both say how long to train"),
        (["--steps", "0"], "steps must be a whole number of at least 1"),
        (["--adversary", "per-step", "--models", "40"], "--models has no effect"),
        (["--adversary", "per-step", "--canary", "blank"], "per-step puts a gradient into every"),
        (["--adversary", "per-step", "--canary", "none"], "per-step puts a gradient into every"),
        (["--adversary", "per-step", "--steps", "3"], "fewer than 4"),
        (["--adversary", "per-step", "--until-decided"], "and cannot stop early"),
        (["--adversary", "per-step", "--claim", "1,1e-5"], "leave --claim out"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(refused, words, said):
    assert said in refused("run", *words)


@pytest.mark.parametrize(
    ("adversary", "more", "said"),
    [
        ("observer", "--attack updates", "attack updates needs updates, which is not released"),
        ("observer", "--attack updates", "fit what is: all-four, inv_std, learned, loss, max, "),
        ("worst-case", "--attack updates", "those that fit what is: learned, loss"),
        ("worst-case", "--attack mean", "those that fit what is: learned, loss"),
        ("final-weights", "--attack loss", "loss needs logits, which is not released here; those"),
        ("final-weights", "--attack loss", "those that fit what is: weights"),
        ("white-box", "--attack loss", "those that fit what is: updates"),
        ("white-box", "--canaries 20 --attack loss", "those that fit what is: updates"),
        ("per-step", "--attack updates", "those that fit what is: steps"),
        ("observer", "--attack min --defence quantize:0.1", "behind the defence quantize:0.1, at"),
        ("white-box", "--defence quantize:0.1", "behind the defence quantize:0.1, attack updates "),
        ("white-box", "--defence quantize:0.1", "not released here, and none fits what is"),
        ("final-weights", "--defence quantize:0.1", "behind the defence quantize:0.1, attack wei"),
        ("per-step", "--defence quantize:0.1", "behind the defence quantize:0.1, attack steps ne"),
    ],
)
def test_what_does_not_fit_the_adversary_is_refused_before_anything_is_written(
    refused, adversary, more, said
):
    words = ["run", "--network", "logreg", "--adversary", adversary, *more.split()]
    assert said in refused(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--adversary worst-case --init fixed", "--init has no effect where the adversary chooses"),
        ("--adversary per-step --init random", "chooses the initial parameters, as per-step does"),
        ("--adversary worst-case --samples 9", "--samples has no effect without dropout"),
        ("--adversary white-box --dropout .5 --samples 9", "is asked nothing, as by white-box"),
        ("--adversary final-weights --samples 9", "--samples has no effect where the trained mod"),
        ("--adversary white-box --canaries 1", "--canaries 1 is one canary, which every run has"),
        ("--canaries 1", "give at least 2, or leave it out"),
        ("--canary blank --clip-canary", "--clip-canary has no effect on blank, to which no"),
        ("--adversary white-box --clip-canary", "--clip-canary has no effect on dirac"),
        ("--batch full --accountant rdp", "--accountant has no effect on full batches, whose"),
        ("--guesses 3", "guesses are of one training with many canaries"),
        ("--mechanism my:f --clip-canary --claim 1,1e-5", "--clip-canary has no effect on my:f"),
        ("--mechanism leaky --adversary white-box", "--adversary has no effect on leaky"),
        ("--mechanism leaky --epochs 3 --lr 2", "--epochs, --lr have no effect on leaky"),
    ],
)
def test_what_would_change_nothing_is_refused(refused, words, said):
    assert said in refused("run", *words.split())
    assert said in refused("plan", *words.split()) or "canaries" in words or "guesses" in words


def test_what_has_an_effect_beside_a_strong_adversary_is_taken():
    said = {"adversary": "worst-case", "dropout": 0.5, "samples": 9}
    assert configured(None, dict(said)).samples == 9
    clipped = {"canary": "adv-maxloss", "clip_canary": True}
    assert configured(None, clipped).clip_canary
    assert configured(None, {"adversary": "observer", "init": "fixed"}).init == "fixed"
