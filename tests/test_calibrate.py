"""Calibration: known rates are measured, sound ways keep their word and the others do not."""

import math

import numpy as np
import pytest
from chance import count_is, mean_is
from refusals import refuses
from scipy.integrate import quad
from scipy.stats import binom, multinomial

from dpaudit.accounting.curves import DPSGDFamily, PureFamily, family
from dpaudit.accounting.sampled import Tabulated
from dpaudit.calibration import calibrate as module
from dpaudit.calibration.all_methods import usable_methods
from dpaudit.calibration.calibrate import MANY, SPENT, calibrate
from dpaudit.calibration.methods import BoundSettings, Selected
from dpaudit.calibration.results import Setting
from dpaudit.calibration.simulated import (
    SAMPLED,
    KnownLaplace,
    KnownRandomizedResponse,
    SimulatedRun,
    mechanisms,
)
from dpaudit.estimators import ClopperPearson, PairedAUC, RankTest
from dpaudit.rates import BoundCriterion
from dpaudit.results import Counts, Scores

DELTA = 1e-5
N = 50
PURE = "pure curve"


def numbers(method, mechanism, repetitions, confidence=0.95):
    """What a method says in many runs."""
    asked = BoundSettings(DELTA, confidence)
    runs = (SimulatedRun(mechanism, N, seed) for seed in range(repetitions))
    return np.array([method.epsilon(run, asked, run.seed) for run in runs])


# ---------------------------------------------------------------- known rates


