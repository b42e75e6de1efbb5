"""A plan's numbers are those of the estimators that it plans for."""

import math

import pytest
from refusals import refuses
from settings import plan_request

from dpaudit.accounting.curves import DPSGDFamily
from dpaudit.errors import BadInput
from dpaudit.estimators import PLD, ClopperPearson, ExactScan, OneRun, PairedAUC, RankTest
from dpaudit.judging.plan import Pace, plan, plan_curves, prospects
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.results import Scores
from dpaudit.types import Claim

D = 1e-5
TRIALS = (50, 100, 250, 500, 1000, 10000)
KNOWN = {
    "clopper-pearson": (2.570, 3.281, 4.209, 4.906, 5.601, 7.905),
    "paired-auc": (2.785, 3.493, 4.418, 5.114, 5.809, 8.113),
    "exact-scan": (3.493, 4.194, 5.114, 5.809, 6.503, 8.806),
}
"""Ceilings at 95 % and delta 1e-5, by trials in each world."""


def rows(**asked):
    return {row.estimator: row for row in plan(plan_request(**asked)).rows}


def test_ceilings_without_an_assumption_are_the_known_ones():
    asked = {"claim": 1.0, "true": 3.0, "models": 4 * TRIALS[0]}
    found = rows(**asked)
    assert list(found) == ["clopper-pearson", "exact-scan", "paired-auc"]
    for prospect, _ in prospects(plan_request(**asked)):
        assert found[prospect.name].ceiling == prospect.ceiling(TRIALS[0])
        assert found[prospect.name].judging == TRIALS[0]
        ceilings = [prospect.ceiling(n) for n in TRIALS]
        assert ceilings == pytest.approx(KNOWN[prospect.name], abs=6e-4), prospect.name


