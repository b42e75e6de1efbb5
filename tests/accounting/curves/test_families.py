"""What every family promises."""

import numpy as np
import pytest
from refusals import refuses
from scipy.integrate import trapezoid

from dpaudit.accounting.curves import (
    DPSGDFamily,
    DPSGDStepsFamily,
    GaussianFamily,
    PureFamily,
    symmetric,
)

DELTA = 1e-5

FAMILIES = [
    GaussianFamily(),
    PureFamily(0.0),
    PureFamily(DELTA),
    PureFamily(0.3),
    DPSGDFamily(0.1, 20),
    DPSGDFamily(0.3, 5, "replace"),
    symmetric(DPSGDFamily(0.1, 20)),
    DPSGDStepsFamily(0.1, 20),
    DPSGDStepsFamily(1.0, 20, "replace"),
]
"""DP-SGD with few steps, because its curves take a while."""


def parameters(curves):
    """From no leak to much."""
    least = curves.steps // 64
    return [curves.parameter(k * least) for k in (0, 1, 3, 8)]


@pytest.mark.parametrize("curves", FAMILIES, ids=repr)
def test_draws_have_the_distribution_that_the_curve_says(curves):
    """1 - f(draw of u) = u, but for the point mass at 0 of those that give themselves away."""
    u = np.linspace(0, 1, 2001)[1:-1]
    for parameter in parameters(curves):
        x = curves.inn(parameter, u)
        assert ((x >= 0) & (x <= 1)).all()
        assert (np.diff(x) >= 0).all()
        below = 1 - curves.trade_off(parameter, x)
        np.testing.assert_allclose(below[x > 0], u[x > 0], atol=1e-9)
        assert (below[x == 0] >= u[x == 0] - 1e-12).all()


@pytest.mark.parametrize("curves", FAMILIES, ids=repr)
def test_area_is_the_integral(curves):
    x = np.linspace(0, 1, 100_001) ** 2  # finer where curves are steep
    for parameter in parameters(curves):
        f = curves.trade_off(parameter, x)
        assert curves.area(parameter) == pytest.approx(1 - trapezoid(f, x), abs=2e-6)


@pytest.mark.parametrize("curves", FAMILIES, ids=repr)
def test_a_larger_leak_moves_everything_one_way(curves):
    u = np.linspace(0, 1, 501)[1:-1]
    for less, more in zip(parameters(curves), parameters(curves)[1:], strict=False):
        assert (curves.inn(more, u) <= curves.inn(less, u) + 1e-9).all()
        assert (curves.trade_off(more, u) <= curves.trade_off(less, u) + 1e-9).all()
        assert curves.area(more) > curves.area(less)
        assert curves.epsilon(more, 0.3) >= curves.epsilon(less, 0.3)


@pytest.mark.parametrize("curves", FAMILIES, ids=repr)
def test_the_first_step_leaks_nothing(curves):
    none = curves.parameter(0)
    lost = getattr(curves, "delta", 0.0)
    assert curves.epsilon(none, 0.3) == 0
    assert curves.area(none) == pytest.approx(0.5 + lost - lost**2 / 2)
    assert curves.trade_off(none, 0.25) == pytest.approx(0.75 - lost)


@pytest.mark.parametrize("curves", FAMILIES, ids=repr)
def test_a_symmetrised_curve_is_its_own_inverse_below_the_one_that_it_is_of(curves):
    x = np.linspace(0, 1, 401)
    for parameter in parameters(curves):
        f, both = (one.trade_off(parameter, x) for one in (curves, symmetric(curves)))
        assert (both <= f + 1e-12).all()
        back = symmetric(curves).trade_off(parameter, both)
        # Where it is 0, every rate beyond is mapped back to the first.
        np.testing.assert_allclose(back[both > 0], x[both > 0], atol=1e-9)
        assert (np.diff(both, 2) >= -1e-12).all()


@pytest.mark.parametrize("curves", [GaussianFamily(), DPSGDFamily(0.1, 20)])
def test_gaussian_noise_at_delta_zero_is_refused(curves):
    with refuses("needs-delta", "delta", 0.0):
        curves.epsilon(1.0, 0.0)
