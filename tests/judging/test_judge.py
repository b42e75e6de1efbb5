import math
import shlex
from dataclasses import asdict
from functools import partial
from unittest.mock import patch

import numpy as np
import playground
import pytest
from playground import KNOWN, facts, observe, run_facts, worlds_and_indices
from refusals import refuses
from scipy.stats import binom

from dpaudit.attacks import Loss
from dpaudit.config.settings import Judging
from dpaudit.errors import BadInput
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.estimators.power.prospect import models_needed
from dpaudit.estimators.published import published_estimate
from dpaudit.estimators.trials import Trials
from dpaudit.journal import Journal
from dpaudit.judging.advice import next_steps
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import deciding_confidence, judge, verdict
from dpaudit.judging.panel import pick_attack
from dpaudit.outputs import with_statistics
from dpaudit.rates import BoundCriterion
from dpaudit.results import NOTHING_TO_CHOOSE, Bound
from dpaudit.seeds import generator, trials
from dpaudit.types import IN, OUT, Claim, DPSGDCurve, GaussianCurve, StepsCurve

DELTA = 1e-5
FAST = ("loss", "mean", "min", "max")
ALL = Choice([name for name in Judging.attacks if name != "released"]).attack_plugins
"""Every default attack on a classifier."""


COUNTED = {"estimator": "clopper-pearson"}
"""Most of this file is about rules and their errors; `test_panel.py` is about scores."""


def write_journal(path, seen, **configured):
    return playground.write_journal(path, seen, **{**COUNTED, **configured})


def judge_run(path, *attacks, permutations=5, **choice):
    """A judgement; it takes its time for the permutation null only where a test is about that."""
    few = patch("dpaudit.estimators.published.PERMUTATIONS", permutations)
    with few, Journal.read(path) as journal:
        return judge(journal, Choice(attacks or FAST, **{**COUNTED, **choice}))


def deciding_bound(report):
    return report.bounds[report.primary]


def observations_of(models, shift=0.0, seed=0):
    worlds, _ = worlds_and_indices(models)
    return observe(worlds, np.random.default_rng(seed), shift)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.sqlite"


# ---------------------------------------------------------------- a bound is a bound


def audits_of_nothing(games, models, attacks):
    """The primary's bounds, for so many audits in which both worlds are the same.

    All that `judge` does but the journal: the primary picked and its rule fixed on the choosing
    half. Beside each the bound of the same rule on the very half that it was chosen on.
    """
    worlds, indices = worlds_and_indices(models)
    choosing, judging = indices % 2 == 0, indices % 2 == 1
    criterion, estimator = BoundCriterion(DELTA), ClopperPearson()
    panels = Choice(tuple(attacks), **COUNTED).panels(attacks, Claim(8.0, DELTA), seed=0)
    for seed in range(games):
        seen = with_statistics(observe(worlds, np.random.default_rng([7, seed])))
        played = {name: Trials(a.features(seen, KNOWN), worlds) for name, a in attacks.items()}
        primary = pick_attack(attacks, panels, played)
        rule = played[primary][choosing].fit(attacks[primary], criterion)
        yield tuple(
            estimator.bound(played[primary][half].count(rule), DELTA).epsilon
            for half in (judging, choosing)
        )


def worst_alarm_rate(n):
    """P[bound > 0] of a fixed rule, for whichever error rates a mechanism without a leak has."""
    k = np.arange(n + 1)
    alarm = BoundCriterion(DELTA)(k[:, None], n, k[None, :], n) > 0
    return max(binom.pmf(k, n, p) @ alarm @ binom.pmf(k, n, 1 - p) for p in np.linspace(0, 1, 101))


