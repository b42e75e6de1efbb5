import math
from itertools import combinations

import numpy as np
import pytest

from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.estimators.exact_scan import ALL_THRESHOLDS, Corners
from dpaudit.estimators.sentences import ASSUMED, SCORE, confident
from dpaudit.rates import log_ratio, upper_rate
from dpaudit.results import Scores

DELTA = 1e-5


def reached(out, inn, delta):
    """T by trying every threshold."""
    found = []
    for cut in np.arange(-1, len(out) + len(inn)) + 0.5:
        u0 = upper_rate(sum(o > cut for o in out), len(out), 0.025)
        u1 = upper_rate(sum(i < cut for i in inn), len(inn), 0.025)
        found.append(float(log_ratio(u0, u1, delta)))
    return max(found)


@pytest.mark.parametrize("delta", [0.0, 0.2, 0.9])
def test_corners_are_met_exactly_where_the_maximum_is_reached(delta):
    """For all orders of 4 and 3 trials, against all of them."""
    orders = [
        (np.array([k for k in range(7) if k not in inn]), np.array(inn))
        for inn in combinations(range(7), 3)
    ]
    values = [reached(out, inn, delta) for out, inn in orders]
    for (out, inn), value in zip(orders, values, strict=True):
        corners = Corners.of(out, inn, delta)
        for (other_out, other_inn), other in zip(orders, values, strict=True):
            # Small is in, where curves are concerned.
            o, i = np.sort(-other_out), np.sort(-other_inn)
            met = corners is None or (i[corners.inn] < o[corners.out]).any()
            assert met == (other >= value - 1e-9)


@pytest.mark.parametrize("sizes", [(30, 30), (10, 50), (50, 10)])
def test_corners_of_more_trials_are_those_of_every_threshold(sizes):
    draw = np.random.default_rng(3)
    n0, n1 = sizes

    def order(lead):
        keys = np.concatenate([draw.normal(size=n0), draw.normal(size=n1) + lead])
        rank = np.argsort(np.argsort(keys))
        return rank[:n0], rank[n0:]

    trials = [order(lead) for lead in (0.3, 1, 1, 2, 3)]
    values = [reached(*one, DELTA) for one in trials]
    for one, value in zip(trials, values, strict=True):
        corners = Corners.of(*one, DELTA)
        for other, its in zip(trials, values, strict=True):
            o, i = np.sort(-other[0]), np.sort(-other[1])
            met = corners is None or (i[corners.inn] < o[corners.out]).any()
            assert met == (its >= value - 1e-9)


@pytest.mark.parametrize(
    ("n", "ceiling"),
    [(50, 3.493), (100, 4.194), (250, 5.114), (500, 5.809), (1000, 6.503), (10_000, 8.806)],
)
def test_known_ceilings(n, ceiling):
    assert ExactScan().ceiling(n, n, DELTA) == pytest.approx(ceiling, abs=5e-4)
    t = 0.05 ** (1 / (2 * n))
    closed = math.log((t - DELTA) / (1 - t))
    assert ExactScan().ceiling(n, n, DELTA) == pytest.approx(closed, abs=1e-9)


@pytest.mark.parametrize("n", [50, 250])
def test_worlds_wholly_apart_reach_the_ceiling(n):
    """But for the draws: 100 plus or minus 10 of 2,000 reach it, which is 0.03 in epsilon."""
    bound = ExactScan().bound(Scores(np.zeros(n), np.ones(n)), DELTA)
    assert bound.ceiling - 0.2 < bound.epsilon <= bound.ceiling


def test_bound_says_what_it_is():
    draw = np.random.default_rng(0)
    found = Scores(draw.normal(size=40), draw.normal(size=40) + 3)
    bound = ExactScan(confidence=0.9, draws=199).bound(found, DELTA)
    assert (bound.estimator, bound.assumption, bound.selection) == (
        "exact-scan",
        "none",
        ALL_THRESHOLDS,
    )
    assert (bound.confidence, bound.delta) == (0.9, DELTA)
    assert bound.sentence.startswith(confident(0.9))
    assert f"{ASSUMED['none']} {SCORE}" in bound.sentence


def responses(n, true, seed):
    """Randomized response: the truth with probability e^true/(1+e^true)."""
    draw = np.random.default_rng(seed)
    right = 1 / (1 + math.exp(-true))
    return Scores((draw.random(n) > right) * 1.0, (draw.random(n) < right) * 1.0)


@pytest.mark.parametrize(("true", "known", "deviation"), [(1, 0.78, 0.15), (3, 2.54, 0.25)])
def test_mean_bounds_are_the_known_ones(true, known, deviation):
    """Randomized response, 250 trials a world, 8 audits; 4.5 deviations of the mean."""
    found = [
        ExactScan(draws=499, seed=seed).bound(responses(250, true, seed), DELTA).epsilon
        for seed in range(8)
    ]
    assert np.mean(found) == pytest.approx(known, abs=4.5 * deviation / math.sqrt(8))


def test_bounds_exceed_the_truth_as_rarely_as_stated():
    """Whole bounds, 40 audits: more than 9 above with a probability of 4e-5."""
    bounds = [ExactScan(draws=199).bound(responses(40, 1.0, seed), 0.0) for seed in range(40)]
    assert sum(b.epsilon > 1 for b in bounds) <= 9
    assert any(b.epsilon > 0 for b in bounds)


def test_the_scan_may_certify_more_than_counts_ever_could():
    """Its ceiling is above that of Clopper-Pearson on the same trials."""
    n = 100
    assert ExactScan().ceiling(n, n, DELTA) > ClopperPearson().ceiling(n, n, DELTA) + 0.9