def test_clopper_pearson_alarms_as_often_as_enumeration_says():
    """Each half has all its counts; a rule that always says the same bounds nothing."""
    response, confidence, games, half = KnownRandomizedResponse(1.0), 0.7, 1000, N // 2
    lies, estimator, k = 1 / (1 + math.e), ClopperPearson(confidence), np.arange(N // 2 + 1)
    counted = [[Counts(i, half, j, half) for j in k] for i in k]
    bounds = np.array([[estimator.bound(c, DELTA).epsilon for c in row] for row in counted])
    chance = np.outer(binom.pmf(k, half, lies), binom.pmf(k, half, lies))
    rated = BoundCriterion(DELTA)(k[:, None], half, k[None, :], half)
    told_apart = float(chance[rated > rated[0, half]].sum())
    assert 0.5 < told_apart < 1
    truth = response.epsilon(DELTA)
    rate = told_apart * float(chance[bounds > truth].sum())
    mean, square = (told_apart * float((chance * bounds**power).sum()) for power in (1, 2))
    assert 0.01 < rate < 1 - confidence
    found = numbers(Selected("loss", "clopper-pearson", None), response, games, confidence)
    assert count_is(np.sum(found > truth), games, rate)
    assert mean_is(found, mean, math.sqrt(square - mean**2))


def test_pairs_alarm_as_often_as_enumeration_says():
    """A pair is won if both tell the truth, tied if one does, else lost: all counts of them."""
    response, games, confidence = KnownRandomizedResponse(1.0), 1000, 0.4
    estimator = PairedAUC("pure", confidence)
    truth = response.epsilon(DELTA)
    right = 1 / (1 + math.exp(-1))
    shares = [right**2, (1 - right) ** 2, 2 * right * (1 - right)]
    rate = 0.0
    for won in range(N + 1):
        for lost in range(N + 1 - won):
            signs = np.repeat([1.0, -1.0, 0.0], [won, lost, N - won - lost])
            if estimator.bound(Scores(np.zeros(N), signs), DELTA).epsilon > truth:
                rate += multinomial.pmf([won, lost, N - won - lost], N, shares)
    method = Selected("loss", "paired-auc", "pure")
    found = numbers(method, response, games, confidence)
    assert 0.02 < rate < 0.4
    assert count_is(np.sum(found > truth), games, rate)


# ---------------------------------------------------------------- the truth


def test_a_laplace_mechanism_has_the_epsilon_that_its_divergence_has():
    epsilon = KnownLaplace(1.0).epsilon(0.05)

    def excess(x):
        return max(0.0, (math.exp(-abs(x - 1)) - math.exp(epsilon - abs(x))) / 2)

    assert quad(excess, -40, 40, points=[0, 0.5, 1], limit=200)[0] == pytest.approx(0.05, abs=1e-6)


def test_randomized_response_has_the_epsilon_that_its_divergence_has():
    right, epsilon = 1 / (1 + math.exp(-1)), KnownRandomizedResponse(1.0).epsilon(0.05)
    assert right - math.exp(epsilon) * (1 - right) == pytest.approx(0.05)


def test_spent_delta_is_in_the_divergence():
    epsilon = KnownRandomizedResponse(1.0, SPENT).epsilon(SPENT + 0.05)
    right = (1 - SPENT) / (1 + math.exp(-1))
    excess = SPENT + right - math.exp(epsilon) * (1 - SPENT - right)
    assert excess == pytest.approx(SPENT + 0.05)
    assert KnownRandomizedResponse(1.0, SPENT).epsilon(SPENT) == 1


def test_mechanisms_draw_what_their_curves_allow():
    """How often an in-trial scores higher is the largest AUC of the curve, these being the best."""
    for mechanism in [*mechanisms(DELTA), KnownRandomizedResponse(1.0, SPENT)]:
        delta = getattr(mechanism, "spent", 0.0) or DELTA
        run = SimulatedRun(mechanism, 20_000, 1)
        scores = run.seen["values"][:, 0]
        out, inn = scores[run.worlds == 0], scores[run.worlds == 1]
        won = np.mean((inn > out) + 0.5 * (inn == out))
        if mechanism.epsilon(delta) == 0:
            area = 0.5
        elif mechanism.curves:
            curve = mechanism.curves[0]
            parameter = getattr(curve, "mu", None) or curve.noise_multiplier
            area = family(curve, DELTA).area(parameter)
        elif mechanism.name == "Laplace":
            area = 1 - math.exp(-1) * 3 / 4
        else:
            area = PureFamily(mechanism.spent).area(1.0)
        assert won == pytest.approx(area, abs=4.5 * 0.5 / math.sqrt(20_000)), mechanism.name


def test_what_is_shown_rises_with_what_is_released():
    run = SimulatedRun(mechanisms(DELTA)[1], N, 3)
    order = np.argsort(run.seen["values"][:, 0])
    margin = run.seen["logits"][:, 1] - run.seen["logits"][:, 0]
    assert (np.diff(margin[order]) >= 0).all()
    assert run.seen["mc"].shape == (2 * N, 16, 2)
    np.testing.assert_allclose(run.seen["mc"].sum(axis=2), 1)


# ---------------------------------------------------------------- tables of curves


def scored(seed):
    run = SimulatedRun(KnownRandomizedResponse(1.4), N, seed)
    z = run.seen["values"][:, 0]
    return Scores(z[run.worlds == 0], z[run.worlds == 1])


def test_a_table_rounds_down_and_changes_no_alarm():
    truth = 1.0
    table = Tabulated.beyond(PureFamily(DELTA), truth, DELTA, 128, reach=3)
    alarms = 0
    for seed in range(60):
        scores = scored(seed)
        rough = RankTest(table, seed=seed, draws=400).bound(scores, DELTA).epsilon
        fine = RankTest("pure", seed=seed, draws=400).bound(scores, DELTA).epsilon
        assert 0 <= fine - rough < 0.05
        assert (rough > truth) == (fine > truth)
        alarms += fine > truth
    assert 0 < alarms < 60


def test_the_subsampled_mechanism_stands_on_a_step_of_its_family():
    curves = DPSGDFamily(SAMPLED.sample_rate, SAMPLED.steps)
    table = Tabulated.beyond(curves, curves.epsilon(SAMPLED.noise_multiplier, DELTA), DELTA, 8, 1.5)
    steps = [s for s in range(1, curves.steps) if curves.parameter(s) == SAMPLED.noise_multiplier]
    assert len(steps) == 1
    assert steps[0] + 1 in table.kept


# ---------------------------------------------------------------- all of it


@pytest.fixture(scope="module")
def small():
    return calibrate(Setting(repetitions=3, trials=12))


def test_workers_change_no_number(small, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 2)
    told = []
    again = calibrate(small.setting, workers=2, progress=lambda done, total: told.append(done))
    assert again == small
    assert told == list(range(1, len(told) + 1))
    assert len(told) >= 16


def test_another_seed_gives_other_numbers(small):
    means = [row.measured.mean for row in small.rows]
    other = calibrate(Setting(repetitions=1, trials=12, seed=1))
    assert [row.measured.mean for row in other.rows] != means


def test_every_attack_and_every_estimator_is_asked(small):
    from dpaudit import registry

    # Scalar mechanisms release no reported values, learners, parameters or second moments.
    of_other_releases = {"reported-value", "learner", "laplace", "second-moment", "mixture"}
    of_other_releases |= {"nearest", "reconstruction", "elbo", "subspace"}
    every = set(registry.names("attacks")) - of_other_releases
    assert {row.attack for row in small.rows} >= every
    asked = " ".join(row.judged for row in small.rows)
    for name in registry.names("estimators"):
        assert name in asked


def test_every_kind_of_bound_that_is_printed_is_asked(small):
    on = {}
    for r in small.bounds:
        on.setdefault((r.attack, r.judged), set()).add((r.mechanism, r.trials))
    every = {(r.mechanism, r.trials) for r in small.rows if r.trials == 12}
    assert len(every) == 6
    spends = KnownRandomizedResponse(1.0, SPENT).name
    bare = {("Laplace", 12), ("randomized response", 12)}
    run = {("Gaussian", 12), ("randomized response", 12), ("subsampled Gaussian", 12)}
    (picked,) = (method for attack, method in on if attack == "picked" and "dpaudit run" in method)
    assert on["picked", picked] == run
    alone = {("randomized response", 12), (spends, 12), ("subsampled Gaussian", 12)}
    assert on["loss", "until decided, e-process"] == alone
    curved = {(m, 12) for m in ("no leak", "Gaussian", "subsampled Gaussian")}
    assert on["loss", "until decided, auc-bet"] == {("subsampled Gaussian", 12)}
    assert on["loss", "rank-test, all trials"] == curved
    assert on["loss", f"rank-test, {PURE}"] == {("randomized response", 12)}
    assert on["loss", f"paired-auc, {PURE}"] > bare
    large = {(m, MANY * 12) for m in ("no leak", "Laplace")}
    assert on["loss", "clopper-pearson, hold-out"] == every | large
    assert on["mean", "clopper-pearson, hold-out"] == every - {(spends, 12)}
    assert on["together", "until decided, auc-bet"] == {("Gaussian", 12)}
    assert {r.delta for r in small.rows if "delta" in r.mechanism} == {SPENT}


def test_what_assumes_a_curve_is_asked_only_where_it_is_promised(small):
    on = {
        name: {row.mechanism for row in small.bounds if row.judged.startswith(f"{name},")}
        for name in ("gdp", "pld", "rank-test")
    }
    assert on["gdp"] == {"no leak", "Gaussian"}
    assert on["pld"] == {"no leak", "Gaussian", "subsampled Gaussian"}
    assert len(on["rank-test"]) == 4


def test_every_combination_is_more_and_each_once():
    response = KnownRandomizedResponse(1.0)
    usual = [(w.attack, w.judged) for w in usable_methods(response, DELTA)]
    every = [(w.attack, w.judged) for w in usable_methods(response, DELTA, full=True)]
    assert set(usual) < set(every)
    assert {("picked", "look 2, at a/4"), ("picked", "look 3, at a/8")} < set(every)
    assert len(set(every)) == len(every)
    for method in usable_methods(response, DELTA, full=True):
        assert method.epsilon(SimulatedRun(response, 12, 0), BoundSettings(DELTA, 0.95), 0) >= 0, (
            method
        )


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("repetitions", 0, "too-small"),
        ("trials", 9, "too-small"),
        ("confidence", 1.0, "out-of-range"),
        ("delta", 0.0, "out-of-range"),
        ("seed", -1, "too-small"),
    ],
)
def test_a_bad_setting_is_refused(option, value, code):
    with refuses(code, option=option, value=value):
        Setting(**{option: value})


@pytest.mark.verify
def test_every_bound_keeps_its_word():
    found = calibrate(Setting(repetitions=1000, seed=7), workers=2)
    assert found.by_chance < 0.005
    assert found.detectable_rate < 0.075
    assert found.broken == []
    assert 90 < len(found.bounds) < 200