def test_no_leak_certifies_zero_with_the_stated_confidence():
    """At 95 % at most 1 audit in 20 of a mechanism without a leak may say more than 0.

    A fixed rule alarms in 0.11 % of audits at most, by enumeration; a
    rule chosen on other models, of a primary picked on other models, may not alarm more often.
    The tolerance has a false-alarm probability below 1e-4. The same rules on the models that
    they were chosen on do exceed it: the test can see a selection that is not paid for.
    """
    games, rate = 200, worst_alarm_rate(20)
    assert rate <= 0.05
    tolerated = binom.isf(1e-4, games, rate)
    held_out, in_sample = np.array(list(audits_of_nothing(games, 80, ALL))).T
    assert (held_out > 0).sum() <= tolerated
    assert (in_sample > 0).sum() > tolerated


def test_a_strong_leak_is_certified_and_stays_below_the_ceiling(path):
    write_journal(path, observations_of(200, shift=8.0), attacks=FAST)
    report = judge_run(path)
    for bound in report.bounds:
        assert 1.0 < bound.epsilon <= bound.ceiling
    assert deciding_bound(report).ceiling == pytest.approx(ClopperPearson().ceiling(50, 50, DELTA))


def test_selection_alone_is_shown_beside_a_certified_zero(path):
    """The pattern that the tool exists for: published numbers of a mechanism without a leak."""
    report = judge_run(
        write_journal(path, observations_of(80)), "loss", "mean+std", permutations=200
    )
    assert [bound.epsilon for bound in report.bounds] == [0, 0]
    one, two = report.published
    assert 0.7 < one.null_mean < two.null_mean < two.null_q95


@pytest.mark.parametrize("models", [4, 8])
def test_the_smallest_runs_are_judged_too(path, models):
    write_journal(path, observations_of(models, shift=9.0))
    report = judge_run(path, *Choice().attacks)
    assert [b.epsilon for b in report.bounds] == [0.0] * 5
    assert report.verdict == "INCONCLUSIVE"
    assert report.models == {
        "in": models // 2,
        "out": models // 2,
        "choosing": models // 2,
        "judging": models // 2,
    }


# ---------------------------------------------------------------- two halves


def with_half(models, half, change):
    """Observations of a leak in which one half of the indices is changed."""
    seen = observations_of(models, shift=1.5)
    worlds, indices = worlds_and_indices(models)
    rows = np.flatnonzero(indices % 2 == half)
    changed = {name: array.copy() for name, array in seen.items()}
    for array in changed.values():
        array[rows] = array[rows][change(worlds[rows])]
    return seen, changed


def swapped(worlds):
    """Every trial's observations become those of the other world."""
    return np.arange(len(worlds)) ^ 1


def turned(worlds):
    """Some of each world's observations change places with those of the other."""
    return np.random.default_rng(1).permutation(len(worlds))


@pytest.mark.parametrize("change", [swapped, turned])
def test_judging_half_changes_neither_rule_nor_primary(tmp_path, change):
    before, after = with_half(80, half=1, change=change)
    a = judge_run(write_journal(tmp_path / "a" / "j", before))
    b = judge_run(write_journal(tmp_path / "b" / "j", after))
    assert a.primary == b.primary
    assert [x.rule for x in a.bounds] == [x.rule for x in b.bounds]
    assert [x.counts for x in a.bounds] != [x.counts for x in b.bounds]


def test_choosing_half_makes_the_rule(tmp_path):
    before, after = with_half(80, half=0, change=swapped)
    a = judge_run(write_journal(tmp_path / "a" / "j", before))
    b = judge_run(write_journal(tmp_path / "b" / "j", after))
    for x, y in zip(a.bounds, b.bounds, strict=True):
        assert x.rule != y.rule


def test_primary_is_the_attack_that_does_best_on_the_choosing_half(tmp_path):
    """A leak that only the logits show, and one that only the MC samples show."""
    for shown, hidden in (("logits", "mc"), ("mc", "logits")):
        seen = {**observations_of(80, shift=5.0), hidden: observations_of(80, seed=1)[hidden]}
        report = judge_run(write_journal(tmp_path / shown / "j", seen), "loss", "mean")
        assert deciding_bound(report).attack == {"logits": "loss", "mc": "mean"}[shown]


