import math
from dataclasses import astuple, replace
from unittest.mock import patch

import numpy as np
import pytest
from playground import KNOWN, observe, worlds_and_indices, write_journal
from refusals import refuses
from scipy.stats import binom

from dpaudit.accounting import gaussian_epsilon
from dpaudit.attacks import Learned, Loss, MeanStd, Statistic, ThresholdAttack, ThresholdRule
from dpaudit.estimators import (
    GDP,
    PLD,
    ClopperPearson,
    EProcess,
    ExactScan,
    Jeffreys,
    OneRun,
    PairedAUC,
    RankTest,
)
from dpaudit.estimators.claim_curves import promises, refuse_other_curve
from dpaudit.estimators.hold_out import HoldOut
from dpaudit.estimators.one_run import best
from dpaudit.estimators.published import in_sample
from dpaudit.estimators.trials import Trials
from dpaudit.journal import Journal
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import judge
from dpaudit.outputs import with_statistics
from dpaudit.protocols import Attack
from dpaudit.rates import BoundCriterion, GaussianCriterion
from dpaudit.results import NOTHING_TO_CHOOSE, Counts, Decisions, Scores
from dpaudit.types import IN, OUT, Claim, DPSGDCurve, GaussianCurve

DELTA = 1e-5


def statistic(name, column=0):
    return Statistic(name, frozenset({"values"}), lambda seen, known: seen["values"][:, column])


ONE = ThresholdAttack(statistic("one"))
TWO = ThresholdAttack((statistic("one"), statistic("two", 1)))
"""A single statistic, and two of them joined by AND or OR."""

FIXED = ThresholdRule("&", ("one",), (1.0,), (1.0,))
"""A rule that is written down before anything is played."""


# ---------------------------------------------------------------- mechanisms of known epsilon


def in_turn(per_world):
    return np.tile([OUT, IN], per_world)


def nothing(per_world, draw):
    """Both worlds are the same; two statistics to be misled by."""
    return Trials(draw.normal(1.0, 1.0, (2 * per_world, 2)), in_turn(per_world), "nothing")


def randomized_response(per_world, draw, epsilon=1.0):
    """The true world with probability e^eps/(1+e^eps), and a uniform number added to it.

    Adding what does not depend on the world leaves (epsilon, 0); every number is then another
    threshold, and so is every number of the second statistic, which says nothing.
    """
    worlds = in_turn(per_world)
    honest = draw.random(len(worlds)) < 1 / (1 + math.exp(-epsilon))
    report = np.where(honest, worlds, 1 - worlds) + draw.uniform(0, 0.99, len(worlds))
    return Trials(np.stack([report, draw.normal(size=len(worlds))], axis=1), worlds, "response")


def shifted(per_world, draw, mu=2.0):
    """A Gaussian mechanism: the worlds are mu deviations apart."""
    worlds = in_turn(per_world)
    return Trials((draw.normal(size=len(worlds)) + mu * worlds)[:, None], worlds, "shifted")


def plain_response(per_world, draw, epsilon=1.0):
    """The report alone: the sharpest case, where the best AUC is that of the curve itself."""
    trials = randomized_response(per_world, draw, epsilon)
    return replace(trials, features=np.floor(trials.features[:, :1]))


# ---------------------------------------------------------------- a bound is a bound


GAMES, PER_WORLD = 200, 30


def misses(attack, estimator, play, delta, truth, games=GAMES, per_world=PER_WORLD):
    """In how many games of mechanisms of known epsilon the bound exceeds the truth."""
    missed = 0
    for game in range(games):
        trials = play(per_world, np.random.default_rng([11, game]))
        trials = replace(trials, features=trials.features[:, : len(attack.statistics)])
        bound = HoldOut().bound(attack, trials, estimator, delta, 0.95)
        assert bound.confidence == 0.95
        assert 0 <= bound.epsilon <= bound.ceiling
        missed += bound.epsilon > truth
    return missed


def most_misses(games=GAMES, rate=0.05):
    """More misses have a probability of 1e-6 at most, if no game has more than its rate.

    Some five such tests stand here: together they raise a false alarm with less than 1e-4.
    """
    return int(binom.isf(1e-6, games, rate))


def worst_alarm_rate(n, confidence):
    """P[bound > 0] of a fixed rule on n trials a world, for whichever equal rates they have."""
    k = np.arange(n + 1)
    alarm = BoundCriterion(0.0, confidence)(k[:, None], n, k[None, :], n) > 0
    return max(binom.pmf(k, n, p) @ alarm @ binom.pmf(k, n, 1 - p) for p in np.linspace(0, 1, 101))


def chosen_in_sample(trials):
    """Clopper-Pearson's bound of a rule on the very trials that it was chosen on: no bound."""
    rule = trials.fit(TWO, BoundCriterion(0.0))
    return ClopperPearson().bound(trials.count(rule), 0.0).epsilon


