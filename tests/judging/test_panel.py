"""Who judges what: the exact tests of scores, what stands beside them, and who decides."""

from unittest.mock import patch

import numpy as np
import playground
import pytest
from chance import count_is
from playground import KNOWN, observe, worlds_and_indices
from refusals import refuses
from scipy.stats import binom

from dpaudit import registry
from dpaudit.accounting import epsilon, gaussian_epsilon
from dpaudit.attacks import Learned, Loss, MeanStd
from dpaudit.errors import BadInput
from dpaudit.estimators import FREE, PLD, ClopperPearson, ExactScan, PairedAUC, RankTest
from dpaudit.estimators.trials import Trials
from dpaudit.journal import Journal
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import judge
from dpaudit.judging.panel import BY_STEP, EstimatorPanel
from dpaudit.outputs import with_statistics
from dpaudit.rates import BoundCriterion, upper_rate
from dpaudit.types import Claim, DPSGDCurve, GaussianCurve, StepsCurve

DELTA = 1e-5
SUBSAMPLED = DPSGDCurve(0.1, 100, 1.0)
ENDLESS = DPSGDCurve(1e-5, 10**7, 1.0)
STEPS = StepsCurve(0.05, 80, 1.0)
COUNTED = "clopper-pearson"


def claimed(curve=None, epsilon=8.0):
    return Claim(epsilon, DELTA, curve=curve)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.sqlite"


def write_journal(path, seen, claim, **configured):
    """A journal of a run that claims something."""
    told = {**playground.facts(), "claim": claim.to_dict()}
    with patch("playground.facts", return_value=told):
        return playground.write_journal(path, seen, **configured)


def judge_run(path, *attacks, **choice):
    few = patch("dpaudit.estimators.published.PERMUTATIONS", 1)
    with few, Journal.read(path) as journal:
        return judge(journal, Choice(attacks or ("loss", "mean+std", "learned"), **choice))


def observations_of(models, shift=0.0, seed=0):
    worlds, _ = worlds_and_indices(models)
    return observe(worlds, np.random.default_rng(seed), shift)


def deciding_bound(report):
    return report.bounds[report.primary]


# ---------------------------------------------------------------- who judges


@pytest.mark.parametrize(
    ("attack", "curve", "names"),
    [
        (Loss(), SUBSAMPLED, ("rank-test", "exact-scan")),
        (Learned(), SUBSAMPLED, ("rank-test", "exact-scan")),
        (Loss(), GaussianCurve(1.0), ("rank-test", "exact-scan")),
        (Loss(), None, ("exact-scan",)),
        (Loss(), ENDLESS, ("exact-scan",)),
        (MeanStd(), SUBSAMPLED, ("clopper-pearson",)),
        (MeanStd(), None, ("clopper-pearson",)),
        (Loss(), STEPS, ("paired-auc",)),
        (MeanStd(), STEPS, ("paired-auc",)),
    ],
    ids=repr,
)
def test_the_strongest_that_attack_and_claim_allow_judges(attack, curve, names):
    assert EstimatorPanel.of("auto", attack, claimed(curve), seed=0).names == names


@pytest.mark.parametrize(
    ("named", "curve", "names"),
    [
        (COUNTED, SUBSAMPLED, [COUNTED]),
        ("jeffreys", None, [COUNTED, "jeffreys"]),
        ("gdp", GaussianCurve(1.0), ["gdp", COUNTED]),
        ("pld", SUBSAMPLED, ["pld", COUNTED]),
        ("rank-test", SUBSAMPLED, ["rank-test", "exact-scan", COUNTED]),
        ("rank-test", None, ["rank-test", COUNTED]),
        ("paired-auc", GaussianCurve(1.0), ["paired-auc", "exact-scan", COUNTED]),
        ("paired-auc", None, ["paired-auc", COUNTED]),
        ("exact-scan", SUBSAMPLED, ["exact-scan", COUNTED]),
        ("e-process", None, ["e-process", COUNTED]),
    ],
)
def test_what_assumes_nothing_stands_beside_what_assumes_something(path, named, curve, names):
    write_journal(
        path, observations_of(40, shift=3.0), claimed(curve), estimator=named, attacks=["mean+std"]
    )
    report = judge_run(path, "mean+std", estimator=named)
    assert [b.estimator for b in report.bounds] == names
    assert "none" in [b.assumption for b in report.bounds]
    assert report.primary == 0
    assert report.looks == 1
    for bound in report.bounds:
        assert 0 <= bound.epsilon <= bound.ceiling
        assert bound.trials == (10, 10)