def test_primary_that_was_named_decides_even_if_it_is_the_weakest(path):
    seen = {**observations_of(80, shift=5.0), "logits": observations_of(80, seed=1)["logits"]}
    report = judge_run(write_journal(path, seen), "loss", "mean", primary="loss")
    assert deciding_bound(report).attack == "loss"
    assert report.bounds[0].epsilon < report.bounds[1].epsilon


def test_pick_takes_the_first_attack_where_there_is_nothing_to_go_by():
    worlds, _ = worlds_and_indices(2)
    seen = with_statistics(observe(worlds, np.random.default_rng(0)))
    attacks = Choice(FAST).attack_plugins
    panels = Choice(FAST).panels(attacks, Claim(8.0, DELTA), seed=0)
    trials = {name: Trials(a.features(seen, KNOWN), worlds) for name, a in attacks.items()}
    assert pick_attack(attacks, panels, trials) == "loss"


# ---------------------------------------------------------------- looks


def test_same_primary_stays_the_first_look(path):
    write_journal(path, observations_of(80, shift=3.0), attacks=FAST, primary="loss")
    first, again = judge_run(path, primary="loss"), judge_run(path, "mean", "loss", primary="loss")
    assert first.looks == again.looks == 1
    assert deciding_bound(first) == deciding_bound(again)
    assert deciding_bound(first).confidence == 0.95


@pytest.mark.parametrize(
    ("assumption", "curve", "expected"),
    [
        ("none", None, "VIOLATION"),
        ("gaussian", None, "INCONCLUSIVE"),
        ("gaussian", DPSGDCurve(0.1, 10, 1.0), "INCONCLUSIVE"),
        ("gaussian", GaussianCurve(1.0), "VIOLATION"),
        ("accountant", None, "INCONCLUSIVE"),
        ("accountant", DPSGDCurve(0.1, 10, 1.0), "VIOLATION"),
        ("prior", GaussianCurve(1.0), "INCONCLUSIVE"),
        ("accountant", StepsCurve(0.1, 10, 1.0), "VIOLATION"),
        ("gaussian", StepsCurve(1.0, 10, 1.0), "INCONCLUSIVE"),
        ("none", StepsCurve(0.1, 10, 1.0), "INCONCLUSIVE"),
    ],
)
def test_a_curve_refutes_only_a_claim_that_has_it(assumption, curve, expected):
    bound = Bound(5.0, DELTA, 0.95, "any", assumption, "hold-out", 9.0)
    assert verdict(Claim(1.0, DELTA, curve=curve), bound) == expected


def test_diverged_models_are_counted_in_a_warning(path):
    seen = observations_of(8)
    seen["logits"][3] = np.nan
    report = judge_run(write_journal(path, seen, attacks=["loss"]), "loss")
    assert report.warnings[-1].startswith("1 of 8 models diverged")


def test_the_first_look_is_the_configurations_own_whoever_judges_first(path):
    """Else a run that was killed before its own judgement would lose its confidence to another."""
    write_journal(path, observations_of(80, shift=3.0), attacks=FAST)
    assert judge_run(path, "mean & max").looks == 2
    assert judge_run(path).looks == 1
    assert judge_run(path, deciding_bound(judge_run(path)).attack).looks == 1


def test_another_primary_decides_at_a_quarter_of_the_error(path):
    write_journal(path, observations_of(80, shift=3.0), attacks=FAST, primary="loss")
    second = judge_run(path, primary="mean")
    assert second.looks == 2
    assert deciding_bound(second).confidence == pytest.approx(1 - 0.05 / 4)
    counts = deciding_bound(second).counts
    expected = ClopperPearson(1 - 0.05 / 4).bound(counts, DELTA)
    assert deciding_bound(second).epsilon == pytest.approx(expected.epsilon)
    assert deciding_bound(second).ceiling == pytest.approx(expected.ceiling)
    others = [b for b in second.bounds if b.attack != "mean"]
    assert {b.confidence for b in others} == {0.95}
    third = judge_run(path, "max", primary="max", confidence=0.9)
    assert deciding_bound(third).confidence == pytest.approx(1 - 0.1 / 8)
    assert judge_run(path, "loss", primary="loss").looks == 1