def test_no_leak_alarms_no_more_often_than_the_proof_says():
    """As often as a fixed rule on the judging half, known by enumeration.

    That is far below 5 %, so that a choice on the same trials shows in the same games.
    """
    rate = worst_alarm_rate(PER_WORLD // 2, 0.95)
    assert rate < 0.05
    allowed = most_misses(rate=rate)
    assert misses(TWO, ClopperPearson, nothing, 0.0, 0.0) <= allowed
    games = (nothing(PER_WORLD, np.random.default_rng([11, game])) for game in range(GAMES))
    assert sum(chosen_in_sample(trials) > 0 for trials in games) > allowed


def test_randomized_response_is_never_called_worse_than_it_is():
    assert misses(TWO, ClopperPearson, randomized_response, 0.0, 1.0) <= most_misses()


def test_a_gaussian_shift_is_never_called_larger_than_it_is():
    truth = gaussian_epsilon(2.0, DELTA)
    assert misses(ONE, GDP, shifted, DELTA, truth) <= most_misses()


def auc(confidence):
    return PairedAUC(curve="pure", confidence=confidence)


def test_hold_out_holds_with_an_estimator_that_wastes_nothing():
    """Paired AUC on randomized response misses in nearly 5 % of games: there is no slack."""
    assert misses(ONE, auc, plain_response, 0.0, 1.0, per_world=100) <= most_misses()


def test_a_strong_leak_is_certified():
    trials = shifted(200, np.random.default_rng(0), mu=6.0)
    bound = HoldOut().bound(ONE, trials, ClopperPearson, DELTA, 0.95)
    assert 1.0 < bound.epsilon <= bound.ceiling


# ---------------------------------------------------------------- hold-out


def test_hold_out_is_what_a_judgement_does(tmp_path):
    """And both are the rule of the even indices on the odd ones."""
    worlds, indices = worlds_and_indices(84)
    seen = observe(worlds, np.random.default_rng(2), shift=2.0)
    counted = {"attacks": ["loss"], "estimator": "clopper-pearson"}
    path = write_journal(tmp_path / "run" / "journal.sqlite", seen, **counted)
    attacks = {"loss": Loss(), "mean+std": MeanStd(), "learned": Learned()}
    few = patch("dpaudit.estimators.published.PERMUTATIONS", 2)
    with few, Journal.read(path) as journal:
        report = judge(journal, Choice(tuple(attacks), primary="loss", estimator="clopper-pearson"))
    for judged, (name, attack) in zip(report.bounds, attacks.items(), strict=True):
        trials = Trials(attack.features(with_statistics(seen), KNOWN), worlds, name)
        got = HoldOut().bound(attack, trials, ClopperPearson, DELTA, 0.95)
        assert got == judged

        even = indices % 2 == 0
        rule = attack.fit(trials.features[even], worlds[even], BoundCriterion(DELTA))
        says_in = rule.decide(trials.features)
        counts = Counts(
            fp=int(says_in[~even & (worlds == OUT)].sum()),
            out=21,
            fn=int((~says_in)[~even & (worlds == IN)].sum()),
            inn=21,
        )
        assert got.epsilon == ClopperPearson().bound(counts, DELTA).epsilon
        assert (got.counts, got.rule, got.attack) == (counts, repr(rule), name)
        assert got.selection.startswith("hold-out")


class Settled(Attack):
    """An attack with nothing to choose."""

    needs = frozenset({"values"})
    fitted = False

    def features(self, seen, known):
        return seen["values"]

    def fit(self, features, worlds, criterion):
        return FIXED


def test_where_nothing_is_chosen_all_trials_judge():
    trials = shifted(20, np.random.default_rng(0))
    got = HoldOut().bound(Settled(), trials, ClopperPearson, DELTA, 0.95)
    assert got.epsilon == ClopperPearson().bound(trials.count(FIXED), DELTA).epsilon
    assert (got.counts.out, got.selection) == (20, NOTHING_TO_CHOOSE)


def test_an_attack_that_was_itself_picked_is_judged_on_the_other_half():
    trials = shifted(20, np.random.default_rng(0))
    got = HoldOut(always=True).bound(Settled(), trials, ClopperPearson, DELTA, 0.95)
    assert (got.counts.out, got.selection) == (10, "hold-out (given)")


def test_halves_go_by_index_in_any_order_of_the_worlds():
    features = np.arange(12.0)[:, None]
    for worlds in (in_turn(6), np.repeat([OUT, IN], 6)):
        even, odd = Trials(features, worlds).halves()
        for world in (OUT, IN):
            mine = features[worlds == world]
            assert (even.features[even.worlds == world] == mine[::2]).all()
            assert (odd.features[odd.worlds == world] == mine[1::2]).all()


@pytest.mark.parametrize("estimator", [ClopperPearson, RankTest])
def test_an_attack_that_only_says_that_it_chooses_nothing_is_refused(estimator):
    """Else a plug-in's mistake would have trials judge the score that was learned from them."""

    class Wrong(Learned):
        scoring, fitted = "fixed", estimator is RankTest

    worlds, _ = worlds_and_indices(40)
    seen = with_statistics(observe(worlds, np.random.default_rng(0)))
    trials = Trials(Wrong().features(seen, KNOWN), worlds, "wrong")
    with refuses("attack-chooses", "attack", "wrong"):
        HoldOut().bound(Wrong(), trials, lambda c: estimator(confidence=c), DELTA, 0.95)


# ---------------------------------------------------------------- in-sample


def test_the_in_sample_estimate_does_not_hold():
    """Where nothing leaks it says more than 0 in nearly every game, where 5 % are allowed."""
    truth, games = 0.0, 60
    found = [
        in_sample(TWO, nothing(30, np.random.default_rng([11, game])), DELTA)
        for game in range(games)
    ]
    assert sum(estimate > truth for estimate in found) > 0.9 * games > most_misses(games)
    assert np.median(found) > 0.5


# ---------------------------------------------------------------- estimators


def test_more_confidence_never_raises_a_bound():
    trials = shifted(40, np.random.default_rng(2), mu=4.0)
    bounds = [
        HoldOut().bound(ONE, trials, ClopperPearson, DELTA, confidence)
        for confidence in (0.6, 0.9, 0.95, 0.99)
    ]
    epsilons = [bound.epsilon for bound in bounds]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[0] > epsilons[-1]
    for bound, told in zip(bounds, ("60", "90", "95", "99"), strict=True):
        assert bound.sentence.startswith(f"At {told} % confidence, ")


def scored(confidence):
    return PairedAUC(confidence=confidence)


def test_a_score_that_was_fixed_beforehand_is_judged_on_all_trials():
    """Its threshold is chosen, but nothing that takes scores looks at that."""
    trials = shifted(30, np.random.default_rng(1))
    got = HoldOut().bound(ONE, trials, scored, DELTA, 0.95)
    everything = Scores(out=trials.features[::2, 0], inn=trials.features[1::2, 0])
    assert got.epsilon == PairedAUC().bound(everything, DELTA).epsilon
    assert (got.rule, got.attack, got.counts) == ("", "shifted", None)
    assert (got.trials, got.selection) == ((30, 30), NOTHING_TO_CHOOSE)


def test_the_score_of_an_attack_that_was_picked_is_judged_on_the_other_half():
    trials = shifted(30, np.random.default_rng(1))
    got = HoldOut(always=True).bound(ONE, trials, scored, DELTA, 0.95)
    scores = Scores(out=trials.features[2::4, 0], inn=trials.features[3::4, 0])
    assert got.epsilon == PairedAUC().bound(scores, DELTA).epsilon
    assert (got.trials, got.selection) == ((15, 15), "hold-out")


@pytest.mark.parametrize("attack", [Learned(), MeanStd()], ids=repr)
def test_scores_that_are_chosen_are_judged_on_the_other_half(attack):
    worlds, _ = worlds_and_indices(80)
    seen = with_statistics(observe(worlds, np.random.default_rng(0), shift=2.0))
    trials = Trials(attack.features(seen, KNOWN), worlds)
    got = HoldOut().bound(attack, trials, scored, DELTA, 0.95)
    even, odd = trials.halves()
    rule = even.fit(attack, BoundCriterion(DELTA))
    assert got.epsilon == PairedAUC().bound(odd.scores(rule), DELTA).epsilon
    assert (got.trials, got.selection) == ((20, 20), "hold-out")


def test_decisions_are_judged_in_pairs_of_one_index():
    trials = shifted(30, np.random.default_rng(1))
    got = HoldOut().bound(ONE, trials, EProcess, DELTA, 0.95)
    even, odd = trials.halves()
    rule = even.fit(ONE, BoundCriterion(DELTA))
    says_in = rule.decide(odd.features)
    pairs = Decisions(out=says_in[::2], inn=says_in[1::2])
    assert got.epsilon == EProcess().bound(pairs, DELTA).epsilon
    assert (got.rule, got.trials) == (repr(rule), (15, 15))


def test_one_runs_guesses_are_no_two_worlds():
    with refuses("unfit-estimator", "estimator", "OneRun"):
        HoldOut().bound(ONE, shifted(10, np.random.default_rng(0)), OneRun, DELTA, 0.95)


def test_a_credible_bound_is_not_corrected_for_a_choice():
    credible = [Jeffreys(0.975).bound(Counts(fp, 9, 0, 9), DELTA) for fp in (0, 1)]
    with refuses("no-error-rate", "estimator", "jeffreys"):
        best(credible, 0.95, "the best of 2")


# ---------------------------------------------------------------- the claim's curve

SUBSAMPLED = DPSGDCurve(0.1, 10, 1.0)
FULL = DPSGDCurve(1.0, 10, 1.0)


def claimed(curve, adjacency="add-remove"):
    return Claim(1.0, DELTA, curve=curve, adjacency=adjacency)


@pytest.mark.parametrize(
    ("given", "curve"),
    [
        (GDP(), GaussianCurve(1.0)),
        (GDP(), FULL),
        (RankTest(), GaussianCurve(2.0)),
        (RankTest(curve="pure"), None),
        (PLD(SUBSAMPLED), replace(SUBSAMPLED, noise_multiplier=5.0)),
        (PLD(FULL), FULL),
        (ClopperPearson(), None),
        (ExactScan(), SUBSAMPLED),
    ],
    ids=str,
)
def test_what_the_claim_has_may_be_held_against_it(given, curve):
    claim = claimed(curve)
    refuse_other_curve(given, claim)
    assumption = getattr(given, "assumption", "none")
    assert promises(claim, assumption)


@pytest.mark.parametrize(
    ("given", "claim", "who", "facts"),
    [
        (GDP(), claimed(None), "GDP", ["Gaussian"]),
        (GDP(), claimed(SUBSAMPLED), "GDP", ["rate 0.1", "10 steps"]),
        (RankTest(), claimed(None), "RankTest", ["Gaussian"]),
        (PairedAUC(), claimed(SUBSAMPLED), "PairedAUC", ["Gaussian"]),
        (PLD(SUBSAMPLED), claimed(None), "PLD", ["accountant's curve"]),
        (PLD(SUBSAMPLED), claimed(GaussianCurve(1.0)), "PLD", ["Gaussian curve"]),
        (PLD(SUBSAMPLED), claimed(DPSGDCurve(0.1, 20, 1.0)), "PLD", ["20 steps"]),
        (PLD(SUBSAMPLED), claimed(DPSGDCurve(0.2, 10, 1.0)), "PLD", ["rate 0.2"]),
        (PLD(SUBSAMPLED), claimed(SUBSAMPLED, "replace"), "PLD", ["10 steps", "(replace)"]),
    ],
    ids=str,
)
def test_another_curve_is_refused_with_the_reason(given, claim, who, facts):
    with refuses("other-curve", "estimator", who) as caught:
        refuse_other_curve(given, claim)
    assert all(fact in str(caught.value) for fact in facts)
    assert "\n" not in str(caught.value)


def test_an_estimator_says_beforehand_what_its_bounds_will_assume():
    scores, counts = Scores(np.array([0.0]), np.array([1.0])), Counts(0, 9, 0, 9)
    for made in (GDP(), RankTest(), RankTest(curve="pure"), PairedAUC(), PLD(FULL)):
        outcome = scores if getattr(made, "takes", Counts) is Scores else counts
        assert made.assumption == made.bound(outcome, DELTA).assumption


def test_a_prior_is_promised_by_nobody_and_is_about_no_curve():
    refuse_other_curve(Jeffreys(), claimed(None))
    assert not any(promises(claimed(curve), "prior") for curve in (None, FULL, SUBSAMPLED))


def test_another_curve_is_refused_before_a_look_is_numbered(tmp_path):
    worlds, _ = worlds_and_indices(8)
    path = write_journal(tmp_path / "run" / "j", observe(worlds, np.random.default_rng(0)))
    before = path.read_bytes()
    with (
        refuses("other-curve", "estimator", "GDP"),
        Journal.read(path) as journal,
    ):
        judge(journal, Choice(("loss",), estimator="gdp"))
    assert path.read_bytes() == before


def test_counts_are_those_that_the_bound_was_made_of():
    trials = shifted(20, np.random.default_rng(1))
    bound = HoldOut().bound(ONE, trials, ClopperPearson, DELTA, 0.95)
    fp, out, fn, inn = astuple(bound.counts)
    value = BoundCriterion(DELTA, 0.95)(np.array(fp), out, np.array(fn), inn)
    assert bound.epsilon == pytest.approx(max(0.0, float(value)), rel=1e-12)


def test_rules_are_chosen_by_what_will_judge_them():
    """Under a Gaussian curve the middle shows most, without an assumption an end."""
    differing = 0
    for seed in range(5):
        trials = shifted(400, np.random.default_rng(seed), mu=3.0)
        even, _ = trials.halves()
        rules = {
            made: repr(even.fit(ONE, by))
            for made, by in ((GDP, GaussianCriterion()), (ClopperPearson, BoundCriterion(DELTA)))
        }
        for made, rule in rules.items():
            assert HoldOut().bound(ONE, trials, made, DELTA, 0.95).rule == rule
        differing += rules[GDP] != rules[ClopperPearson]
    assert differing > 0