def test_the_rank_test_is_given_the_claims_curve_and_the_runs_seed(path):
    seen = observations_of(120, shift=2.0)
    write_journal(path, seen, claimed(SUBSAMPLED), seed=7, primary="loss")
    report = judge_run(path, "loss", "learned", primary="loss")
    worlds, _ = worlds_and_indices(120)
    for attack, judging in ((Loss(), slice(None)), (Learned(), 1)):
        trials = Trials(attack.features(with_statistics(seen), KNOWN), worlds)
        half = trials if judging == slice(None) else trials.halves()[judging]
        scores = half.scores(trials.halves()[0].fit(attack, BoundCriterion(DELTA)))
        ranked, scanned = (
            bound
            for bound in report.bounds
            if bound.attack == type(attack).__name__.lower() and bound.counts is None
        )
        assert ranked.epsilon == RankTest(SUBSAMPLED, seed=7).bound(scores, DELTA).epsilon > 0
        assert scanned.epsilon == ExactScan(seed=7).bound(scores, DELTA).epsilon
        assert (ranked.assumption, scanned.assumption) == ("accountant", "none")
        assert ranked.sentence
        assert scanned.sentence


def test_a_leak_beyond_the_accountants_curve_is_a_violation(path):
    """Where Clopper-Pearson could not even have reached the claim."""
    write_journal(
        path, observations_of(160, shift=9.0), claimed(SUBSAMPLED, epsilon=5.0), primary="loss"
    )
    report = judge_run(path, primary="loss")
    assert report.verdict == "VIOLATION"
    assert deciding_bound(report).epsilon > 5 > ClopperPearson().ceiling(80, 80, DELTA)


def test_a_curve_that_takes_too_long_is_done_without_and_said_so(path):
    write_journal(path, observations_of(8), claimed(ENDLESS), attacks=["loss"])
    report = judge_run(path, "loss")
    assert [b.estimator for b in report.bounds] == ["exact-scan", "clopper-pearson"]
    assert "curve" in report.warnings[-1]


# ---------------------------------------------------------------- single steps


def test_steps_are_judged_in_pairs_by_what_they_make_up_and_by_nothing_else(path):
    write_journal(path, observations_of(160, shift=3.0), claimed(STEPS), attacks=["loss"], seed=7)
    report = judge_run(path, "loss")
    bound, counted = report.bounds
    worlds, _ = worlds_and_indices(160)
    trials = Trials(
        Loss().features(with_statistics(observations_of(160, shift=3.0)), KNOWN), worlds
    )
    scores = trials.scores(trials.fit(Loss(), BoundCriterion(DELTA)))
    assert bound.epsilon == PairedAUC(STEPS).bound(scores, DELTA).epsilon > 0
    assert (bound.estimator, bound.assumption, bound.trials) == (BY_STEP, "accountant", (80, 80))
    assert (report.primary, report.published) == (0, [])
    for one in report.bounds:
        assert "single steps" in one.sentence
    for fact in (" 0.05,", " 80 steps ", "composition"):
        assert fact in bound.sentence
    # Errors of a rule that half of the steps chose, on the others.
    assert (counted.estimator, counted.trials) == ("pld", (40, 40))
    assert counted.epsilon == PLD(STEPS).bound(counted.counts, DELTA).epsilon > 0


def test_steps_with_less_noise_than_claimed_are_a_violation(path):
    write_journal(
        path, observations_of(160, shift=4.0), claimed(STEPS, epsilon=1.0), attacks=["loss"]
    )
    assert judge_run(path, "loss").verdict == "VIOLATION"


@pytest.mark.parametrize("named", registry.names("estimators"))
def test_nothing_that_would_bound_a_single_step_judges_steps(named):
    """All that assume nothing, a Gaussian curve or a prior: their epsilon is that of one step.

    And the rank test, which takes all pairs of trials: steps of one training are not independent.
    """
    composing = {"paired-auc", "pld"}
    assert not composing & set(FREE.values())
    if named in composing:
        panel = EstimatorPanel.of(named, Loss(), claimed(STEPS), seed=0)
        assert panel.names == (named,)
        panel.estimators(0.95)
    else:
        for refused in (
            lambda: EstimatorPanel.of(named, Loss(), claimed(STEPS), seed=0),
            lambda: EstimatorPanel((named,), claimed(STEPS), seed=0).estimators(0.95),
        ):
            with pytest.raises(BadInput) as caught:
                refused()
            if named == "rank-test":
                assert caught.value.code == "needs-independence"
            elif named.startswith("one-run"):
                assert caught.value.code == "wrong-outcome"
            else:
                assert "single steps" in str(caught.value)