def test_all_looks_together_err_with_at_most_one_and_a_half_of_the_stated_error():
    """a + a/4 + a/8 + ...: what the law's numbering allows."""
    errors = [1 - deciding_confidence(0.95, look) for look in range(1, 40)]
    assert errors[0] == pytest.approx(0.05)
    assert errors == sorted(errors, reverse=True)
    assert sum(errors) <= 1.5 * 0.05 + 1e-12


def test_another_confidence_never_tries_another_rule(path):
    """Else one could ask for .95, .951, .952 ... until a threshold fits the judging half.

    On these trials the thresholds that are best at each confidence are four different ones.
    """
    write_journal(path, observations_of(160, shift=1.5, seed=1), attacks=["loss"])
    reports = [judge_run(path, "loss", confidence=c) for c in (0.6, 0.9, 0.95, 0.99, 0.999)]
    assert {r.looks for r in reports} == {1}
    assert len({deciding_bound(r).rule for r in reports}) == 1
    bounds = [deciding_bound(r).epsilon for r in reports]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1]


@pytest.mark.parametrize(
    "bad",
    [
        {"estimator": "clopper"},
        {"confidence": 0.0},
        {"confidence": 1.0},
        {"confidence": 2.0},
        {"confidence": math.nan},
        {"primary": "all-four"},
        {"attacks": ("loss", "losss")},
        {"attacks": ("mean & ",)},
    ],
    ids=str,
)
def test_a_refused_judgement_is_no_look(path, bad):
    write_journal(path, observations_of(8))
    before = path.read_bytes()
    with pytest.raises(BadInput) as caught:
        judge_run(path, *bad.pop("attacks", FAST), **bad)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


# ---------------------------------------------------------------- the verdict


@pytest.mark.parametrize(
    ("epsilon", "ceiling", "expected"),
    [
        (1.1, 3.0, "VIOLATION"),
        (np.nextafter(1.0, 2), 3.0, "VIOLATION"),
        (1.0, 3.0, "NO_VIOLATION_FOUND"),
        (0.0, 3.0, "NO_VIOLATION_FOUND"),
        (0.0, 1.0, "NO_VIOLATION_FOUND"),
        (0.0, np.nextafter(1.0, 0), "INCONCLUSIVE"),
        (0.9, 0.9, "INCONCLUSIVE"),
        (0.0, 0.0, "INCONCLUSIVE"),
    ],
)
def test_verdict_is_the_claim_against_bound_and_ceiling(epsilon, ceiling, expected):
    bound = Bound(epsilon, DELTA, 0.95, "clopper-pearson", "none", "hold-out", ceiling)
    assert verdict(Claim(1.0, DELTA), bound) == expected


