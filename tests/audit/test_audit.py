from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playground import (
    Leaky,
    Shifted,
    Unpicklable,
    observe,
    tiny_pair,
    worlds_and_indices,
    write_journal,
)
from refusals import refuses

import dpaudit as dp
from dpaudit import audit, registry
from dpaudit.config import Config
from dpaudit.config.settings import Judging
from dpaudit.errors import BadInput, OtherConfiguration
from dpaudit.executors import SerialExecutor
from dpaudit.journal import Journal
from dpaudit.judging import panel
from dpaudit.judging.judge import deciding_confidence
from dpaudit.report import render
from dpaudit.types import OUT

CONFIG = Config.of(canary="random", mechanism="leaky", models=8, attacks=("loss", "mean"))


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A finished run of Python's own interface."""
    out = tmp_path_factory.mktemp("played") / "run"
    return dp.play(Shifted(20.0), tiny_pair(), models=6, out=out, workers=SerialExecutor())


@pytest.fixture
def config(plugins, npz):
    return CONFIG.changed(data=str(npz))


def observations(run):
    with Journal.read(run.journal) as journal:
        return journal.observations()


# ---------------------------------------------------------------- dpaudit.play


def test_a_mechanism_and_a_pair_are_all_it_takes(played):
    """Models are rounded up to fours, which two halves of two worlds need."""
    report = played.judge(attacks=("loss",))
    assert report.models == {"in": 4, "out": 4, "choosing": 4, "judging": 4}
    assert report.claim == Shifted().claim
    assert report.canary["name"] == "tiny"
    text = played.report(attacks=("loss",))
    assert "WEAK TEST" in text
    assert "epsilon" in text


def broken(name, returned):
    """A mechanism one of whose hooks returns this, or raises it."""

    def hook(self, pair):
        if isinstance(returned, Exception):
            raise returned
        return returned

    return type("Broken", (Shifted,), {name: hook})()


@pytest.mark.parametrize(
    ("mechanism", "code"),
    [
        (broken("about", {"adversary": "observer"}), "code-failed"),
        (broken("about", KeyError("x")), "code-failed"),
        (broken("known", KeyError("x")), "code-failed"),
        (broken("known", {"label": np.array(3)}), "plug-in-broken"),
        (broken("known", {"test_y": np.zeros(3)}), "plug-in-broken"),
    ],
)
def test_a_broken_hook_is_refused_before_anything_is_written(tmp_path, mechanism, code):
    out = tmp_path / "run"
    with refuses(code) as caught:
        dp.play(mechanism, tiny_pair(), models=4, out=out, workers=SerialExecutor())
    assert "Broken" in str(caught.value)
    assert not out.exists()


def test_a_mechanism_that_overrides_rehearse_is_rehearsed(tmp_path):
    class Rehearsed(Shifted):
        def rehearse(self, pair, executor):
            raise BadInput("it does not work", "rehearsal-failed")

    with refuses("rehearsal-failed"):
        dp.play(Rehearsed(), tiny_pair(), models=4, out=tmp_path / "a", workers=SerialExecutor())


def test_same_call_goes_on_and_changes_nothing(played):
    before, told = observations(played), []
    again = dp.play(
        Shifted(20.0),
        tiny_pair(),
        models=6,
        out=str(played.path),
        workers=SerialExecutor(),
        progress=lambda *numbers: told.append(numbers),
    )
    assert again == played
    assert told == [(8, 8)]
    for name, array in observations(again).items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"mechanism": Shifted(19.0)}, "mechanism: Shifted(shift=20.0"),
        ({"models": 12}, "models: 8 there, 12 here"),
        ({"seed": 1}, "seed: 0 there, 1 here"),
        ({"pair": replace(tiny_pair(), out=tiny_pair().inn)}, "pair: "),
    ],
    ids=lambda value: None if isinstance(value, str) else next(iter(value)),
)
def test_another_call_on_the_same_folder_is_refused(played, change, named):
    call = {"mechanism": Shifted(20.0), "pair": tiny_pair(), "models": 6, "seed": 0, **change}
    with refuses("other-configuration", kind=OtherConfiguration) as caught:
        dp.play(
            call.pop("mechanism"),
            call.pop("pair"),
            out=played.path,
            workers=SerialExecutor(),
            **call,
        )
    (differing,) = caught.value.value
    assert differing.startswith(named)
    assert differing in str(caught.value)