def test_steps_whose_composition_takes_too_long_are_refused(path):
    """Without their composition they say nothing of the claim."""
    endless = claimed(StepsCurve(1e-5, 10**7, 1.0))
    write_journal(path, observations_of(8), endless, attacks=["loss"])
    with pytest.raises(BadInput, match=r" 10,000,000 .* 1e-05 "):
        judge_run(path, "loss")


def test_a_claim_about_steps_that_holds_exactly_is_refuted_as_rarely_as_stated(tmp_path):
    """Full batches: 60 steps of noise 3 leak as one Gaussian mechanism of mu sqrt(60)/3."""
    games, refuted, steps = 150, 0, StepsCurve(1.0, 60, 3.0)
    claim = Claim(epsilon(steps, DELTA), DELTA, curve=steps)
    assert claim.epsilon == gaussian_epsilon(np.sqrt(60) / 3, DELTA)
    for game in range(games):
        seen = {"logits": independent(120, np.random.default_rng([17, game]), 1 / 3)["logits"]}
        path = write_journal(tmp_path / str(game) / "j", seen, claim, seed=game, attacks=["loss"])
        refuted += judge_run(path, "loss").verdict == "VIOLATION"
    assert refuted <= binom.isf(1e-5, games, 0.05)


# ---------------------------------------------------------------- who decides


@pytest.mark.parametrize("curve", [None, GaussianCurve(1.0)])
def test_a_rule_of_counts_decides_where_it_shows_more(tmp_path, curve):
    """And a score where neither shows anything: its ceiling is the higher one."""
    for name, shift, picked in (("leak", 6.0, "mean+std"), ("none", 0.0, "loss")):
        seen = {
            **observations_of(120, shift=shift),
            "logits": observations_of(120, seed=1)["logits"],
        }
        path = write_journal(tmp_path / name / "j", seen, claimed(curve))
        for attacks in (("mean+std", "loss"), ("loss", "mean+std")):
            assert deciding_bound(judge_run(path, *attacks)).attack == picked
        named = judge_run(path, "mean+std", "loss", primary="mean+std")
        assert deciding_bound(named).estimator == "clopper-pearson"


@pytest.mark.parametrize("curve", [None, GaussianCurve(1.0)])
def test_the_score_that_does_best_on_the_choosing_half_decides(tmp_path, curve):
    for shown, hidden in (("logits", "mc"), ("mc", "logits")):
        seen = {**observations_of(80, shift=3.0), hidden: observations_of(80, seed=1)[hidden]}
        report = judge_run(
            write_journal(tmp_path / shown / "j", seen, claimed(curve)), "loss", "mean"
        )
        assert deciding_bound(report).attack == {"logits": "loss", "mc": "mean"}[shown]


def test_what_was_picked_is_judged_on_the_other_half_and_what_was_named_on_all(path):
    write_journal(path, observations_of(80, shift=3.0), claimed())
    picked = judge_run(path, "loss", "mean")
    other = next(b for b in picked.bounds if b is not deciding_bound(picked))
    assert (deciding_bound(picked).trials, other.trials) == ((20, 20), (40, 40))
    named = judge_run(path, "loss", "mean", primary="loss")
    assert {b.trials for b in named.bounds if b.counts is None} == {(40, 40)}


def test_all_trials_after_a_pick_on_half_of_them_are_another_look(path):
    """Else the trials that picked an attack would judge it too."""
    write_journal(path, observations_of(80, shift=3.0), claimed(), attacks=["loss", "mean"])
    first = judge_run(path, "loss", "mean")
    attack = deciding_bound(first).attack
    again = judge_run(path, "loss", "mean", primary=attack)
    alone = judge_run(path, attack)
    assert (first.looks, again.looks, alone.looks) == (1, 2, 2)
    assert deciding_bound(again) == deciding_bound(alone)
    assert deciding_bound(again).confidence == pytest.approx(1 - 0.05 / 4)


def test_another_estimator_is_another_look(path):
    write_journal(path, observations_of(80, shift=3.0), claimed(GaussianCurve(1.0)), primary="loss")
    looks = [
        judge_run(path, primary="loss", estimator=name).looks
        for name in ("auto", "rank-test", "exact-scan", "clopper-pearson", "exact-scan", "auto")
    ]
    assert looks == [1, 1, 2, 3, 2, 1]