def test_where_nothing_is_promised_nothing_is_refuted():
    bound = Bound(3.0, 0.0, 0.95, "exact-scan", "none", NOTHING_TO_CHOOSE, 3.0)
    assert verdict(Claim(np.inf, 0.0), bound) == "NO_GUARANTEE_CLAIMED"


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [(0.5, "VIOLATION"), (2.5, "NO_VIOLATION_FOUND"), (2.6, "INCONCLUSIVE")],
)
def test_verdict_of_a_journal(path, claimed, expected):
    """50 judging trials a world have a ceiling of 2.57."""
    write_journal(path, observations_of(200, shift=3.0), epsilon=claimed)
    report = judge_run(path, "loss")
    assert report.verdict == expected
    assert report.claim.epsilon == claimed
    assert report.next_steps


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 2.2, 3, 5, 8, 12, 20])
@pytest.mark.parametrize("confidence", [0.6, 0.95, 0.9875])
def test_models_needed_really_have_a_ceiling_above(epsilon, confidence):
    """Just above: one trial fewer in each world does not."""
    for estimator, selection in (
        (ClopperPearson(confidence), "hold-out"),
        (ExactScan(confidence), "hold-out"),
        (ExactScan(confidence), NOTHING_TO_CHOOSE),
    ):
        name = "clopper-pearson" if isinstance(estimator, ClopperPearson) else "exact-scan"
        bound = Bound(0.0, DELTA, confidence, name, "none", selection, 0.0)
        needed = models_needed(Claim(epsilon, DELTA), bound)
        share = 4 if selection == "hold-out" else 2
        n = needed // share
        assert estimator.ceiling(n, n, DELTA) > epsilon
        assert n == 1 or estimator.ceiling(n - 1, n - 1, DELTA) <= epsilon


@pytest.mark.parametrize("epsilon", [50.0, 800.0, 1e6])
def test_a_claim_beyond_all_models_is_told_so(epsilon):
    bound = Bound(0.0, DELTA, 0.95, "clopper-pearson", "none", "hold-out", 2.57)
    claim = Claim(epsilon, DELTA)
    assert models_needed(claim, bound) is None
    advice = next_steps(run_facts(claim), bound, 2.57, [])[0]
    assert f"{epsilon:.3g}" in advice
    assert "--models" not in advice


def test_advice_fits_what_was_judged():
    bound = Bound(0.0, DELTA, 0.95, "someone-elses", "none", "hold-out", 2.57)
    advised = partial(next_steps, run_facts(Claim(8.0, DELTA)), bound, 2.57)
    assert "(--models)" in advised([])[0]
    for attacks, named in ((["mean+std"], "mean & inv_std"), (["released"], "total")):
        assert (
            f"--attack {shlex.quote(named)}." in advised(attacks, others=["released", "total"])[-1]
        )


# ---------------------------------------------------------------- what is refused


def incomplete(path, played):
    with Journal.open_for_writing(path, {"seed": 0, "models": 8}) as journal:
        journal.write_facts(facts(), KNOWN)
        for trial, row in zip(trials(0, 8)[:played], range(8), strict=False):
            seen = observations_of(8)
            journal.add(trial, {name: array[row] for name, array in seen.items()}, 1.0)


@pytest.mark.parametrize("played", [0, 7])
def test_an_incomplete_run_is_refused_with_the_way_to_go_on(path, played):
    incomplete(path, played)
    with refuses("not-complete", option="models", value=played) as caught:
        judge_run(path)
    assert f"({played} of 8 models)" in str(caught.value)
    assert str(caught.value).endswith(" dpaudit.play")
    (path.parent / "config.toml").touch()
    with refuses("not-complete", option="models", value=played) as caught:
        judge_run(path)
    folder = path.parent
    way = f"dpaudit run --config {folder}/config.toml --out {folder}"
    assert str(caught.value).endswith(f" {way}")


def test_a_run_that_settled_nothing_is_refused(path):
    Journal.open_for_writing(path, {"seed": 0, "models": 8}).close()
    with refuses("not-complete", option="models", value=0):
        judge_run(path)


def test_an_attack_whose_needs_are_not_released_is_refused(path):
    seen = observations_of(8)
    write_journal(path, {"probabilities": seen["probabilities"]})
    for attack, needs in (("loss", "logits"), ("mean", "mean"), ("min", "mc")):
        with refuses("not-released", option=attack, value=needs):
            judge_run(path, attack)


@pytest.mark.parametrize(
    ("shown", "fitting"),
    [
        (["logits"], ["loss", "learned"]),
        (["mc"], ["mean+std", "min+max", "all-four", "learned"]),
        (["values"], ["released"]),
    ],
)
def test_default_attacks_are_those_that_fit_what_is_released(path, shown, fitting):
    seen = {**observations_of(8), "values": np.zeros((8, 2))}
    write_journal(path, {name: seen[name] for name in shown})
    report = judge_run(path, *Judging.attacks)
    assert [bound.attack for bound in report.bounds] == fitting


