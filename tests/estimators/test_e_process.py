import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcome_strategies import DELTA, confidences, deltas, steady
from refusals import refuses
from scipy.stats import binom

from dpaudit.accounting.curves import PureFamily
from dpaudit.estimators import EProcess
from dpaudit.estimators.paired_auc import AUCBet
from dpaudit.estimators.sentences import ASSUMED, confident
from dpaudit.results import Counts, Decisions, Guesses, Scores

COARSE = {"step": 0.5, "highest": 3.0}


def response(true, pairs, draw):
    """Randomized response in pairs: right with probability e^true/(1 + e^true)."""
    right = 1 / (1 + math.exp(-true))
    return Decisions(out=draw.random(pairs) > right, inn=draw.random(pairs) < right)


decisions = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=80).map(
    lambda pairs: Decisions(
        inn=np.array([x for x, _ in pairs]), out=np.array([y for _, y in pairs])
    )
)


# ---------------------------------------------------------------- the bound


def naive(d, delta, confidence, step, highest):
    """Wealth by wealth, in plain numbers."""
    last = 0.0
    for i in range(round(highest / step) + 1):
        e = i * step
        bets = [(f, side) for f in (0.95 / 2**k for k in range(6)) for side in (0, 1)]
        wealth, best = [1.0] * len(bets), 1.0
        for x, y in zip(d.inn, d.out, strict=True):
            gains = (
                float(x) - math.exp(e) * float(y) - delta,
                float(not y) - math.exp(e) * float(not x) - delta,
            )
            for j, (f, side) in enumerate(bets):
                wealth[j] *= 1 + f / (math.exp(e) + delta) * gains[side]
            best = max(best, sum(wealth) / len(wealth))
        if best < 1 / (1 - confidence):
            break
        last = e
    return last