def test_a_primary_that_is_not_released_is_refused(path):
    write_journal(path, {"logits": observations_of(8)["logits"]}, claimed())
    before = path.read_bytes()
    with refuses("not-released", option="mean+std", value="mean, std"):
        judge_run(path, *Choice().attacks, primary="mean+std")
    assert path.read_bytes() == before


def test_a_run_whose_own_estimator_is_gone_can_be_judged_by_another(path):
    write_journal(path, observations_of(8), claimed(), estimator="sold-out", attacks=["loss"])
    assert judge_run(path, "loss").looks == 2


def test_what_most_others_count_stands_beside_scores_that_decide(path):
    write_journal(
        path, observations_of(80, shift=3.0), claimed(GaussianCurve(1.0)), attacks=["loss"]
    )
    report = judge_run(path, "loss")
    assert [b.estimator for b in report.bounds] == ["rank-test", "exact-scan", COUNTED]
    assert report.bounds[-1].counts.out == 20, "a threshold is chosen on the other half"
    assert report.bounds[-1].confidence == 0.95
    named = judge_run(path, "loss", estimator="paired-auc")
    assert [b.estimator for b in named.bounds] == ["paired-auc", "exact-scan", COUNTED]


def test_attacks_that_are_all_to_decide_share_the_error(path):
    three = ("loss", "mean+std", "learned")
    write_journal(
        path, observations_of(80, shift=4.0), claimed(epsilon=0.5), primary="all", attacks=three
    )
    report = judge_run(path, *three, primary="all")
    assert (report.looks, report.deciders, report.verdict) == (1, [0, 1, 2], "VIOLATION")
    deciders = [report.bounds[i] for i in report.deciders]
    assert [b.confidence for b in deciders] == pytest.approx([1 - 0.05 / 3] * 3)
    assert deciding_bound(report).epsilon == max(b.epsilon for b in report.bounds)
    again = judge_run(path, *three, primary="loss")
    assert (again.looks, again.deciders) == (2, ())
    other = judge_run(path, "loss", "learned", primary="all")
    assert other.looks == 3
    assert deciding_bound(other).confidence == pytest.approx(1 - 0.05 / 8 / 2)


def test_of_all_deciders_the_farthest_reaching_says_what_could_have_been_shown(path):
    """A rule that shows most may itself not reach the claim."""
    seen = {**observations_of(80, shift=9.0), "logits": observations_of(80, seed=1)["logits"]}
    claim = claimed(GaussianCurve(1.0), epsilon=5.0)
    write_journal(path, seen, claim, primary="all", attacks=["loss", "mean+std"])
    report = judge_run(path, "loss", "mean+std", primary="all")
    assert deciding_bound(report).attack == "mean+std"
    assert deciding_bound(report).ceiling < 5 < report.reach
    assert report.verdict == "NO_VIOLATION_FOUND"


def test_a_look_that_would_have_to_be_too_sure_is_refused_and_not_numbered(path):
    write_journal(path, observations_of(8), claimed(), attacks=["loss"])
    with Journal.read(path) as journal:
        for number in range(20):
            journal.look(f"attack {number}", "any")
    before = path.read_bytes()
    with refuses("no-looks-left", value=22):
        judge_run(path, "mean")
    assert path.read_bytes() == before
    assert judge_run(path, "mean", estimator="clopper-pearson").looks == 22


@pytest.mark.parametrize(("primary", "confidence"), [("auto", 1 - 5e-6), ("all", 1 - 1.5e-5)])
def test_a_confidence_that_cannot_be_computed_is_refused_beforehand(path, primary, confidence):
    write_journal(path, observations_of(8), claimed())
    with refuses("out-of-range", option="confidence"):
        judge_run(path, "loss", "mean", primary=primary, confidence=confidence)


# ---------------------------------------------------------------- how often it errs


def independent(models, draw, mu=0.0):
    """Three statistics that know nothing of each other, and of the world nothing but `mu`."""
    worlds, _ = worlds_and_indices(models)
    z = draw.normal(size=(models, 3))
    z[:, 0] += mu * worlds
    p = 1 / (1 + np.exp(-z))
    logits = np.stack([np.zeros(models), z[:, 0], np.full(models, -40.0)], axis=1)
    mean, std = (np.repeat(p[:, [i]], 3, axis=1) for i in (1, 2))
    return {"logits": logits, "mean": mean, "std": std}


THREE = ("loss", "mean", "inv_std")
FAST = {"estimator": "paired-auc"}
"""An exact test of scores that takes a millisecond: the law is the same for all of them."""