def test_a_run_whose_own_attack_never_fitted_can_be_judged_by_another(path):
    write_journal(path, {"logits": observations_of(80)["logits"]}, attacks=["released"])
    assert judge_run(path, "loss").looks == 2


def test_what_no_default_attack_fits_is_refused(path):
    write_journal(path, {"weights": np.zeros((8, 2))})
    with refuses("no-attack-fits", option="attacks", value=["weights"]):
        judge_run(path, *Judging.attacks)


# ---------------------------------------------------------------- defences


def test_a_defence_stands_between_the_models_and_the_attacks(path):
    write_journal(path, observations_of(80, shift=8.0))
    open_, coarse = judge_run(path, "mean"), judge_run(path, "mean", defence="quantize:1")
    assert open_.defence == "none"
    assert coarse.defence == "quantize:1"
    assert set(coarse.evidence.scores[0].inn) <= {0.0, 1.0}
    with refuses("not-released", option="min", value="mc"):
        judge_run(path, "min", defence="quantize:0.01")


def test_another_defence_is_another_look(path):
    write_journal(path, observations_of(80, shift=3.0), attacks=["mean"])
    assert judge_run(path, "mean").looks == 1
    assert judge_run(path, "mean", defence="quantize:0.01").looks == 2
    assert judge_run(path, "mean", defence="quantize:0.1").looks == 3
    assert judge_run(path, "mean", defence="quantize:0.01").looks == 2


def test_a_configured_defence_is_the_first_look(path):
    write_journal(
        path, observations_of(80, shift=3.0), attacks=["mean", "loss"], defence="quantize:0.01"
    )
    assert judge_run(path, "mean", "loss", defence="quantize:0.01").looks == 1
    assert judge_run(path, "mean", "loss").looks == 2


# ---------------------------------------------------------------- warnings


def test_models_that_repeat_each_other_are_warned_of(path):
    seen = observations_of(80)
    seen["logits"][[3, 4, 5]] = seen["logits"][2]
    seen["logits"][[10, 11]] = np.nan  # diverged, which is told elsewhere
    warnings = judge_run(write_journal(path, seen)).warnings
    assert any("3 of 80 models release exactly the same" in warning for warning in warnings)
    fresh = write_journal(path.parent / "fresh" / "j", observations_of(80))
    assert not judge_run(fresh).warnings


# ---------------------------------------------------------------- evidence


def test_evidence_is_what_the_bounds_were_counted_on(path):
    write_journal(path, observations_of(80, shift=2.0))
    report = judge_run(path, "loss", "mean & inv_std", "learned")
    for bound, scores, cut in zip(
        report.bounds, report.evidence.scores, report.evidence.cuts, strict=True
    ):
        assert bound.counts.fp == (scores.out > cut).sum()
        assert bound.counts.fn == (scores.inn <= cut).sum()
        assert (bound.counts.out, bound.counts.inn) == (len(scores.out), len(scores.inn))


# ---------------------------------------------------------------- the published estimate


def naive_in_sample(scores, worlds):
    """The paper's formula at every threshold, without any cleverness."""
    best = 0.0
    for threshold in [-np.inf, *scores, np.inf]:
        says_in = scores > threshold
        fpr, fnr = says_in[worlds == OUT].mean(), (~says_in)[worlds == IN].mean()
        for one, other in ((fpr, fnr), (fnr, fpr)):
            if other > 0 and 1 - DELTA - one > 0:
                best = max(best, math.log((1 - DELTA - one) / other))
    return best


