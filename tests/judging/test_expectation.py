"""What a stronger test is expected to show, against the forecasts of `plan`."""

import math
import re

import pytest

from dpaudit import accounting, estimators
from dpaudit.accounting.curves import GaussianFamily, PureFamily, family
from dpaudit.accounting.sampled import planning_family
from dpaudit.estimators.power.prospect import Truth
from dpaudit.estimators.power.scored import Counted, Ranked
from dpaudit.judging.expectation import FEWEST, expectation, last_iterate, too_few
from dpaudit.types import Claim, DPSGDCurve, GaussianCurve, StepsCurve

DELTA, SURE = 1e-5, 0.95
SAMPLED = Claim(8.0, DELTA, curve=DPSGDCurve(0.256, 234, 2.497))
FULL = Claim(2.0, DELTA, curve=GaussianCurve(accounting.gaussian_mu(2.0, DELTA)))


@pytest.mark.parametrize(("claim", "models"), [(SAMPLED, 100), (SAMPLED, 1000), (FULL, 400)])
def test_a_typical_bound_is_that_of_a_plan_whose_true_epsilon_is_the_claim(claim, models):
    curves = planning_family(family(claim.curve, DELTA))
    truth = Truth(curves, claim.epsilon, claim.epsilon, DELTA, SURE)
    planned = Ranked(estimators.RankTest(curves, SURE), curves, truth).typical(models // 2)
    found = expectation(claim, SURE, "observer", models)
    assert (found.adversary, found.models) == ("white-box", models)
    assert found.typical == pytest.approx(planned, rel=0.03)


def test_without_a_curve_counted_errors_are_forecast():
    claim = Claim(2.0, DELTA)
    found = expectation(claim, SURE, "", 80_000)
    truth = Truth(GaussianFamily(), 2.0, 2.0, DELTA, SURE)
    planned = Counted(estimators.ClopperPearson(SURE), PureFamily(DELTA), truth).typical(20_000)
    assert found.adversary == ""
    assert found.models == 80_000
    assert found.typical == pytest.approx(planned, rel=0.03)


@pytest.mark.parametrize("claim", [SAMPLED, FULL, Claim(2.0, DELTA), Claim(2.0, 0.0)])
def test_too_few_models_are_raised_to_about_the_least_that_make_a_strong_test(claim):
    found = expectation(claim, SURE, "observer", FEWEST)
    assert found.models > FEWEST
    assert found.models % 4 == 0
    assert claim.epsilon / 2 <= found.typical < 0.7 * claim.epsilon


def test_a_score_that_chooses_its_rule_needs_twice_the_models():
    fixed, chosen = (expectation(Claim(2.0, DELTA), SURE, "", 4, f).models for f in (True, False))
    assert chosen == pytest.approx(2 * fixed, rel=0.05)


def test_nothing_is_forecast_where_no_test_could_be_strong_or_nothing_is_claimed():
    assert expectation(Claim(1e6, DELTA), SURE, "observer", 400) is None
    assert expectation(Claim(math.inf, DELTA), SURE, "observer", 400) is None
    steps = Claim(1.0, DELTA, curve=StepsCurve(0.05, 40, 1.0))
    assert expectation(steps, SURE, "per-step", 40) is None


@pytest.mark.parametrize(
    ("claim", "attacker", "wanted"),
    [
        (SAMPLED, "observer", 7.79),
        (SAMPLED, "final-weights", 7.79),
        (SAMPLED, "white-box", None),
        (SAMPLED, "", None),
        (FULL, "observer", None),
        (Claim(8.0, DELTA), "observer", None),
    ],
)
def test_the_heuristic_is_for_who_sees_only_the_final_model_of_sampled_steps(
    claim, attacker, wanted
):
    found = last_iterate(claim, attacker)
    assert found == (wanted and pytest.approx(wanted, abs=0.01))


@pytest.mark.parametrize("claim", [FULL, Claim(8.0, DELTA), Claim(2.0, 0.0)])
@pytest.mark.parametrize("each", [2, 4])
def test_models_that_can_never_decide_are_told_of_the_least_number_that_can(claim, each):
    estimator = estimators.ClopperPearson(SURE)
    if claim.curve:
        estimator = estimators.RankTest(claim.curve, SURE)
    said = too_few(claim, True, SURE, 4, each)
    number = int(re.search(r"at least ([\d,]+) are needed", said)[1].replace(",", ""))
    n = number // each
    assert estimator.ceiling(n, n, DELTA if claim.delta else 0.0) >= claim.epsilon
    fewer = (number - 4) // each
    assert estimator.ceiling(fewer, fewer, DELTA if claim.delta else 0.0) < claim.epsilon
    assert too_few(claim, True, SURE, number, each) == ""


def test_a_claim_that_no_models_decide_is_told_so():
    assert "no number" in too_few(Claim(1e6, DELTA), False, SURE, 400, 2)
    assert too_few(Claim(math.inf, DELTA), False, SURE, 400, 2) == ""
