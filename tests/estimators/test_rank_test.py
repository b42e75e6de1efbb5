import numpy as np
import pytest
from refusals import refuses
from scipy.optimize import brentq

from dpaudit.accounting import gaussian_epsilon
from dpaudit.estimators import PairedAUC, RankTest
from dpaudit.estimators.exact_tests import wins
from dpaudit.estimators.sentences import confident
from dpaudit.results import NOTHING_TO_CHOOSE, Scores
from dpaudit.types import DPSGDCurve, GaussianCurve

DELTA = 1e-5


def of_epsilon(true):
    return brentq(lambda mu: gaussian_epsilon(mu, DELTA) - true, 0.01, 10)


def scores(n, mu, seed):
    draw = np.random.default_rng(seed)
    return Scores(draw.normal(size=n), draw.normal(size=n) + mu)


@pytest.mark.parametrize(("n0", "n1"), [(1, 1), (7, 5), (3, 20)])
def test_wins_are_counted_as_by_a_double_loop(n0, n1):
    draw = np.random.default_rng(n0)
    out, inn = np.sort(draw.random((4, n0)), axis=1), np.sort(draw.random((4, n1)), axis=1)
    naive = [sum(i < o for i in inn[b] for o in out[b]) for b in range(4)]
    assert wins(out, inn).tolist() == naive


@pytest.mark.parametrize("n", [5, 40])
def test_ceiling_is_where_worlds_wholly_apart_have_the_error_probability(n):
    """By simulation, 40,000 draws: 5 % within 4.5 deviations, 1e-5 to fail by chance."""
    ceiling = RankTest().ceiling(n, n, DELTA)
    mu = of_epsilon(ceiling)
    draw = np.random.default_rng(1)
    highest, lowest = draw.normal(size=(40_000, n)).max(1), draw.normal(size=(40_000, n)).min(1)
    apart = np.mean(lowest + mu > highest)
    assert apart == pytest.approx(0.05, abs=4.5 * np.sqrt(0.05 * 0.95 / 40_000))


def test_worlds_wholly_apart_reach_the_ceiling():
    """But for the draws: of 2,000, 100 plus or minus 10 lie beyond."""
    bound = RankTest().bound(Scores(np.zeros(100), np.ones(100)), DELTA)
    assert 0.97 * bound.ceiling < bound.epsilon <= bound.ceiling


def test_bound_says_what_it_is():
    found = scores(30, 2.0, 0)
    bound = RankTest(confidence=0.9, draws=199).bound(found, DELTA)
    assert (bound.estimator, bound.assumption, bound.selection) == (
        "rank-test",
        "gaussian",
        NOTHING_TO_CHOOSE,
    )
    assert (bound.confidence, bound.delta, bound.counts) == (0.9, DELTA, None)
    assert RankTest("pure", draws=199).bound(found, DELTA).assumption == "none"
    same = RankTest(GaussianCurve(9.9), confidence=0.9, draws=199).bound(found, DELTA)
    assert same == bound
    assert bound.sentence.startswith(confident(0.9))
    assert "assuming a mechanism whose trade-off curve is Gaussian, indep" in bound.sentence


def test_the_accountants_curve_is_one_too():
    """A record in half of two batches, noise 1; its score is the likelihood ratio."""
    draw = np.random.default_rng(0)
    out = draw.normal(size=(300, 2))
    inn = draw.normal(size=(300, 2)) + (draw.random((300, 2)) < 0.5)
    found = Scores(*(np.log1p(np.exp(x - 0.5)).sum(axis=1) for x in (out, inn)))
    claim = DPSGDCurve(sample_rate=0.5, steps=2, noise_multiplier=1.0)
    bound = RankTest(claim, draws=499).bound(found, DELTA)
    assert bound.assumption == "accountant"
    # The accountant's own epsilon is 4.854.
    assert 2 < bound.epsilon < 4.854
    replaced = RankTest(claim, draws=999, adjacency="replace").bound(found, DELTA)
    assert replaced.epsilon > 0
    assert "at a rate of 0.5 in 2 steps, as claimed" in bound.sentence
    assert "neighbours by one record added or removed, independent trials" in bound.sentence
    assert "neighbours by one record replaced, independent trials" in replaced.sentence


@pytest.mark.parametrize(("true", "paired", "rank"), [(4, 2.45, 2.83), (10, 7.44, 8.32)])
def test_mean_bounds_are_the_known_ones(true, paired, rank):
    """100 trials a world, 16 audits; the deviation of a bound is below 0.6 + 0.08 true.

    Tolerance 4.5 deviations of the mean: 1e-5 to fail by chance.
    """
    mu = of_epsilon(true)
    audits = [scores(100, mu, seed) for seed in range(16)]
    tolerance = 4.5 * (0.6 + 0.08 * true) / 4
    ranked = [RankTest(draws=499).bound(one, DELTA).epsilon for one in audits]
    assert np.mean(ranked) == pytest.approx(rank, abs=tolerance)
    by_pairs = [PairedAUC().bound(one, DELTA).epsilon for one in audits]
    assert np.mean(by_pairs) == pytest.approx(paired, abs=tolerance)
    assert np.mean(ranked) > np.mean(by_pairs)


def test_bounds_exceed_the_truth_as_rarely_as_stated():
    """Whole bounds, 40 audits: more than 9 above with a probability of 4e-5."""
    bounds = [RankTest(draws=199).bound(scores(15, 1.0, seed), DELTA) for seed in range(40)]
    assert sum(b.epsilon > gaussian_epsilon(1.0, DELTA) for b in bounds) <= 9
    assert any(b.epsilon > 0 for b in bounds)


def test_a_confidence_that_would_take_too_many_draws_is_refused():
    with refuses("out-of-range", "confidence", 1 - 1e-9) as caught:
        RankTest(confidence=1 - 1e-9)
    assert "0.99999" in str(caught.value)
