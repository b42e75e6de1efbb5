"""Calibration: known rates are measured, sound ways keep their word and the others do not."""

import math

import numpy as np
import pytest
from chance import A, count_is, mean_is
from scipy.integrate import quad
from scipy.stats import binom

from dpaudit.calibration import calibrate as module
from dpaudit.calibration.calibrate import Calibrated, Calibration, Setting, calibrate
from dpaudit.calibration.every_way import ways
from dpaudit.calibration.guessing import guessed
from dpaudit.calibration.mechanisms import SAMPLED, Laplace, NoLeak, RandomizedResponse, mechanisms
from dpaudit.calibration.plays import Play
from dpaudit.calibration.tabulated import Tabulated
from dpaudit.calibration.unsound import best_clopper_pearson, best_gdp, best_katz, best_one_run
from dpaudit.calibration.ways import Asked, Selected
from dpaudit.curves import DPSGD, Pure, family
from dpaudit.errors import BadInput
from dpaudit.estimators import ClopperPearson, PairedAUC, RankTest
from dpaudit.types import Counts, Scores

DELTA = 1e-5
N = 50


def numbers(way, mechanism, repetitions, confidence=0.95):
    """What a way says in many plays."""
    asked = Asked(DELTA, confidence)
    plays = (Play(mechanism, N, seed) for seed in range(repetitions))
    return np.array([way.epsilon(play, asked, play.seed) for play in plays])


# ---------------------------------------------------------------- known rates


def test_clopper_pearson_alarms_as_often_as_enumeration_says():
    """Of Bonferroni's three rules only one tells the two answers apart, at a/3."""
    response, confidence, games = RandomizedResponse(1.0), 0.7, 1000
    lies = 1 / (1 + math.e)
    estimator = ClopperPearson(1 - (1 - confidence) / 3)
    k = np.arange(N + 1)
    bounds = np.array([[estimator.bound(Counts(i, N, j, N), DELTA).epsilon for j in k] for i in k])
    chance = np.outer(binom.pmf(k, N, lies), binom.pmf(k, N, lies))
    way = Selected("loss", "Bonferroni", "clopper-pearson", None)
    found = numbers(way, response, games, confidence)
    truth = response.epsilon(DELTA)
    rate = float(chance[bounds > truth].sum())
    assert 0.01 < rate < 1 - confidence
    assert count_is(np.sum(found > truth), games, rate)
    mean = float((chance * bounds).sum())
    assert mean_is(found, mean, math.sqrt((chance * (bounds - mean) ** 2).sum()))


def test_pairs_alarm_as_often_as_enumeration_says():
    """A pair is won if both tell the truth, or by a coin: as often as one tells the truth."""
    response, games, confidence = RandomizedResponse(1.0), 1000, 0.9
    estimator = PairedAUC("pure", confidence)
    truth = response.epsilon(DELTA)
    k = np.arange(N + 1)
    outcomes = [Scores(np.zeros(N), np.where(np.arange(N) < won, 1.0, -1.0)) for won in k]
    alarming = [estimator.bound(outcome, DELTA).epsilon > truth for outcome in outcomes]
    rate = float(binom.pmf(k, N, 1 / (1 + math.exp(-1)))[alarming].sum())
    way = Selected("loss", "hold-out", "paired-auc", "pure")
    found = numbers(way, response, games, confidence)
    assert 0.02 < rate < 0.1
    assert count_is(np.sum(found > truth), games, rate)


# ---------------------------------------------------------------- the truth


def test_a_laplace_mechanism_has_the_epsilon_that_its_divergence_has():
    epsilon = Laplace(1.0).epsilon(0.05)

    def excess(x):
        return max(0.0, (math.exp(-abs(x - 1)) - math.exp(epsilon - abs(x))) / 2)

    assert quad(excess, -40, 40, points=[0, 0.5, 1], limit=200)[0] == pytest.approx(0.05, abs=1e-6)


def test_randomized_response_has_the_epsilon_that_its_divergence_has():
    right, epsilon = 1 / (1 + math.exp(-1)), RandomizedResponse(1.0).epsilon(0.05)
    assert right - math.exp(epsilon) * (1 - right) == pytest.approx(0.05)