@pytest.mark.parametrize("true", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_bound_is_every_bet_played_naively(true, delta):
    d = response(true, 150, np.random.default_rng(3))
    bound = EProcess(0.9, step=0.1, highest=3.0).bound(d, delta)
    assert bound.epsilon == pytest.approx(naive(d, delta, 0.9, 0.1, 3.0), abs=1e-9)


def test_it_finds_a_leak():
    draw = np.random.default_rng(0)
    assert 0.7 < EProcess().bound(response(1.0, 1000, draw), DELTA).epsilon <= 1.0
    assert 2.5 < EProcess().bound(response(3.0, 1000, draw), DELTA).epsilon <= 3.0
    assert EProcess().bound(response(0.0, 1000, draw), DELTA).epsilon == 0


@pytest.mark.parametrize(("pairs", "ceiling"), [(50, 2.25), (500, 4.6), (1000, 5.3)])
def test_ceiling_is_what_no_wrong_decision_gives(pairs, ceiling):
    flawless = Decisions(out=np.zeros(pairs, bool), inn=np.ones(pairs, bool))
    bound = EProcess().bound(flawless, DELTA)
    assert bound.epsilon == bound.ceiling == EProcess().ceiling(pairs, DELTA) == ceiling


def test_pair_after_pair_is_the_same_game_and_never_falls():
    d = response(2.0, 60, np.random.default_rng(5))
    game, seen = EProcess().start(DELTA), [0.0]
    for x, y in zip(d.inn, d.out, strict=True):
        game.show(x, y)
        seen.append(game.bound().epsilon)
    assert seen == sorted(seen)
    assert seen[-1] > 0
    assert game.bound() == EProcess().bound(d, DELTA)
    assert game.bound().counts == Counts(int(d.out.sum()), 60, int((~d.inn).sum()), 60)


def test_attacks_share_the_wealth_and_scores_have_a_third_of_it():
    """Against the same bets one by one; who does not bet keeps the share."""
    rules, pairs = EProcess(**COARSE), [(True, False, True), (False, True, True)] * 4
    both, alone = rules.start(0.01, attacks=2, scored=True), rules.start(0.01)
    order = AUCBet(0.01, "pure")
    for inn, out, won in pairs:
        both.show_all([(inn, out, won), None])
        alone.show(inn, out)
        order.show([won])
    for e in rules.grid():
        one = (2 * alone.wealth(e) + order.wealth(PureFamily(0.01).area(e))) / 3
        assert both.wealth(e) == pytest.approx((one + 1) / 2)
    assert both.bound().counts is None
    assert alone.bound().counts is not None


def test_before_the_first_pair_nothing_is_shown():
    bound = EProcess().start(DELTA).bound()
    assert (bound.epsilon, bound.ceiling, bound.counts) == (0, 0, None)


# ---------------------------------------------------------------- coverage


@pytest.mark.parametrize("true", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("a", [0.5, 0.8])
def test_the_truth_is_refuted_no_more_often_than_stated_at_any_time(true, delta, a):
    """Exactly, over all 4^5 sequences of pairs: randomized response that fails with delta."""
    right = delta + (1 - delta) / (1 + math.exp(-true))
    rules = EProcess(1 - a, step=0.5, highest=true)
    total, refuted = 0.0, 0.0
    for pairs in itertools.product(
        [(True, False), (True, True), (False, False), (False, True)], repeat=5
    ):
        wrong = sum(not x for x, _ in pairs) + sum(y for _, y in pairs)
        chance = right ** (10 - wrong) * (1 - right) ** wrong
        total += chance
        game = rules.start(delta)
        for x, y in pairs:
            game.show(x, y)
        refuted += chance * game.refuted(true)
    assert total == pytest.approx(1)
    assert refuted <= a
    if a == 0.8 and delta == 0:
        assert refuted > 0, "an enumeration that could not fail shows nothing"


@pytest.mark.parametrize("true", [0.0, 1.0])
def test_a_look_after_every_pair_errs_no_more_often_than_stated(true):
    """By simulation of 200 audits of 150 pairs, fixed seed: the truth may be refuted in 20 %.

    More than 64 audits would do so with a probability below 1e-4.
    """
    draw, rules = np.random.default_rng(2), EProcess(0.8, step=0.5, highest=true)
    wrong = 0
    for _ in range(200):
        d, game = response(true, 150, draw), rules.start(0.0)
        for x, y in zip(d.inn, d.out, strict=True):
            game.show(x, y)
        wrong += game.refuted(true)
    assert binom.sf(64, 200, 0.2) < 1e-4
    assert wrong <= 64


# ---------------------------------------------------------------- properties


@steady
@given(d=decisions, delta=st.one_of(st.just(0.0), deltas), confidence=confidences)
def test_bound_is_a_number_between_zero_and_its_ceiling(d, delta, confidence):
    bound = EProcess(confidence, **COARSE).bound(d, delta)
    assert 0 <= bound.epsilon <= bound.ceiling < math.inf


@steady
@given(d=decisions, data=st.data(), delta=deltas)
def test_more_errors_never_raise_the_bound(d, data, delta):
    """A decision that is turned from right to wrong, wherever it stands."""
    worse = Decisions(out=d.out.copy(), inn=d.inn.copy())
    i = data.draw(st.integers(0, len(d.out) - 1))
    worse.out[i], worse.inn[i] = True, False
    rules = EProcess(0.6, **COARSE)
    assert rules.bound(worse, delta).epsilon <= rules.bound(d, delta).epsilon


@steady
@given(d=decisions, one=confidences, other=confidences, delta=deltas)
def test_more_confidence_never_raises_the_bound(d, one, other, delta):
    low, high = sorted((one, other))
    surer, less_sure = EProcess(high, **COARSE), EProcess(low, **COARSE)
    assert surer.bound(d, delta).epsilon <= less_sure.bound(d, delta).epsilon


def test_a_long_game_stays_in_numbers():
    """Wealth is beyond any float; the grid ends, and so does the bound."""
    assert EProcess(highest=5.0).ceiling(10**12, DELTA) == 5.0


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "outcome",
    [Counts(1, 5, 1, 5), Scores(np.zeros(3), np.ones(3)), Guesses(10, 5, 4)],
    ids=lambda outcome: type(outcome).__name__,
)
def test_another_outcome_is_refused_in_one_sentence(outcome):
    with refuses("wrong-outcome", value=(type(outcome).__name__, "Decisions")):
        EProcess().bound(outcome, DELTA)


@pytest.mark.parametrize(("out", "inn"), [(3, 4), (0, 0)])
def test_worlds_that_do_not_pair_are_refused(out, inn):
    with refuses("shape-mismatch", value=((inn,), (out,))):
        EProcess().bound(Decisions(np.zeros(out, bool), np.zeros(inn, bool)), DELTA)


@pytest.mark.parametrize("decision", [0.7, math.nan, None, 2, "in"])
def test_a_decision_is_yes_or_no(decision):
    with refuses("wrong-type", "decision"):
        EProcess().start(DELTA).show(True, decision)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_impossible_delta_is_refused(delta):
    with refuses("out-of-range", "delta"):
        EProcess().start(delta)
    with refuses("out-of-range", "delta"):
        EProcess().ceiling(10, delta)


@pytest.mark.parametrize(
    ("option", "value"), [("confidence", 1.0), ("step", 0.0), ("highest", 31.0)]
)
def test_impossible_settings_are_refused(option, value):
    with refuses("out-of-range", option, value):
        EProcess(**{option: value})


def test_sentence_says_what_was_shown_how_surely_assuming_what():
    sentence = EProcess().bound(response(3.0, 200, np.random.default_rng(1)), DELTA).sentence
    assert sentence.startswith(confident(0.95))
    assert ASSUMED["none"] in sentence
    assert "however often" in sentence
