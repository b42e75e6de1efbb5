import math

import pytest
from hypothesis import given
from outcome_strategies import DELTA, KNOWN, counts, steady
from scipy.integrate import quad
from scipy.optimize import brentq

from dpaudit.estimators import ClopperPearson, Jeffreys
from dpaudit.results import Counts


def test_known_answer():
    """That of privacy-estimates."""
    assert Jeffreys().bound(KNOWN, DELTA).epsilon == pytest.approx(3.663516, abs=1e-6)


@pytest.mark.parametrize("c", [KNOWN, Counts(2, 30, 4, 40), Counts(1, 25, 0, 25)], ids=str)
def test_bound_is_bayes_rule_integrated_naively(c):
    """Likelihood times prior, integrated in the angle whose sine squared is the rate."""

    def quantile(k, n):
        # With p = sin(t)^2 Jeffreys' prior is flat in t.
        def density(t):
            return math.sin(t) ** (2 * k) * math.cos(t) ** (2 * (n - k))

        peak = math.asin(math.sqrt(k / n))
        scale = density(peak)

        def mass(low, high):
            return quad(lambda t: density(t) / scale, low, high, points=[peak], limit=200)[0]

        whole = mass(0, math.pi / 2)
        t = brentq(lambda t: mass(t, math.pi / 2) / whole - 0.025, peak, math.pi / 2 - 1e-9)
        return math.sin(t) ** 2

    x, y = quantile(c.fp, c.out), quantile(c.fn, c.inn)
    naive = max(math.log((1 - DELTA - x) / y), math.log((1 - DELTA - y) / x))
    assert Jeffreys().bound(c, DELTA).epsilon == pytest.approx(naive, abs=1e-5)


@steady
@given(counts())
def test_never_below_clopper_pearson(c):
    """The price of a prior: a larger number, which errs more often."""
    certified = ClopperPearson().bound(c, DELTA).epsilon
    assert Jeffreys().bound(c, DELTA).epsilon >= certified - 1e-9


def test_it_assumes_a_prior():
    assert Jeffreys().bound(KNOWN, DELTA).assumption == "prior"