def audits(tmp_path, games, looks, models=72, **choice):
    """Reports of one audit without a leak after another, each journal looked at so often."""
    for game in range(games):
        path = tmp_path / str(game) / "j"
        seen = independent(models, np.random.default_rng([11, game]))
        write_journal(path, seen, Claim(0.0, DELTA), seed=game, attacks=THREE, **choice)
        with patch("dpaudit.judging.judge.published_estimate"):  # no part of the verdict, and slow
            yield [judge_run(path, *THREE, primary=primary, **choice) for primary in looks]


def alarm_rate(pairs, confidence=0.95):
    """P[bound > 0] with no leak: how often so many coins show heads too often."""
    heads = np.arange(pairs + 1)
    shown = 1 - upper_rate(pairs - heads, pairs, 1 - confidence)
    return binom.pmf(heads, pairs, 0.5)[shown > 1 - (1 - DELTA) ** 2 / 2].sum()


def test_a_primary_that_was_picked_errs_as_often_as_stated(tmp_path):
    """Not more often for having been picked of three."""
    games = 200
    found = audits(tmp_path, games, ["auto"], **FAST)
    decided = sum(report.verdict == "VIOLATION" for (report,) in found)
    assert 0.045 < alarm_rate(18) <= 0.05
    assert count_is(decided, games, alarm_rate(18))


def test_all_looks_at_a_journal_together_err_as_rarely_as_the_law_says(tmp_path):
    """At a/4, a/8 and a/16 on three independent scores, none of them the configured one.

    Looks that all decided at a would refute three times as many journals as one does, and the
    test sees that.
    """
    games, refuted, unpaid = 150, 0, 0
    for reports in audits(tmp_path, games, THREE, **FAST):
        assert [r.looks for r in reports] == [2, 3, 4]
        refuted += any(r.verdict == "VIOLATION" for r in reports)
        unpaid += any(b.epsilon > 0 for r in reports for b in r.bounds if b.confidence == 0.95)
    rates = [alarm_rate(36, 1 - 0.05 / 2**look) for look in (2, 3, 4)]
    together = 1 - np.prod(1 - np.array(rates))
    assert together < 0.025
    assert count_is(refuted, games, together)
    assert not count_is(unpaid, games, together)


def test_attacks_that_all_decide_err_together_as_rarely_as_one(tmp_path):
    """Each has a/3, on all trials: at most 5 % of journals."""
    games = 150
    found = audits(tmp_path, games, ["all"], **FAST)
    refuted = sum(report.verdict == "VIOLATION" for (report,) in found)
    together = 1 - (1 - alarm_rate(36, 1 - 0.05 / 3)) ** 3
    assert together <= 0.05
    assert count_is(refuted, games, together)


@pytest.mark.verify
def test_a_claim_that_holds_exactly_is_refuted_as_often_as_stated(tmp_path):
    """By the defaults of a run: the score is the best there is, so that all of the 5 % are used."""
    mu, games, refuted = 2.0, 300, 0
    claim = Claim(gaussian_epsilon(mu, DELTA), DELTA, curve=GaussianCurve(mu))
    for game in range(games):
        seen = {"logits": independent(48, np.random.default_rng([13, game]), mu)["logits"]}
        path = write_journal(tmp_path / str(game) / "j", seen, claim, seed=game, primary="loss")
        with patch("dpaudit.judging.judge.published_estimate"):
            report = judge_run(path, "loss", "learned", primary="loss")
        assert (deciding_bound(report).estimator, report.looks) == ("rank-test", 1)
        refuted += report.verdict == "VIOLATION"
    assert count_is(refuted, games, 0.05)


def test_why_it_decides_is_told():
    gaussian = Claim(1.0, 1e-5, curve=GaussianCurve(1.0))
    steps = Claim(1.0, 1e-5, curve=StepsCurve(0.05, 40, 1.0))
    loss, several = registry.make("attacks", "loss"), registry.make("attacks", "mean+std")
    for named, attack, claim, said in (
        ("auto", loss, gaussian, "rank-test decides because the claim states its curve"),
        ("auto", loss, Claim(1.0, 1e-5), "exact-scan decides because the claim states no curve"),
        ("auto", several, gaussian, "clopper-pearson decides because rules on several"),
        ("auto", loss, steps, "paired-auc decides because the steps of a training follow"),
        ("gdp", loss, gaussian, "gdp decides because it was named (--estimator)."),
        ("joint-beta", loss, gaussian, "clopper-pearson decides because joint-beta, which was"),
    ):
        assert EstimatorPanel.of(named, attack, claim, seed=0).why(named).startswith(said)
