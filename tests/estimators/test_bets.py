"""Evidence pair after pair: how often it errs at any time, how soon it is done, what it goes by."""

import numpy as np
import pytest
from refusals import refuses
from scipy.stats import binom

from dpaudit import accounting
from dpaudit.accounting import gaussian_epsilon
from dpaudit.attacks import Statistic, ThresholdAttack
from dpaudit.errors import BadInput
from dpaudit.estimators.bets import FIRST, Bets
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack, Rule
from dpaudit.types import Claim, DPSGDCurve, GaussianCurve, StepsCurve

DELTA = 1e-5
TRUE = 2.0004  # mu of epsilon 10
CLAIMED = 0.26805  # of epsilon 1
ENDLESS = DPSGDCurve(1e-5, 10**7, 1.0)


class Column(ThresholdAttack):
    """Scores by one column of what is released."""

    def __init__(self, column):
        name = f"column {column}"
        super().__init__(Statistic(name, frozenset(), lambda seen, _: seen["values"][:, column]))


class Follower(Attack):
    """Scores by the mean of the in-trials that it was fitted on: it would see a pair's future."""

    needs, fitted = frozenset(), True

    def __init__(self):
        self.shown = []

    def features(self, seen, known):
        return seen["values"]

    def fit(self, features, worlds, criterion):
        self.shown.append(len(worlds))
        return Fixed()


class Fixed(Rule):
    def score(self, features):
        return features[:, 0]

    def decide(self, features):
        return features[:, 0] > 1


def pairs(mu, count, seed=0):
    """Two numbers a trial, of which the first tells its world by so much."""
    worlds = np.tile([0, 1], count)
    values = np.random.default_rng(seed).normal(size=(2 * count, 2))
    values[:, 0] += mu * worlds
    return values, worlds


def seen(attacks, values, worlds):
    return {
        name: Trials(a.features({"values": values}, {}), worlds, name)
        for name, a in attacks.items()
    }


def gathered(attacks, values, worlds, claim, at_once=None):
    bets, step = Bets(attacks, claim, 0.95), 2 * (at_once or len(worlds))
    for i in range(0, len(worlds), step):
        bets.show(seen(attacks, values[i : i + step], worlds[i : i + step]))
    return bets


ONE = {"one": Column(0)}
TWO = {"one": Column(0), "two": Column(1)}
KNOWN_CURVE = Claim(1.0, DELTA, curve=GaussianCurve(CLAIMED))
NO_CURVE = Claim(1.0, DELTA)


@pytest.mark.parametrize("claim", [KNOWN_CURVE, NO_CURVE], ids=["curve", "no curve"])
@pytest.mark.parametrize("attacks", [ONE, TWO], ids=["one", "two"])
def test_a_gross_violation_is_refuted_within_eighty_pairs(claim, attacks):
    """True epsilon 10 against a claim of 1: the median of 21 audits."""
    taken = []
    for game in range(21):
        course = np.array(gathered(attacks, *pairs(TRUE, 200, game), claim).course)
        taken.append(np.argmax(course >= 20) + 1 if (course >= 20).any() else 201)
    assert np.median(taken) < 80


def alarms(claim, attacks, games, count, mu):
    return sum(
        max(gathered(attacks, *pairs(mu, count, [5, game]), claim).course) >= 20
        for game in range(games)
    )


def test_a_claim_that_holds_exactly_is_rarely_refuted_at_any_time():
    """Where the score is the best there is; fails by chance with less than 1e-4."""
    games = 150
    claim = Claim(gaussian_epsilon(1.0, DELTA), DELTA, curve=GaussianCurve(1.0))
    refuted = alarms(claim, ONE, games, 60, mu=1.0)
    assert refuted <= binom.isf(1e-5, games, 0.05)


def test_randomized_response_is_rarely_refuted_at_any_time():
    """Whose rates are the worst that its epsilon allows; bets are against 1, the truth.

    Fails by chance with less than 1e-4.
    """
    games, refuted, draw = 150, 0, np.random.default_rng(6)
    worlds = np.tile([0, 1], 60)
    for _ in range(games):
        told = np.where(draw.random(120) < 1 / (1 + np.exp(-1.0)), worlds, 1 - worlds)
        values = np.stack([told, draw.random(120)], axis=1)
        refuted += max(gathered(ONE, values, worlds, Claim(0.96, 0.0)).course) >= 20
    assert refuted <= binom.isf(1e-5, games, 0.05)