def test_mechanisms_draw_what_their_curves_allow():
    """How often an in-trial scores higher is the largest AUC of the curve, these being the best."""
    for mechanism in mechanisms(DELTA):
        play = Play(mechanism, 20_000, 1)
        scores = play.seen["values"][:, 0]
        out, inn = scores[play.worlds == 0], scores[play.worlds == 1]
        won = np.mean((inn > out) + 0.5 * (inn == out))
        if mechanism.epsilon(DELTA) == 0:
            area = 0.5
        elif mechanism.curves:
            curve = mechanism.curves[0]
            parameter = getattr(curve, "mu", None) or curve.noise_multiplier
            area = family(curve, DELTA).area(parameter)
        elif mechanism.name == "Laplace":
            area = 1 - math.exp(-1) * 3 / 4
        else:
            area = Pure(0.0).area(1.0)
        assert won == pytest.approx(area, abs=4.5 * 0.5 / math.sqrt(20_000)), mechanism.name


def test_what_is_shown_rises_with_what_is_released():
    play = Play(mechanisms(DELTA)[1], N, 3)
    order = np.argsort(play.seen["values"][:, 0])
    margin = play.seen["logits"][:, 1] - play.seen["logits"][:, 0]
    assert (np.diff(margin[order]) >= 0).all()
    assert play.seen["mc"].shape == (2 * N, 16, 2)
    np.testing.assert_allclose(play.seen["mc"].sum(axis=2), 1)


# ---------------------------------------------------------------- tables of curves


def test_a_table_rounds_down_and_changes_no_alarm():
    truth = 1.0
    table = Tabulated.beyond(Pure(DELTA), truth, DELTA, 128, reach=3)
    alarms = 0
    for seed in range(60):
        scores = scored(RandomizedResponse(1.4), N, seed)
        rough = RankTest(table, seed=seed, draws=400).bound(scores, DELTA).epsilon
        fine = RankTest("pure", seed=seed, draws=400).bound(scores, DELTA).epsilon
        assert 0 <= fine - rough < 0.05
        assert (rough > truth) == (fine > truth)
        alarms += fine > truth
    assert 0 < alarms < 60


def test_the_subsampled_mechanism_stands_on_a_step_of_its_family():
    curves = DPSGD(SAMPLED.sample_rate, SAMPLED.steps)
    table = Tabulated.beyond(curves, curves.epsilon(SAMPLED.noise_multiplier, DELTA), DELTA, 8, 1.5)
    steps = [s for s in range(1, curves.steps) if curves.parameter(s) == SAMPLED.noise_multiplier]
    assert len(steps) == 1
    assert steps[0] + 1 in table.kept


# ---------------------------------------------------------------- rules that are no bounds


def scored(mechanism, trials, seed):
    worlds = np.tile([0, 1], trials)
    z = mechanism.draw(worlds, np.random.default_rng(seed))
    return Scores(z[worlds == 0], z[worlds == 1])


@pytest.mark.parametrize(
    ("rule", "mechanism", "trials", "games"),
    [
        (best_katz, NoLeak(), N, 200),
        (best_gdp, Laplace(1.0), N, 100),
        pytest.param(best_clopper_pearson, Laplace(1.0), 1000, 1500, marks=pytest.mark.verify),
    ],
)
def test_the_best_threshold_alarms_too_often(rule, mechanism, trials, games):
    """So many alarms at 5 % have a probability of 1e-5."""
    truth = mechanism.epsilon(DELTA)
    alarms = sum(
        rule(scored(mechanism, trials, seed), DELTA, 0.95) > truth for seed in range(games)
    )
    assert alarms > binom.isf(A, games, 0.05)


def test_the_best_number_of_guesses_alarms_too_often_and_a_fixed_one_does_not():
    found, games = {"best": 0, "fixed": 0}, 1000
    one_run = next(way for way in ways(NoLeak(), DELTA) if way.judged == "one-run, fixed count")
    for seed in range(games):
        play = Play(NoLeak(), N, seed)
        found["best"] += best_one_run(*play.run, DELTA, 0.95) > 0
        found["fixed"] += one_run.epsilon(play, Asked(DELTA, 0.95), 0) > 0
    assert found["best"] > binom.isf(A, games, 0.05) >= found["fixed"]


def test_katz_is_the_formula():
    scores = Scores(np.array([0.0] * 40 + [1.0] * 10), np.array([0.0] * 20 + [1.0] * 30))
    z = 1.6448536269514722
    said_in = math.log((0.6 - DELTA) / 0.2) - z * math.sqrt(0.4 / 30 + 0.8 / 10)
    said_out = math.log((0.8 - DELTA) / 0.4) - z * math.sqrt(0.2 / 40 + 0.6 / 20)
    assert best_katz(scores, DELTA, 0.95) == pytest.approx(max(said_in, said_out))


