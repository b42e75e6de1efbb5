import math

import numpy as np
import pytest
from outcome_strategies import DELTA, KNOWN
from refusals import refuses
from scipy.integrate import quad
from scipy.stats import binom, norm

from dpaudit.accounting.curves import GaussianFamily
from dpaudit.estimators import GDP, ClopperPearson
from dpaudit.results import Counts


def test_known_answers():
    """Those of dp-accounting."""
    assert GDP().mu(KNOWN) == pytest.approx(3.021022, abs=1e-6)
    assert GDP().bound(KNOWN, DELTA).epsilon == pytest.approx(16.826971, abs=1e-6)


@pytest.mark.parametrize("mu", [0.01, 0.5, 3.021022, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-3])
def test_epsilon_is_the_definition_of_dp_integrated_naively(mu, delta):
    """delta is the most by which N(mu, 1) exceeds e^epsilon times N(0, 1)."""
    e = GaussianFamily().epsilon(mu, delta)

    def excess(x):
        return norm.pdf(x - mu) - math.exp(e + norm.logpdf(x))

    start = e / mu + mu / 2
    assert quad(excess, start, start + 12, epsabs=0, limit=200)[0] == pytest.approx(delta, rel=1e-6)


def test_mu_is_signed():
    """Its absolute value would report a leak in every audit without one."""
    leakless = Counts(fp=250, out=500, fn=250, inn=500)
    assert GDP().mu(leakless) < 0
    assert GDP().bound(leakless, DELTA).epsilon == 0
    assert GDP().mu(Counts(500, 500, 0, 500)) == -math.inf


@pytest.mark.parametrize("n", [1, 10, 40])
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("cut", [-0.5, 0.3, 1.5])
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_mu_exceeds_the_truth_no_more_often_than_stated(n, mu, cut, confidence):
    """Exactly, by enumeration: a Gaussian mechanism and a threshold on what it releases."""
    k = np.arange(n + 1)
    chance = np.outer(binom.pmf(k, n, norm.sf(cut)), binom.pmf(k, n, norm.cdf(cut - mu)))
    rule = GDP(confidence)
    table = [[rule.mu(Counts(int(fp), n, int(fn), n)) for fn in k] for fp in k]
    wrong = np.array(table) > mu + 1e-9
    assert chance[wrong].sum() <= 1 - confidence
    if n == 40:
        assert wrong.any(), "an enumeration that could not fail shows nothing"


def test_randomized_response_is_why_the_assumption_is_named():
    """Epsilon is 1, and the curve is not Gaussian: with enough trials 5.58 would be read."""
    n = 10**9
    wrong = round(n / (1 + math.e))
    bound = GDP().bound(Counts(wrong, n, wrong, n), DELTA)
    assert bound.assumption == "gaussian"
    assert bound.epsilon == pytest.approx(5.58, abs=5e-3)
    assert ClopperPearson().bound(bound.counts, DELTA).epsilon <= 1


def test_delta_zero_is_refused_because_no_epsilon_is_finite():
    with refuses("needs-delta", "delta", 0.0):
        GDP().bound(KNOWN, 0.0)
    with refuses("needs-delta", "delta", 0.0):
        GDP().ceiling(10, 10, 0.0)


def test_interval_has_no_end_where_a_rate_may_be_zero():
    low, high = GDP().bound(Counts(0, 500, 60, 500), DELTA).interval
    assert low > 0
    assert high == math.inf