@pytest.mark.parametrize("fixed_score", [False, True])
@pytest.mark.parametrize("curve", ["none", "gaussian"])
@pytest.mark.parametrize("claim", [0.5, 2.0, 4.0])
def test_models_for_a_ceiling_have_it_and_four_fewer_do_not(curve, claim, fixed_score):
    made = {
        "clopper-pearson": ClopperPearson(),
        "exact-scan": ExactScan(),
        "paired-auc": PairedAUC(curve="pure" if curve == "none" else "gaussian"),
        "rank-test": RankTest(),
    }
    found = rows(claim=claim, true=20.0, curve=curve, fixed_score=fixed_score, models=40)
    for name, estimator in made.items():
        if name not in found:
            assert (name, curve) == ("rank-test", "none")
            continue
        scored = fixed_score and getattr(estimator, "takes", None) is Scores
        models = found[name].for_claim
        assert models % 4 == 0
        n, fewer = (m // (2 if scored else 4) for m in (models, models - 4))
        assert estimator.ceiling(n, n, D) > claim
        assert fewer == 0 or not estimator.ceiling(fewer, fewer, D) > claim


@pytest.mark.parametrize("more", [{}, {"curve": "gaussian"}, {"canaries": 400}])
def test_a_bound_is_reached_as_a_claim_of_its_size_is_refuted(more):
    reaching = plan(plan_request(claim=0.5, true=8.0, reach=2.0, **more)).rows
    refuting = plan(plan_request(claim=2.0, true=8.0, **more)).rows
    assert [row.for_reach for row in reaching] == [row.for_power for row in refuting]
    alone = plan(plan_request(claim=0.5, true=8.0, **more)).rows
    assert [row.for_power for row in reaching] == [row.for_power for row in alone]


def test_models_for_a_chance_have_it_and_a_fifth_fewer_do_not():
    question = plan_request(claim=1.0, true=6.0, curve="gaussian", power=0.9, models=40)
    needed = {row.estimator: row.for_power for row in plan(question).rows}
    for prospect, each in prospects(question):
        n = needed[prospect.name] // each
        assert prospect.chance(n) >= 0.9 > prospect.chance(int(0.8 * n)), prospect.name


def test_the_stronger_the_assumption_the_fewer_models():
    found = plan(plan_request(claim=4.0, true=8.0, curve="gaussian"))
    needed = {row.estimator: row.for_power or math.inf for row in found.rows}
    assert needed["rank-test"] < needed["paired-auc"] < needed["gdp"] < needed["clopper-pearson"]
    assert found.best is not None
    assert found.best.estimator == "rank-test"


ASSUMING_NOTHING = ("clopper-pearson", "exact-scan")


def test_a_bare_claim_is_planned_for_a_gaussian_mechanism_unless_told_otherwise():
    bare, gaussian = (rows(claim=1.0, true=3.0, curve=curve) for curve in ("none", "gaussian"))
    pure = rows(claim=1.0, true=3.0, true_curve="pure")
    for name in ASSUMING_NOTHING:
        assert bare[name] == gaussian[name], "what is true does not depend on what is claimed"
        assert pure[name].for_power < bare[name].for_power / 50
        assert pure[name].ceiling == bare[name].ceiling, "whatever leaks"
    assert plan_request(claim=1.0, delta=0.0).leaking == "pure", (
        "Gaussian noise has no epsilon there"
    )
    assert plan_request(claim=1.0, curve="dpsgd:0.1,200").leaking == "dpsgd:0.1,200"


@pytest.mark.parametrize(
    "curve", ["none", "gaussian", pytest.param("dpsgd:0.1,200", marks=pytest.mark.verify)]
)
def test_of_one_epsilon_randomized_response_is_refuted_with_the_fewest_models(curve):
    asked = {"claim": 2.0, "true": 5.0, "curve": curve}
    most, some = (rows(**asked, true_curve=true) for true in ("pure", "gaussian"))
    for name, row in most.items():
        assert row.for_power < (some[name].for_power or row.searched)
        assert row.chance >= some[name].chance or math.isnan(row.chance)


@pytest.mark.parametrize(
    ("claim", "true", "canaries"),
    [(0.5, 2.0, 500), (1.0, 3.0, None), (2.0, 6.0, 500)],
)
def test_of_one_truth_a_claim_that_states_its_curve_is_refuted_with_fewer(claim, true, canaries):
    asked = {"claim": claim, "true": true, "canaries": canaries, "power": 0.5}
    bare, stated = (plan(plan_request(**asked, curve=curve)).best for curve in ("none", "gaussian"))
    assert stated.assumption == "gaussian"
    assert bare is None or stated.for_power < bare.for_power


def test_dpsgd_is_planned_by_its_own_curve_to_a_per_cent():
    found = rows(claim=8.0, curve="dpsgd:0.256,234")
    exact = DPSGDFamily(0.256, 234)
    assert list(found) == ["clopper-pearson", "exact-scan", "rank-test", "paired-auc", "pld"]
    for name, kind in (("rank-test", RankTest), ("paired-auc", PairedAUC), ("pld", PLD)):
        ceiling = kind(curve=exact).ceiling(250, 250, D)
        assert found[name].ceiling == pytest.approx(ceiling, rel=0.01)
        assert found[name].assumption == "accountant"


def test_full_batches_are_planned_as_a_gaussian_mechanism():
    assert rows(claim=2.0, true=9.0, curve="dpsgd:1,100") == rows(
        claim=2.0, true=9.0, curve="gaussian"
    )


def test_a_score_that_is_fixed_beforehand_is_judged_by_all_models():
    chosen, fixed = (rows(claim=1.0, true=4.0, models=400, fixed_score=f) for f in (False, True))
    assert (chosen["exact-scan"].judging, fixed["exact-scan"].judging) == (100, 200)
    assert chosen["clopper-pearson"] == fixed["clopper-pearson"]


def test_canaries_of_one_run_are_planned_by_their_own_estimators():
    found = rows(claim=1.0, true=4.0, curve="gaussian", canaries=500, guesses=100)
    assert list(found) == ["one-run", "one-run-fdp"]
    assert found["one-run"].ceiling == pytest.approx(OneRun().ceiling(500, 100, D))
    assert found["one-run"].judging == 100
    assert found["one-run-fdp"].for_power <= (found["one-run"].for_power or 20_000)
    assert found["one-run-fdp"].chance >= found["one-run"].chance


def test_canaries_have_the_ceiling_of_what_is_guessed_of_them():
    asked = {"claim": 2.8, "true": 4.0, "curve": "gaussian", "canaries": 300}
    free, all_of_them, few = (rows(**asked, guesses=r)["one-run"] for r in (None, 300, 20))
    assert free.judging < 100
    for row in (free, all_of_them, few):
        assert row.ceiling == pytest.approx(OneRun().ceiling(300, row.judging, D))
    m = all_of_them.for_claim
    assert OneRun().ceiling(m, m, D) > 2.8
    assert not OneRun().ceiling(m - 1, m - 1, D) > 2.8


@pytest.mark.parametrize("canaries", [44, 50, 60])
def test_what_is_asked_about_is_never_said_to_take_more_if_it_is_enough(canaries):
    """A chance rises like the teeth of a saw: fewer may have it, and some more not."""
    asked = {"claim": 0.5, "true": 8.0, "curve": "gaussian", "canaries": canaries}
    for prospect, _ in prospects(plan_request(**asked)):
        exactly = prospect.chance(canaries)
        assert 0 < exactly < 1
        found = rows(**asked, power=exactly)[prospect.name]
        assert found.for_power <= canaries
        assert prospect.chance(found.for_power) >= exactly


def test_a_need_is_not_above_the_models_that_are_asked_about():
    asked = {"claim": 1.0, "true": 6.0, "models": 200}
    counted, each = next(prospects(plan_request(**asked)))
    found = rows(**asked, power=counted.chance(200 // each))["clopper-pearson"]
    assert found.for_power <= 200


@pytest.mark.parametrize(
    "asked", [{"claim": 0.5, "true": 4.0}, {"claim": 2.0, "true": 5.0, "true_curve": "pure"}]
)
def test_canaries_for_a_chance_have_it_and_a_quarter_fewer_never_do(asked):
    """Beside every smaller number, with the guesses that are taken for it."""
    question = plan_request(**asked, curve="gaussian", canaries=100)
    for row, (prospect, _) in zip(plan(question).rows, prospects(question), strict=True):
        m = row.for_power
        assert prospect.chance(m) >= 0.8
        assert all(prospect.chance(k) < 0.8 for k in range(2, int(0.75 * m))), row
        with_guesses = plan_request(**asked, curve="gaussian", canaries=m, guesses=row.guesses)
        found = {one.estimator: one.chance for one in plan(with_guesses).rows}
        assert found[row.estimator] > 0.79


def test_more_canaries_than_delta_allows_are_not_looked_for_beyond():
    """At delta 1e-3 one-run refutes most often with some 1,200 canaries, with 20,000 never."""
    question = plan_request(claim=1.0, true=3.0, delta=1e-3, canaries=100, power=0.6)
    [(one_run, _)] = prospects(question)
    assert one_run.chance(200) < 0.5 < one_run.chance(1200)
    assert one_run.chance(20_000) < 0.05
    [row] = plan(question).rows
    assert 200 < row.for_power < 1200


def test_a_claim_out_of_reach_says_how_far_was_looked():
    row = rows(claim=40.0, true=50.0, curve="gaussian")["clopper-pearson"]
    assert (row.for_claim, row.for_power, row.chance) == (None, None, 0.0)
    assert row.searched == 10**6


def test_what_would_take_long_to_simulate_is_left_open():
    row = rows(claim=1.0, true=6.0, models=40_000)["exact-scan"]
    assert math.isnan(row.chance)
    assert math.isnan(row.typical)
    assert row.for_power < 40_000


def test_courses_rise_to_the_truth_and_stay_below_the_ceiling():
    for course in plan_curves(plan_request(claim=1.0, true=4.0, curve="gaussian", models=200)):
        assert len(course.numbers) == len(course.ceilings) == len(course.typical) > 8
        assert list(course.ceilings) == sorted(course.ceilings)
        for ceiling, typical in zip(course.ceilings, course.typical, strict=True):
            assert math.isnan(typical) or 0 <= typical <= min(ceiling, 4.0)


def test_time_is_shared_by_the_workers():
    assert Pace(seconds=0.5, probed=8, workers=2).time(1000) == 250
    assert Pace(seconds=0.5, probed=8, workers=2).time(3) == 1


@pytest.mark.parametrize(
    ("asked", "code", "option", "value"),
    [
        ({"claim": 0.0}, "not-positive", "claim", 0.0),
        ({"claim": 1.0, "true": 1.0}, "too-small", "true", 1.0),
        ({"claim": 1.0, "models": 3}, "too-small", "models", 3),
        ({"claim": 1.0, "models": 10**7}, "too-large", "models", 10**7),
        ({"claim": 1.0, "power": 1.0}, "out-of-range", "power", 1.0),
        ({"claim": 1.0, "reach": -1.0}, "not-positive", "reach", -1.0),
        ({"claim": 1.0, "delta": 0.0, "curve": "gaussian"}, "out-of-range", "delta", 0.0),
        ({"claim": 1.0, "guesses": 5}, "needs-option", "guesses", "canaries"),
        ({"claim": 1.0, "canaries": 5, "guesses": 6}, "too-large", "guesses", 6),
        ({"claim": 1.0, "canaries": 10**6}, "too-large", "canaries", 10**6),
        ({"claim": 1.0, "true_curve": "none"}, "unknown-choice", "true_curve", "none"),
        ({"claim": 1.0, "delta": 0.0, "true_curve": "gaussian"}, "out-of-range", "delta", 0.0),
        ({"claim": 500.0, "curve": "gaussian"}, "too-large", "epsilon", 1000.0),
        ({"claim": 1.0, "true": 3.0, "reach": 3.0}, "too-large", "reach", 3.0),
    ],
)
def test_what_cannot_be_planned_is_refused(asked, code, option, value):
    with refuses(code, option, value):
        plan_request(**asked)


def test_an_unknown_curve_is_refused():
    with pytest.raises(BadInput, match="laplace"):
        plan_request(claim=1.0, curve="laplace")


def test_a_misspelt_setting_of_a_plan_is_refused():
    with pytest.raises(TypeError, match="modles"):
        PlanRequest.of(Claim(1.0, 1e-5), modles=100)