def test_guesses_are_the_highest_and_the_lowest():
    scores, worlds = np.array([3.0, 1.0, 2.0, 5.0, 4.0]), np.array([0, 0, 1, 1, 1])
    for r in range(1, 6):
        ranked = sorted(range(5), key=lambda i: scores[i])
        right = sum(worlds[i] == 0 for i in ranked[: r // 2])
        right += sum(worlds[i] == 1 for i in ranked[5 - (r - r // 2) :])
        found = guessed(scores, worlds, r)
        assert (found.canaries, found.guesses, found.correct) == (5, r, right)


# ---------------------------------------------------------------- all of it


@pytest.fixture(scope="module")
def small():
    return calibrate(Setting(repetitions=6, trials=12))


def test_workers_change_no_number(small, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 4)
    told = []
    again = calibrate(small.setting, workers=2, progress=lambda done, total: told.append(done))
    assert again == small
    assert told == list(range(1, 11))


def test_another_seed_gives_other_numbers(small):
    means = [row.mean for row in small.rows]
    monkey = Setting(repetitions=1, trials=12, seed=1)
    assert [row.mean for row in calibrate(monkey).rows] != means


def test_every_attack_and_every_estimator_is_asked(small):
    from dpaudit import registry

    assert {row.attack for row in small.rows} >= set(registry.names("attacks"))
    asked = " ".join(row.judged for row in small.rows)
    for name in registry.names("estimators"):
        assert name in asked


def test_what_assumes_a_curve_is_asked_only_where_it_is_promised(small):
    on = {
        name: {row.mechanism for row in small.bounds if row.judged.startswith(f"{name},")}
        for name in ("gdp", "pld", "rank-test")
    }
    assert on["gdp"] == {"no leak", "Gaussian"}
    assert on["pld"] == {"no leak", "Gaussian", "subsampled Gaussian"}
    assert len(on["rank-test"]) == 5


def test_every_combination_is_more_and_each_once():
    response = RandomizedResponse(1.0)
    usual = [(w.attack, w.judged) for w in ways(response, DELTA)]
    every = [(w.attack, w.judged) for w in ways(response, DELTA, full=True)]
    assert set(usual) < set(every)
    assert len(set(every)) == len(every)
    for way in ways(response, DELTA, full=True):
        assert way.epsilon(Play(response, 12, 0), Asked(DELTA, 0.95), 0) >= 0, way


def row(alarms, standing="bound", n=400):
    return Calibrated("no leak", 0.0, "loss", "x, hold-out", standing, n, alarms, 0.1)


def test_what_is_beyond_chance_is_broken_and_what_is_not_is_not():
    """Of 400 audits with a rate of 5 % 38 or more alarm with a probability of 1 in 5,000."""
    found = Calibration(Setting(), [row(20), row(28), row(45), row(400, "no bound")])
    assert [r.alarms for r in found.broken] == [45]
    assert not found.held
    assert Calibration(Setting(), [row(20), row(28), row(400, "credible")]).held


def test_a_rate_has_the_interval_of_clopper_and_pearson():
    low, high = row(20).interval
    assert binom.sf(19, 400, low) == pytest.approx(0.025)
    assert binom.cdf(20, 400, high) == pytest.approx(0.025)
    assert row(0).interval[0] == 0


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"repetitions": 0}, "repetitions must be a whole number of at least 1, not 0"),
        ({"trials": 9}, "trials must be a whole number of at least 10, not 9"),
        ({"confidence": 1.0}, "confidence must be above 0.5 and at most 0.999, not 1.0"),
        ({"delta": 0.0}, "delta must be at least 1e-12 and at most 0.1, not 0.0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
    ],
)
def test_a_bad_setting_is_refused(setting, said):
    with pytest.raises(BadInput, match=said):
        Setting(**setting)


@pytest.mark.verify
def test_every_bound_keeps_its_word():
    """Some hundred rows, each of which fails by chance with a probability of 1e-6."""
    found = calibrate(Setting(repetitions=1000, seed=7), workers=2)
    most = binom.isf(1e-6, 1000, 0.05)
    assert {r.judged: r.alarms for r in found.bounds if r.alarms > most} == {}
    assert len(found.bounds) < 100
