"""Runs that stop once decided: when they do, what goes on, and who may judge them."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from playground import (
    KNOWN,
    Leaky,
    Shifted,
    facts,
    observe,
    tiny_pair,
    worlds_and_indices,
    write_journal,
)
from refusals import refuses

import dpaudit as dp
from dpaudit import audit
from dpaudit.audit import runner
from dpaudit.config import Config
from dpaudit.errors import OtherConfiguration
from dpaudit.estimators.bets import Bets
from dpaudit.executors import SerialExecutor
from dpaudit.journal import Journal
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import judge
from dpaudit.judging.until_decided import StoppingRule, fewest_models
from dpaudit.judging.until_decided import judge as judge_stopped
from dpaudit.report import render, to_dict
from dpaudit.seeds import trials
from dpaudit.types import Claim, GaussianCurve, StepsCurve

CONFIG = Config.of(
    canary="random",
    mechanism="leaky",
    epsilon=1.0,
    models=200,
    attacks=("loss", "mean"),
    until_decided=True,
)


@pytest.fixture
def config(plugins, npz):
    return CONFIG.changed(data=str(npz))


@pytest.fixture
def harmless(monkeypatch):
    """`leaky` leaks nothing, so that its claim is never refuted."""
    monkeypatch.setattr(Leaky, "run", lambda self, *game: Shifted(0.0).run(*game))


def run_in_process(config, folder, **more):
    """In this process, where fixtures reach."""
    with ThreadPoolExecutor(2) as pool:
        return audit.run(audit.prepare(config), folder, pool, **more)


def models(run):
    with Journal.read(run.journal) as journal:
        return len(journal.trials()[0])


def observations(run):
    with Journal.read(run.journal) as journal:
        return journal.observations()["logits"]


def journal_until(path, count, shift=0.0, **configured):
    """A journal of a run until decided, as far as so many models."""
    seen = observe(worlds_and_indices(count)[0], np.random.default_rng(0), shift)
    return write_journal(path, seen, **{"until_decided": True, "models": 1000, **configured})


# ---------------------------------------------------------------- when it stops


def test_it_stops_once_the_claim_is_refuted_and_stays_decided(config, tmp_path):
    told = []
    run = run_in_process(config, tmp_path / "run", tell=lambda *numbers: told.append(numbers))
    assert 20 < models(run) < 200
    assert [needed for _, needed in told] == pytest.approx([20] * len(told))
    assert [wealth >= 20 for wealth, _ in told] == [False] * (len(told) - 1) + [True]
    report = run.judge()
    assert report.verdict == "VIOLATION"
    assert report.bounds[0].epsilon > 1
    assert (report.growth.most, 2 * len(report.growth.wealth)) == (200, models(run))
    before = models(run)
    again = run_in_process(config, tmp_path / "run")
    assert models(again) == before
    assert again.judge().growth == report.growth


def test_without_a_leak_all_models_are_played(config, tmp_path, harmless):
    run = run_in_process(config.changed(models=60), tmp_path / "run")
    report = run.judge()
    assert models(run) == 60
    assert report.verdict != "VIOLATION"
    assert max(report.growth.wealth) < 20


def test_a_spent_budget_stops_and_a_new_one_goes_on(config, tmp_path, harmless):
    """What was played in pieces is what would have been played at once."""
    config, told = config.changed(models=100), []
    for budget in (1e-9, 1e-9, None):
        run = run_in_process(config, tmp_path / "run", budget=budget)
        told.append(models(run))
        assert len(run.judge().growth.wealth) == told[-1] // 2
    first, second, last = told
    assert first < second < last == 100
    whole = run_in_process(config, tmp_path / "whole")
    np.testing.assert_array_equal(observations(run), observations(whole))
    assert run.judge().growth == whole.judge().growth


def without(run, *gone):
    """Trials that a kill has kept from being written, as (index, world)."""
    with Journal.read(run.journal) as journal:
        for table in ("trials", "seen"):
            for trial in gone:
                journal._db.execute(f"DELETE FROM {table} WHERE idx = ? AND world = ?", trial)


def test_a_gap_that_a_kill_has_left_is_filled_before_anything_else(config, tmp_path):
    run = run_in_process(config, tmp_path / "run")
    growth, before = run.judge().growth, models(run)
    without(run, (3, 1))
    assert run.judge().growth.wealth == growth.wealth[:3]
    again = run_in_process(config, tmp_path / "run")
    assert models(again) == before
    assert again.judge().growth == growth


def test_wherever_it_was_killed_it_can_be_judged_and_ended(config, tmp_path):
    """Also where the pairs before the gap refute the claim already, and no more are played."""
    run = run_in_process(config, tmp_path / "whole")
    growth = run.judge().growth
    last = len(growth.wealth) - 1
    for gap in range(last + 1):
        copy = audit.Run(shutil.copytree(run.path, tmp_path / f"gap {gap}"))
        without(copy, (gap, gap % 2), (last, 1))
        if gap:
            assert copy.judge().growth.wealth == growth.wealth[:gap]
        report = run_in_process(config, copy.path).judge()
        assert report.verdict == "VIOLATION"
        assert report.growth.wealth == growth.wealth[: len(report.growth.wealth)]


def test_a_spent_budget_waits_only_for_models_that_have_been_begun(config, tmp_path, monkeypatch):
    """Of the twenty up to the next look; the canary's time counts, too."""
    monkeypatch.setenv("PLAYGROUND_PAUSE", "0.05")
    run = run_in_process(config, tmp_path / "run", budget=1e-9)
    assert 2 <= models(run) < 10
    report = run.judge()
    assert report.models["judging"] == 0
    assert any("up to 200 models" in step for step in report.next_steps)


