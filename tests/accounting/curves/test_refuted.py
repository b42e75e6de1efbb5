import math

import pytest

from dpaudit.accounting.curves import DPSGDFamily, GaussianFamily, PureFamily
from dpaudit.accounting.search import last_refuted, margin


def test_rates_below_the_curve_refute_it():
    corner = 1 / (1 + math.exp(1.0))
    assert margin(PureFamily(0.0), 1.0, corner - 1e-6, corner - 1e-6) > 0
    assert margin(PureFamily(0.0), 1.0, corner + 1e-6, corner + 1e-6) < 0


@pytest.mark.parametrize("at", [0, 1, 5000, 2**14])
def test_bisection_finds_the_last_step_that_is_refuted(at):
    curves = DPSGDFamily(0.1, 20)
    noise = curves.parameter(at)
    assert last_refuted(curves, lambda s: s >= noise) == at
    assert last_refuted(curves, lambda s: False) == 0


@pytest.mark.parametrize("exact", [0.02, 0.9, 1.3, 5.1, 31.9])
@pytest.mark.parametrize("shape", [math.atan, math.sinh, lambda x: math.copysign(1.0, x)])
def test_how_large_a_refutation_is_changes_only_how_soon_the_step_is_found(exact, shape):
    curves, asked = GaussianFamily(), []

    def shown(mu):
        asked.append(mu)
        return shape(exact - mu)

    step = last_refuted(curves, shown)
    assert curves.parameter(step) < exact <= curves.parameter(step + 1)
    straight = shape is math.atan
    assert len(asked) <= (22 if straight else 42)
