"""The last-iterate heuristic, against plain quadrature of two densities and known cases."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpaudit import accounting
from dpaudit.accounting.last_iterate import last_iterate_epsilon
from dpaudit.types import DPSGDCurve

DELTA = 1e-5


def divergences(curve, epsilon):
    """Both hockey-stick divergences of the pair, summed on a fine grid."""
    deviation = curve.noise_multiplier * np.sqrt(curve.steps)
    x = np.linspace(-12 * deviation, curve.steps + 12 * deviation, 200_001)
    out = norm.pdf(x, 0, deviation)
    inn = np.zeros_like(x)
    for k in range(curve.steps + 1):
        inn += binom.pmf(k, curve.steps, curve.sample_rate) * norm.pdf(x, k, deviation)
    width = x[1] - x[0]
    return [
        width * np.maximum(0, one - np.exp(epsilon) * other).sum()
        for one, other in ((inn, out), (out, inn))
    ]


@pytest.mark.parametrize(
    "curve",
    [
        DPSGDCurve(0.256, 234, 2.497),
        DPSGDCurve(0.01, 100, 0.5),
        DPSGDCurve(0.5, 10, 0.8),
        DPSGDCurve(0.05, 200, 20.0),
    ],
)
def test_the_larger_divergence_at_the_epsilon_found_is_delta(curve):
    found = last_iterate_epsilon(curve, DELTA)
    assert max(divergences(curve, found)) == pytest.approx(DELTA, rel=1e-3)


def test_one_step_shows_all_that_the_accountant_counts():
    curve = DPSGDCurve(0.05, 1, 1.0)
    assert last_iterate_epsilon(curve, DELTA) == pytest.approx(
        accounting.epsilon(curve, DELTA), abs=1e-3
    )


def test_steps_that_all_see_the_record_show_all_of_a_gaussian_mechanism():
    curve = DPSGDCurve(1.0, 50, 5.0)
    whole = accounting.gaussian_epsilon(np.sqrt(50) / 5, DELTA)
    assert last_iterate_epsilon(curve, DELTA) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(("q", "steps", "noise"), [(0.256, 234, 2.497), (0.01, 1000, 0.5)])
def test_the_last_iterate_shows_less_than_all_steps(q, steps, noise):
    curve = DPSGDCurve(q, steps, noise)
    assert 0 < last_iterate_epsilon(curve, DELTA) < accounting.epsilon(curve, DELTA)


def test_nothing_is_found_under_much_noise_and_many_steps_are_quick():
    assert last_iterate_epsilon(DPSGDCurve(0.01, 10, 1e4), DELTA) == 0
    many = DPSGDCurve(0.1, 100_000, 100.0)
    assert last_iterate_epsilon(many, DELTA) == pytest.approx(1.2, abs=0.01)