@pytest.mark.parametrize(
    ("models", "epsilon"), [(20, 0.5), (24, 1.0), (200, 29.0)], ids=["fits", "few", "far"]
)
def test_what_could_never_be_decided_is_refused_before_anything_is_trained(
    config, tmp_path, models, epsilon
):
    with refuses("cannot-refute", option="models", value=models):
        run_in_process(config.changed(models=models, epsilon=epsilon), tmp_path / "run")
    with refuses("cannot-refute", option="models", value=4):
        dp.play(Shifted(), tiny_pair(), models=4, out=tmp_path / "run", until_decided=True)
    assert not (tmp_path / "run").exists()


def test_the_fewest_models_could_decide_and_four_less_could_not():
    attacks = Choice(("loss", "mean")).attack_plugins
    for claim in (Claim(1.0, 1e-5), Claim(4.0, 1e-5, curve=GaussianCurve(0.9))):
        for confidence in (0.95, 1 - 1e-6):
            least = fewest_models(attacks, claim, confidence)
            bets = Bets(attacks, claim, confidence)
            assert bets.could_decide(least // 2)
            assert not bets.could_decide(least // 2 - 2)
    assert fewest_models(attacks, Claim(29.0, 1e-5), 0.95) is None


def test_python_s_own_interface_stops_too_and_fixes_the_choice_before(tmp_path):
    call = {
        "mechanism": Shifted(20.0),
        "pair": tiny_pair(),
        "models": 200,
        "out": tmp_path / "run",
        "workers": SerialExecutor(),
        "until_decided": True,
        "attacks": ("loss",),
    }
    run = dp.play(**call)
    count = models(run)
    assert 20 < count < 200
    assert run.judge().verdict == "VIOLATION"
    assert "was refuted" in " ".join(run.report().split())
    assert models(dp.play(**call)) == count
    with refuses("other-configuration", kind=OtherConfiguration) as caught:
        dp.play(**{**call, "attacks": ("loss", "mean")})
    assert [one.partition(":")[0] for one in caught.value.value] == ["attacks"]
    short = dp.play(**{**call, "out": tmp_path / "short", "budget": 1e-9})
    assert models(short) < count


def test_python_s_own_interface_refuses_what_would_have_no_effect(tmp_path):
    for more in ({"budget": 60.0}, {"attacks": ("loss",)}):
        with refuses("no-effect", option=next(iter(more))):
            dp.play(Shifted(), tiny_pair(), out=tmp_path / "run", **more)
    with refuses("excluded-options", option="primary", value="until_decided"):
        dp.play(
            *(Shifted(), tiny_pair()),
            out=tmp_path / "run",
            until_decided=True,
            primary="loss",
        )
    with pytest.raises(TypeError, match="budgte"):
        dp.play(Shifted(), tiny_pair(), out=tmp_path / "run", until_decided=True, budgte=3)
    assert not (tmp_path / "run").exists()


def test_looks_come_after_whole_pairs_for_all_workers():
    class ThreeAtOnce(Shifted):
        trials_per_call = 3

    for mechanism in (Shifted(), ThreeAtOnce()):
        for workers in (1, 2, 5, 30):
            every = runner._between_looks(mechanism, workers)
            together = workers * getattr(mechanism, "trials_per_call", 1)
            assert every >= 20
            assert every % 2 == every % together == 0


def test_a_watch_takes_whole_pairs_without_a_gap_alone(tmp_path):
    path = write_journal(
        tmp_path / "run" / "j",
        observe(worlds_and_indices(80)[0], np.random.default_rng(0), 20.0),
        epsilon=1.0,
        until_decided=True,
    )
    with Journal.read(path) as journal:
        assert journal.whole_pairs() == 40
        (gap,) = [trial for trial in trials(0, 80) if (trial.index, trial.world) == (12, 1)]
        released = {name: array[25] for name, array in journal.observations().items()}
        for table in ("trials", "seen"):
            journal._db.execute(f"DELETE FROM {table} WHERE idx = 12 AND world = 1")
        assert journal.whole_pairs() == 12
        watch = StoppingRule(journal, Choice(("loss",)))
        assert not watch.decided()
        assert watch._bets.pairs == 12
        journal.add(gap, released, seconds=0.1)
        assert watch.decided()
        assert watch._bets.pairs == 40


def test_an_empty_journal_is_not_enough(tmp_path):
    with Journal.open_for_writing(
        tmp_path / "j", {"seed": 0, "models": 8, "until_decided": True}
    ) as journal:
        journal.write_facts(facts(), KNOWN)
        assert journal.whole_pairs() == 0
        assert not StoppingRule(journal, Choice(("loss",))).decided()


# ---------------------------------------------------------------- who judges


def test_the_report_says_what_a_fixed_number_would_not(tmp_path):
    path = journal_until(
        tmp_path / "run" / "j", 60, shift=20.0, attacks=["loss", "mean"], epsilon=1.0
    )
    with Journal.read(path) as journal:
        report = judge_stopped(journal, Choice(("loss", "mean")))
    assert not report.published
    assert report.models == {"in": 30, "out": 30, "choosing": 20, "judging": 40}
    assert [b.estimator for b in report.bounds] == ["e-process"]
    assert report.bounds[0].rule == "equal bets by loss, mean"
    assert report.growth.most == 1000
    assert not any("dpaudit report" in step for step in report.next_steps)
    assert report.verdict == "VIOLATION"
    assert not any("--canary none" in step for step in report.next_steps), "nothing was selected"


def test_a_report_of_pairs_that_only_fit_rules_says_so(tmp_path):
    path = journal_until(tmp_path / "run" / "j", 12, attacks=["loss"], epsilon=1.0)
    with Journal.read(path) as journal:
        report = judge_stopped(journal, Choice(("loss",)))
    assert report.models == {"in": 6, "out": 6, "choosing": 12, "judging": 0}
    said = " ".join(render(report).split())
    assert "no models" in said
    assert "stopped before any of its models was judged" in said
    assert not re.search(r"\b0 (judging )?models", said)
    assert any("up to 1,000 models" in step for step in report.next_steps)
    assert not any("--models" in step for step in report.next_steps), "refused on this folder"


def test_with_a_curve_the_bet_on_it_decides_and_the_e_process_stands_beside(tmp_path, monkeypatch):
    claim = Claim(1.0, 1e-5, curve=GaussianCurve(0.268))
    monkeypatch.setattr("playground.facts", lambda *_: {**facts(), "claim": claim.to_dict()})
    path = journal_until(tmp_path / "run" / "j", 80, shift=20.0, attacks=["loss"])
    with Journal.read(path) as journal:
        report = judge_stopped(journal, Choice(("loss",)))
    assert [b.estimator for b in report.bounds] == ["auc-bet", "e-process"]
    assert (report.primary, report.verdict) == (0, "VIOLATION")
    assert len(report.growth.beside) == len(report.growth.wealth) == 40


def test_of_single_steps_only_the_bet_on_what_they_make_up_is_reported(tmp_path, monkeypatch):
    claim = Claim(1.0, 1e-5, curve=StepsCurve(0.05, 40, 1.0))
    monkeypatch.setattr("playground.facts", lambda *_: {**facts(), "claim": claim.to_dict()})
    path = journal_until(tmp_path / "run" / "j", 80, shift=20.0, attacks=["loss"])
    with Journal.read(path) as journal:
        report = judge_stopped(journal, Choice(("loss",)))
        assert StoppingRule(journal, Choice(("loss",))).decided()
    assert [b.estimator for b in report.bounds] == ["auc-bet"]
    assert (report.verdict, report.growth.beside) == ("VIOLATION", [])
    assert to_dict(report)["bounds"][0]["assumption"] == "accountant"


def test_no_other_judgement_may_have_such_trials(config, tmp_path):
    run = run_in_process(config, tmp_path / "run")
    for choice in (
        {"attacks": ("loss",)},
        {"estimator": "clopper-pearson"},
        {"primary": "loss"},
        {"defence": "quantize:0.1"},
        {"confidence": 0.9},
    ):
        with refuses("fixed-choice"):
            run.judge(**choice)
    with refuses("judged-otherwise", option="until_decided"):
        run.compared(["quantize:0.1"])
    with Journal.read(run.journal) as journal, refuses("judged-otherwise", "until_decided"):
        judge(journal, Choice(CONFIG.judging.attacks))
    assert run.judge(attacks=CONFIG.judging.attacks).looks == 1, "the same choice is no other"


def test_before_the_first_whole_pair_there_is_nothing_to_judge(tmp_path):
    path = journal_until(tmp_path / "run" / "j", 40)
    with Journal.read(path) as journal:
        for table in ("trials", "seen"):
            journal._db.execute(f"DELETE FROM {table} WHERE idx = 0 AND world = 0")
        with refuses("not-complete", option="models", value=39):
            judge_stopped(journal, Choice(("loss",)))


def test_a_defence_stands_between_the_models_and_the_bets(config, tmp_path):
    """So coarse that nothing is left to tell the worlds by."""
    config = config.changed(defence="quantize:1", attacks=("mean",), models=60)
    report = run_in_process(config, tmp_path / "run").judge()
    assert report.defence == "quantize:1"


# ---------------------------------------------------------------- the configuration


@pytest.mark.parametrize("setting", [{"primary": "loss"}, {"estimator": "gdp"}])
def test_what_bets_together_leaves_nothing_to_choose(config, setting):
    (name,) = setting
    with refuses("excluded-options", option=name, value="until_decided"):
        audit.prepare(config.changed(**setting))


def test_other_runs_keep_their_name():
    """A setting that is not asked for is not part of the run."""
    assert "until_decided" not in Config().to_dict()
    assert Config.of(until_decided=True).digest() != Config().digest()