@pytest.mark.parametrize(("models", "chunks"), [(40, 1), (98, 1), (100, 1), (248, 2)])
def test_published_estimate_is_the_papers_over_chunks_of_100(models, chunks):
    worlds, _ = worlds_and_indices(models)
    seen = observe(worlds, np.random.default_rng(models), shift=1.0)
    features = Loss().features(seen, KNOWN)
    got = published_estimate("loss", Loss(), Trials(features, worlds), DELTA, seed=5)

    size = min(models, 100) // 2
    rows = [
        np.concatenate([np.flatnonzero(worlds == w)[c * size : (c + 1) * size] for w in (OUT, IN)])
        for c in range(chunks)
    ]
    if models < 100:
        rows = [np.arange(models)]
    estimates = [naive_in_sample(features[r, 0], worlds[r]) for r in rows]
    draw, null = generator(5, "permutations", "loss"), []
    for r in rows:
        null += [
            naive_in_sample(features[r, 0], draw.permutation(worlds[r]))
            for _ in range(200 // chunks)
        ]
    spread = np.std(estimates, ddof=1) if chunks > 1 else 0.0
    assert got.attack == "loss"
    assert {k: v for k, v in asdict(got).items() if k != "attack"} == pytest.approx(
        {
            "epsilon_in_sample": np.mean(estimates),
            "epsilon_in_sample_std": spread,
            "chunks": chunks,
            "null_mean": np.mean(null),
            "null_q95": np.quantile(null, 0.95),
            "permutations": 200,
        },
        rel=1e-12,
    )


@pytest.mark.parametrize("models", [300, 320, 700])
def test_permutations_are_200_in_all_whatever_the_chunks(models):
    worlds, _ = worlds_and_indices(models)
    features = Loss().features(observe(worlds, np.random.default_rng(0)), KNOWN)
    got = published_estimate("loss", Loss(), Trials(features, worlds), DELTA, seed=0)
    assert (got.chunks, got.permutations) == (models // 100, 200)


def test_without_a_leak_the_estimate_is_one_of_its_null():
    """It is one more shuffle, so it passes the null's 95 % quantile in 1 game of 20.

    Of 25 games 9 or more have probability below 1e-4 even at 7 % (200 shuffles know the
    quantile only roughly). And the estimate is far from 0 all the same.
    """
    worlds, _ = worlds_and_indices(40)
    assert binom.sf(8, 25, 0.07) < 1e-4
    passed, estimates = 0, []
    for seed in range(25):
        features = Loss().features(observe(worlds, np.random.default_rng([3, seed])), KNOWN)
        got = published_estimate("loss", Loss(), Trials(features, worlds), DELTA, seed)
        passed += got.epsilon_in_sample > got.null_q95
        estimates.append(got.epsilon_in_sample)
    assert passed <= 8
    assert np.mean(estimates) > 0.7


# ---------------------------------------------------------------- the rest of the report


def test_report_carries_what_was_run_facts(path):
    seen = observations_of(8)
    report = judge_run(write_journal(path, seen, epsilon=3.0, seed=4))
    told = facts(3.0)
    assert report.claim == Claim(3.0, DELTA)
    assert report.seed == 4
    for name in ("data", "canary", "adversary", "backend", "versions", "warnings"):
        assert getattr(report, name) == told[name]
    assert report.seconds["training"] == 8 * 0.5
    worlds, _ = worlds_and_indices(8)
    accuracy = seen["accuracy"]
    assert report.utility == pytest.approx(
        {
            "accuracy": accuracy.mean(),
            "accuracy_in": accuracy[worlds == IN].mean(),
            "accuracy_out": accuracy[worlds == OUT].mean(),
        }
    )


def test_expressions_are_attacks(path):
    report = judge_run(
        write_journal(path, observations_of(80, shift=4.0)), "mean & inv_std", "min | max"
    )
    assert [b.attack for b in report.bounds] == ["mean & inv_std", "min | max"]
    assert "&" in report.bounds[0].rule or "inv_std" not in report.bounds[0].rule