def test_play_refuses_too_few_models_before_it_writes(tmp_path):
    with refuses("too-small", option="models", value=0):
        dp.play(Shifted(), tiny_pair(), models=0, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_play_refuses_what_no_worker_can_be_sent_before_it_writes(tmp_path):
    with refuses("not-picklable", option="mechanism"):
        dp.play(Unpicklable(), tiny_pair(), models=4, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


# ---------------------------------------------------------------- Run.judge


def test_what_is_not_chosen_is_as_configured(tmp_path):
    seen = observe(worlds_and_indices(8)[0], np.random.default_rng(0))
    write_journal(tmp_path / "journal.sqlite", seen)
    run = audit.Run(tmp_path)
    report = run.judge(attacks=(), estimator=None, primary=None, confidence=None)
    fitting = list(Judging.attacks[:-1])
    assert list(dict.fromkeys(b.attack for b in report.bounds)) == fitting
    assert {b.confidence for b in report.bounds} == {0.95}
    chosen = run.judge(attacks=("loss",), confidence=0.8)
    assert [b.estimator for b in chosen.bounds] == ["exact-scan", "clopper-pearson"]
    assert {b.attack for b in chosen.bounds} == {"loss"}
    assert chosen.bounds[0].confidence == deciding_confidence(0.8, chosen.looks)


@pytest.mark.parametrize("confidence", [0, 0.0, 0.5, 1.0, 2.0, -1.0])
def test_no_confidence_is_taken_for_another(played, confidence):
    """Not even 0, which Python takes for nothing."""
    with refuses("out-of-range", option="confidence", value=confidence):
        played.judge(confidence=confidence)


def test_configured_primary_gives_way_to_attacks_without_it(config, tmp_path):
    prepared = audit.prepare(config.changed(primary="loss"))
    run = audit.run(prepared, tmp_path / "run", workers=SerialExecutor())
    assert run.judge().primary == 0
    again = run.judge(attacks=("mean",))
    assert again.bounds[again.primary].attack == "mean"
    assert again.looks == 2
    with refuses("unknown-choice", option="primary", value="loss") as caught:
        run.judge(attacks=("mean",), primary="loss")
    assert "auto, all, mean," in str(caught.value)


# ---------------------------------------------------------------- prepare and run


@pytest.mark.parametrize(
    ("change", "option", "said"),
    [
        ({"canary": "randm"}, "canaries", "'random'"),
        ({"mechanism": "dp-sdg"}, "mechanisms", "'dp-sdg'"),
        ({"attacks": ("loss", "means")}, "attacks", "'means'"),
        ({"attacks": ("mean | min & max",)}, None, "& and |"),
        ({"estimator": "point"}, "estimators", "'point'"),
        ({"primary": "max"}, "primary", "auto, all, loss, mean"),
        ({"data": "/nowhere.npz"}, None, "/nowhere.npz"),
        ({"fingerprint": "0"}, "data", ""),
        ({"epsilon": -1.0, "delta": 2.0}, "", "2 problems"),
        ({"epsilon": 2000.0}, None, "epsilon 2000"),
    ],
    ids=str,
)
def test_prepare_finds_what_is_wrong_before_anything_is_written(
    config, tmp_path, monkeypatch, change, option, said
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as caught:
        audit.prepare(config.changed(**change))
    assert option in (None, caught.value.option)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_prepare_refuses_an_estimator_of_a_curve_that_the_claim_does_not_have(config):
    with pytest.raises(BadInput, match=r"GDP .* no curve"):
        audit.prepare(config.changed(estimator="gdp"))
    with refuses("needs-curve", option="estimator", value="pld"):
        audit.prepare(config.changed(estimator="pld"))
    with refuses("wrong-outcome", option="estimator", value="one-run"):
        audit.prepare(config.changed(estimator="one-run"))


def test_default_folder_is_the_configurations_own(config):
    one, same = audit.prepare(config), audit.prepare(config)
    other = audit.prepare(config.changed(seed=1))
    assert one.folder == same.folder != other.folder
    assert one.folder.parent == Path("runs")


def test_a_saved_configuration_is_complete(config, tmp_path):
    prepared = audit.prepare(config)
    audit.run(prepared, tmp_path / "run", workers=SerialExecutor())
    saved = Config.from_toml(tmp_path / "run" / "config.toml")
    assert saved == prepared.config
    assert saved.source.fingerprint
    assert isinstance(prepared.mechanism, Leaky)


def test_a_stated_claim_is_judged_and_the_accountants_stands_beside_it(config, tmp_path):
    prepared = audit.prepare(config.changed(claim=(0.01, 1e-6), epsilon=3.0, models=40))
    report = audit.run(prepared, tmp_path / "run", workers=SerialExecutor()).judge()
    assert (report.claim.epsilon, report.claim.delta) == (0.01, 1e-6)
    assert report.claim.curve is None
    assert report.claim.beside == {"playground": 3.0}
    assert report.bounds[0].delta == 1e-6
    assert report.verdict == "VIOLATION"


def test_a_configuration_that_cannot_be_written_is_told(config, tmp_path):
    run = audit.run(audit.prepare(config), tmp_path / "run", workers=SerialExecutor())
    (run.path / "config.toml").unlink()
    (run.path / "config.toml").mkdir()
    with refuses("file-unwritable", value=str(run.path / "config.toml")):
        audit.run(audit.prepare(config), run.path, workers=SerialExecutor())


# ---------------------------------------------------------------- folders


@pytest.mark.parametrize("name", ["notes.txt", "config.toml", "report.json", "figures"])
def test_a_folder_with_files_but_no_run_is_refused_and_left_alone(config, tmp_path, name):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_text("epsilon = 1\n")
    with refuses("folder-not-empty", option="out", value=name):
        audit.run(audit.prepare(config), folder, workers=SerialExecutor())
    with refuses("folder-not-empty", option="out", value=name):
        dp.play(Shifted(), tiny_pair(), models=4, out=folder, workers=SerialExecutor())
    assert {path.name: path.read_text() for path in folder.iterdir()} == {name: "epsilon = 1\n"}


@pytest.mark.parametrize("left", ["nothing", "temporary", "configuration", "empty journal"])
def test_what_an_interrupted_start_leaves_is_gone_on_with(config, tmp_path, left):
    prepared, folder = audit.prepare(config), tmp_path / "run"
    folder.mkdir()
    if left == "temporary":
        (folder / ".config.toml.1.tmp").write_text("half")
    elif left == "configuration":
        (folder / "config.toml").write_text(prepared.config.to_toml())
    elif left == "empty journal":
        (folder / "journal.sqlite").touch()
    assert audit.run(prepared, folder, workers=SerialExecutor()).judge().models["in"] == 4


def test_an_edited_configuration_is_refused_with_what_differs(config, tmp_path):
    run = audit.run(audit.prepare(config), tmp_path / "run", workers=SerialExecutor())
    file, other = run.path / "config.toml", tmp_path / "elsewhere.npz"
    before = file.read_text()
    file.write_text(before.replace(str(config.source.data), str(other)))
    assert run.judge().models["in"] == 4, "where the data lie is no difference"
    file.write_text(before.replace("delta = 1e-05", "delta = 1e-06"))
    for judge in (run.judge, lambda: run.compare(["quantize:0.1"])):
        with refuses("other-configuration", kind=OtherConfiguration) as caught:
            judge()
        assert caught.value.value == ["delta: 1e-05 there, 1e-06 here"]
        assert "config.toml" in str(caught.value)
    file.write_bytes(b"\xff")
    with refuses("wrong-format", value=str(file)):
        run.judge()
    file.unlink()
    assert run.judge().models["in"] == 4


def test_a_run_is_named_by_any_kind_of_path(played):
    assert dp.Run(str(played.path)) == dp.Run(played.path) == played
    assert dp.Run(str(played.path)).report(attacks=("loss",))


class Constant(Shifted):
    """Releases the same numbers in every trial."""

    def _play(self, trial, label=1):
        return super()._play(replace(trial, world=OUT, seed=0), label)


def test_trials_that_are_all_equal_test_nothing(tmp_path):
    run = dp.play(
        Constant(), tiny_pair(), models=400, out=tmp_path / "run", workers=SerialExecutor()
    )
    report = run.judge(attacks=("loss",))
    assert report.verdict == "INCONCLUSIVE"
    assert "canary" in report.untested
    with pytest.raises(BadInput, match="NO_VIOLATION_FOUND"):
        render(replace(report, verdict="NO_VIOLATION_FOUND"))


def test_nothing_is_made_twice_to_find_out_whether_it_can_be(config, tmp_path, monkeypatch):
    made, make = Counter(), registry.make
    new = Config.__post_init__
    monkeypatch.setattr(registry, "make", lambda k, n, **o: made.update([k]) or make(k, n, **o))
    monkeypatch.setattr(Config, "__post_init__", lambda c: made.update(["config"]) or new(c))
    registry.attack.cache_clear()
    panel._estimator.cache_clear()
    prepared = audit.prepare(config)
    assert made["config"] == 1
    audit.run(prepared, tmp_path / "run", SerialExecutor()).judge()
    assert made["canaries"] == made["mechanisms"] == 1
    assert made["attacks"] <= len(registry.names("attacks"))
    assert made["estimators"] <= 2, "what decides, and what counts beside it"