@pytest.mark.verify
@pytest.mark.parametrize("attacks", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("curve", [GaussianCurve(1.0), None], ids=["curve", "no curve"])
def test_claims_that_hold_are_rarely_refuted_at_any_time(curve, attacks):
    """With a curve at its exact claim, without one where nothing leaks and nothing is claimed."""
    games, mu = 400, 1.0 if curve else 0.0
    claim = Claim(gaussian_epsilon(mu, DELTA) if curve else 0.0, DELTA, curve=curve)
    assert alarms(claim, attacks, games, 150, mu) <= binom.isf(1e-5, games, 0.05)


def test_what_decides_follows_from_the_claim():
    values, worlds = pairs(TRUE, 30)
    for curve, names in (
        (GaussianCurve(1.0), ["auc-bet", "e-process"]),
        (None, ["e-process"]),
        (ENDLESS, ["e-process"]),
        (StepsCurve(0.05, 30, 1.0), ["auc-bet"]),
    ):
        bets = gathered(TWO, values, worlds, Claim(1.0, DELTA, curve=curve))
        assert [b.estimator for b in bets.bounds()] == names
        for bound in bets.bounds():
            assert 0 <= bound.epsilon <= bound.ceiling
            assert (bound.trials, bound.confidence) == ((20, 20), 0.95)
            assert bound.attack == "all together"


def test_steps_are_bet_on_by_what_they_make_up_alone():
    """In a training of 60 steps of full batches, refuted where each has a third of its noise."""
    steps = StepsCurve(1.0, 60, 1.0)
    claim = Claim(accounting.epsilon(steps, DELTA), DELTA, curve=steps)
    bets = gathered(ONE, *pairs(3.0, 60), claim)
    assert bets.decided
    assert (len(bets.course), bets.beside) == (60, [])
    assert "single steps" in bets.bounds()[0].sentence
    assert not gathered(ONE, *pairs(1.0, 60), claim).decided
    with pytest.raises(BadInput, match=r"single steps .* 10,000,000 "):
        Bets(ONE, Claim(1.0, DELTA, curve=StepsCurve(1e-5, 10**7, 1.0)), 0.95)


def test_steps_as_noisy_as_claimed_are_rarely_refuted_at_any_time():
    """Fails by chance with 1e-5."""
    games, steps = 150, StepsCurve(1.0, 60, 1.0)
    claim = Claim(accounting.epsilon(steps, DELTA), DELTA, curve=steps)
    assert alarms(claim, ONE, games, 60, mu=1.0) <= binom.isf(1e-5, games, 0.05)


@pytest.mark.parametrize("claim", [KNOWN_CURVE, NO_CURVE], ids=["curve", "no curve"])
def test_it_is_decided_as_soon_as_the_bound_is_above_the_claim(claim):
    values, worlds = pairs(4.0, 120)
    bets = Bets(ONE, claim, 0.95)
    for i in range(0, 240, 2):
        bets.show(seen(ONE, values[i : i + 2], worlds[i : i + 2]))
        assert bets.decided == (bets.bounds()[0].epsilon > 1) == (max(bets.course) >= 20)
    assert bets.decided
    assert bets.pairs == 120


@pytest.mark.parametrize("at_once", [1, 7, 20])
def test_the_same_trials_give_the_same_evidence_however_they_come(at_once):
    values, worlds = pairs(1.0, 60)
    whole, parts = (
        gathered(TWO, values, worlds, KNOWN_CURVE, at_once=size) for size in (None, at_once)
    )
    assert parts.course == whole.course
    assert parts.beside == whole.beside
    assert parts.bounds() == whole.bounds()


def test_a_rule_is_fitted_on_earlier_pairs_alone():
    """By what it is given, and by the evidence: what comes later changes nothing before it."""
    follower = Follower()
    values, worlds = pairs(TRUE, 100)
    gathered({"follower": follower}, values, worlds, NO_CURVE)
    assert follower.shown == [2 * n for n in (10, 20, 30, 40, 50, 63, 79, 99)]
    changed = values.copy()
    changed[100:] = 0.0
    one, other = (gathered(ONE, v, worlds, KNOWN_CURVE).course for v in (values, changed))
    assert one[:50] == other[:50]
    assert one[50:] != other[50:]


def test_the_first_pairs_bet_nothing():
    bets = gathered(ONE, *pairs(9.0, FIRST), KNOWN_CURVE)
    assert bets.course == bets.beside == [1.0] * FIRST
    assert bets.bounds()[0].ceiling == 0


@pytest.mark.parametrize("claim", [KNOWN_CURVE, NO_CURVE, Claim(0.0, 0.0)])
def test_constant_scores_win_nothing(claim):
    values, worlds = pairs(0.0, 200)
    bets = gathered(ONE, 0 * values, worlds, claim)
    assert max(bets.course) <= 1
    assert all(bound.epsilon == 0 for bound in bets.bounds())


def test_a_score_that_is_no_number_is_lower_than_any():
    values, worlds = pairs(0.0, 60)
    values[worlds == 0, 0] = np.nan
    bets = gathered({"fixed": Follower()}, values, worlds, KNOWN_CURVE)
    assert bets.course[-1] > 20


def test_a_claim_beyond_all_bets_is_never_refuted():
    for epsilon in (50.0, np.inf):
        for curve in (None, GaussianCurve(40.0)):
            bets = gathered(ONE, *pairs(40.0, 60), Claim(epsilon, DELTA, curve=curve))
            assert not bets.decided
            assert bets.bounds()[0].ceiling < 50


def test_trials_that_do_not_pair_are_refused():
    values, worlds = pairs(1.0, 3)
    with refuses("not-paired", value=5):
        Bets(ONE, NO_CURVE, 0.95).show(seen(ONE, values[1:], worlds[1:]))
