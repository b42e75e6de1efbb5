"""Bets until decided: what is forecast, against audits that are played."""

import numpy as np
import pytest
from scipy.stats import binom
from settings import plan_request

from dpaudit.attacks import Released
from dpaudit.estimators.bets import FIRST, Bets
from dpaudit.estimators.power.stopped import AUDITS, Stopped
from dpaudit.estimators.trials import Trials
from dpaudit.judging.plan import plan
from dpaudit.types import IN, OUT, Claim, GaussianCurve


def stopped(**asked):
    question = plan_request(**asked)
    return Stopped(question.claimed, question.truth, FIRST)


def stopping_pairs(curve, mu, audits=40, most=120):
    """The pairs after which audits of a Gaussian mechanism stop, by the bets of a run."""
    ends, worlds = [], np.tile([OUT, IN], most)
    for seed in range(audits):
        values = np.random.default_rng(seed).normal(size=2 * most) + mu * worlds
        bets = Bets({"released": Released()}, Claim(1.0, 1e-5, curve=curve), 0.95)
        for i in range(0, 2 * most, 2):
            bets.show({"released": Trials(values[i : i + 2, None], worlds[:2])})
            if bets.decided:
                break
        ends.append(bets.pairs)
    return np.median(ends)


def test_audits_by_a_curve_stop_as_soon_as_forecast():
    """mu 2 has an epsilon of 10; the median of 40 audits errs by some 2 pairs."""
    forecast = stopped(claim=1.0, true=10.0, curve="gaussian").pairs(0.5)
    assert stopping_pairs(GaussianCurve(0.268), 2.0) == pytest.approx(forecast, abs=6)


def test_audits_of_a_bare_claim_take_a_little_longer_because_they_learn_their_threshold():
    forecast = stopped(claim=1.0, true=10.0).pairs(0.5)
    assert forecast - 6 <= stopping_pairs(None, 2.0) <= 1.5 * forecast


@pytest.mark.parametrize("curve", ["none", "gaussian"])
def test_gross_violations_are_refuted_within_eighty_pairs(curve):
    assert stopped(claim=1.0, true=10.0, curve=curve).pairs(0.5) < 80


def test_more_leaks_stop_sooner_and_surer_takes_longer():
    little, much = (stopped(claim=1.0, true=e, curve="gaussian") for e in (3.0, 10.0))
    assert much.pairs(0.5) < little.pairs(0.5)
    assert much.pairs(0.5) <= much.pairs(0.8) <= much.pairs(0.99)


@pytest.mark.parametrize(("curve", "leaking"), [("gaussian", "gaussian"), ("none", "pure")])
def test_a_claim_that_holds_is_refuted_in_few_audits_however_long_they_go_on(curve, leaking):
    """A thousand audits of two thousand pairs, looked at after each; fails by chance with 1e-5."""
    barely = stopped(claim=1.0, true=1.0 + 1e-9, curve=curve, true_curve=leaking)
    refuted = int(np.isfinite(barely._ends).sum())
    assert 0 < refuted <= binom.isf(1e-5, AUDITS, 0.05)


def test_what_is_far_is_left_open():
    assert stopped(claim=1.0, true=1.1).pairs(0.5) is None
    found = plan(plan_request(claim=1.0, true=1.1)).until_decided
    assert (found.half, found.power) == (None, None)
    assert plan(plan_request(claim=1.0, canaries=100)).until_decided is None
