import math

import numpy as np
import pytest
from outcome_strategies import DELTA, KNOWN
from scipy.integrate import trapezoid
from scipy.stats import beta, binom

from dpaudit.estimators import JointBeta
from dpaudit.results import Counts


def test_known_answer():
    """By quadrature of high precision."""
    assert JointBeta().bound(KNOWN, DELTA).epsilon == pytest.approx(3.804297, abs=1e-5)


def papers_region(x, y, e, d):
    """R(e) with all of its edges."""
    low = np.maximum(0, np.maximum(1 - d - x * np.exp(e), (1 - d - x) * np.exp(-e)))
    high = np.minimum(1, np.minimum(1 + (d - x) * np.exp(-e), d + (1 - x) * np.exp(e)))
    return (low <= y) & (y <= high)


def naive(c, a, d, nodes=1200):
    """The root over a square of equally probable points, most of all easy to believe."""
    p = (np.arange(nodes) + 0.5) / nodes
    x = beta.ppf(p, 0.5 + c.fn, 0.5 + c.inn - c.fn)[:, None]
    y = beta.ppf(p, 0.5 + c.fp, 0.5 + c.out - c.fp)[None, :]
    low, high = 0.0, 12.0
    while high - low > 1e-4:
        e = (low + high) / 2
        low, high = (low, e) if papers_region(x, y, e, d).mean() >= a else (e, high)
    return low


@pytest.mark.parametrize(
    ("c", "confidence", "delta"),
    [
        (KNOWN, 0.95, DELTA),
        (Counts(10, 50, 12, 50), 0.95, DELTA),
        (Counts(3, 200, 30, 80), 0.8, 0.01),
    ],
)
def test_bound_is_the_papers_on_a_square_of_points(c, confidence, delta):
    bound = JointBeta(confidence).bound(c, delta)
    assert bound.epsilon == pytest.approx(naive(c, 1 - confidence, delta), abs=1e-3)


def test_interval_has_equal_tails_on_a_square_of_points():
    low, high = JointBeta().bound(Counts(10, 50, 12, 50), DELTA).interval
    assert low == pytest.approx(naive(Counts(10, 50, 12, 50), 0.025, DELTA), abs=2e-3)
    assert high == pytest.approx(naive(Counts(10, 50, 12, 50), 0.975, DELTA), abs=2e-3)


def test_tails_are_integrated_too():
    """At an error probability that a thousand equally probable nodes would not see."""
    c, a = Counts(10, 50, 12, 50), 1e-6
    e = JointBeta(1 - a).bound(c, DELTA).epsilon
    x = np.linspace(0, 1, 100_001)
    edge = np.maximum(0, np.maximum(1 - DELTA - x * np.exp(e), (1 - DELTA - x) * np.exp(-e)))
    f = beta.pdf(x, 12.5, 38.5) * beta.sf(edge, 10.5, 40.5)
    assert trapezoid(f, x) == pytest.approx(a, rel=1e-3)


# ---------------------------------------------------------------- how often it is above the truth


def above(true, n=50, a=0.05):
    """Exactly, by enumeration: the probability that randomized response's epsilon is exceeded.

    More errors never raise a bound, so that the counts above it end in a staircase.
    """

    def exceeds(fp, fn):
        return JointBeta(1 - a).bound(Counts(fp, n, fn, n), 0.0).epsilon > true + 1e-9

    wrong = 1 / (1 + math.exp(true))
    k = np.arange(n + 1)
    chance = binom.pmf(k, n, wrong)
    total, fp = 0.0, n
    for fn in range(n + 1):
        while fp >= 0 and not exceeds(fp, fn):
            fp -= 1
        total += chance[fn] * binom.cdf(fp, n, wrong)
    return total


@pytest.mark.parametrize(("true", "share"), [(0.5, 0.081), (3.0, 0.217)])
def test_it_exceeds_the_truth_more_often_than_stated_as_its_docstring_says(true, share):
    assert above(true) == pytest.approx(share, abs=2e-3)


def test_without_a_leak_it_alarms_no_more_often_than_stated():
    """With the paper's upper edges it would do so always: at d = 0 nothing lies between them."""
    assert 0.02 < above(0.0) <= 0.05
    e, x, y = 0.0, np.array([0.5]), np.array([0.5 + 1e-9])
    assert not papers_region(x, y, e, 0.0).any()
