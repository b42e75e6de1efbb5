import math
from configparser import ConfigParser
from pathlib import Path

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from scipy.integrate import trapezoid

from dpaudit.accounting import gaussian_epsilon
from dpaudit.curves import DPSGD, Gaussian, Pure, family, last_refuted, margin, symmetrised
from dpaudit.errors import BadInput
from dpaudit.estimators import PLD, PairedAUC, RankTest
from dpaudit.types import DPSGDCurve, GaussianCurve

DELTA = 1e-5
ROOT = Path(__file__).parent.parent

FAMILIES = [
    Gaussian(),
    Pure(0.0),
    Pure(DELTA),
    Pure(0.3),
    DPSGD(0.1, 20),
    DPSGD(0.3, 5, "replace"),
    symmetrised(DPSGD(0.1, 20)),
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


def test_area_of_dpsgd_is_that_of_its_loss_distribution():
    """0.7941 by another formula, on a grid of 1e-3."""
    assert DPSGD(0.1, 100).area(1.0) == pytest.approx(0.794091, abs=1e-5)


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
        f, both = (one.trade_off(parameter, x) for one in (curves, symmetrised(curves)))
        assert (both <= f + 1e-12).all()
        back = symmetrised(curves).trade_off(parameter, both)
        # Where it is 0, every rate beyond is mapped back to the first.
        np.testing.assert_allclose(back[both > 0], x[both > 0], atol=1e-9)
        assert (np.diff(both, 2) >= -1e-12).all()


def test_only_as_much_is_given_away_as_symmetry_takes():
    """By its definition: the largest of both directions' divergences, on a grid of e."""
    s = 1.0
    made = from_gaussian_mechanism(
        s, value_discretization_interval=1e-3, sampling_prob=0.3
    ).self_compose(5)
    e = np.linspace(0, 6, 601)
    d = np.maximum(*(p.get_delta_for_epsilon(e) for p in (made._pmf_remove, made._pmf_add)))
    curves = symmetrised(DPSGD(0.3, 5))
    for x in (0.0, 1e-3, 0.05, 0.3, 0.7, 0.99):
        naive = max(np.max(1 - d - np.exp(e) * x), np.max(np.exp(-e) * (1 - d - x)), 0)
        assert curves.trade_off(s, x) == pytest.approx(naive, abs=1e-4)
    assert DPSGD(0.3, 5).trade_off(s, 0.7) > curves.trade_off(s, 0.7) + 0.01


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.021022])
def test_gaussian_epsilon_is_the_accountants(mu):
    assert Gaussian().epsilon(mu, DELTA) == gaussian_epsilon(mu, DELTA)


def test_pure_epsilon_is_its_parameter_and_less_at_a_larger_delta():
    curves = Pure(0.01)
    assert curves.epsilon(2.0, 0.01) == 2.0
    e = curves.epsilon(2.0, 0.1)
    # The (e, 0.1) line touches the curve at its corner.
    corner = 0.99 / (1 + math.exp(2))
    assert math.exp(e) * corner + corner == pytest.approx(0.9)
    assert curves.epsilon(2.0, 0.9) == 0
    with pytest.raises(BadInput, match=r"curves for delta 0\.01 say nothing of delta 0\.001"):
        curves.epsilon(2.0, 0.001)


def test_rates_below_the_curve_refute_it():
    corner = 1 / (1 + math.exp(1.0))
    assert margin(Pure(0.0), 1.0, corner - 1e-6, corner - 1e-6) > 0
    assert margin(Pure(0.0), 1.0, corner + 1e-6, corner + 1e-6) < 0


@pytest.mark.parametrize("at", [0, 1, 5000, 2**14])
def test_bisection_finds_the_last_step_that_is_refuted(at):
    curves = DPSGD(0.1, 20)
    noise = curves.parameter(at)
    assert last_refuted(curves, lambda s: s >= noise) == at
    assert last_refuted(curves, lambda s: False) == 0


@pytest.mark.parametrize("exact", [0.02, 0.9, 1.3, 5.1, 31.9])
@pytest.mark.parametrize("shape", [math.atan, math.sinh, lambda x: math.copysign(1.0, x)])
def test_how_large_a_refutation_is_changes_only_how_soon_the_step_is_found(exact, shape):
    curves, asked = Gaussian(), []

    def shown(mu):
        asked.append(mu)
        return shape(exact - mu)

    step = last_refuted(curves, shown)
    assert curves.parameter(step) < exact <= curves.parameter(step + 1)
    straight = shape is math.atan
    assert len(asked) <= (22 if straight else 42)


def test_families_by_name_and_by_curve():
    assert family("gaussian", DELTA) == family(GaussianCurve(1.0), DELTA) == Gaussian()
    assert family("pure", DELTA) == Pure(DELTA)
    assert family(DPSGDCurve(0.1, 20, 1.0), DELTA, "replace") == DPSGD(0.1, 20, "replace")
    assert family(DPSGDCurve(1.0, 20, 1.0), DELTA) == Gaussian()
    assert family(Pure(0.1), DELTA) == Pure(0.1)
    assert [c.assumption for c in (Gaussian(), Pure(0), DPSGD(0.1, 20))] == [
        "gaussian",
        "none",
        "accountant",
    ]


@pytest.mark.parametrize(("curve", "shown"), [("gausian", "'gausian'"), (None, "None"), (8, "8")])
@pytest.mark.parametrize("make", [RankTest, PairedAUC, PLD, lambda curve: family(curve, DELTA)])
def test_an_unknown_curve_is_refused_at_once(make, curve, shown):
    with pytest.raises(BadInput, match=f"curve must be one of gaussian, pure, not {shown}"):
        make(curve)


@pytest.mark.parametrize("settings", [(0.0, 10), (1.5, 10), (0.1, 0), (0.1, 10, "both")])
def test_impossible_dpsgd_is_refused(settings):
    with pytest.raises(BadInput, match="must be"):
        DPSGD(*settings)


@pytest.mark.parametrize("curves", [Gaussian(), DPSGD(0.1, 20)])
def test_gaussian_noise_at_delta_zero_is_refused(curves):
    with pytest.raises(BadInput, match="no finite epsilon at delta 0"):
        curves.epsilon(1.0, 0.0)


@pytest.mark.parametrize("delta", [1e-300, 1e-13, 0.999999, 1 - 2**-53])
@pytest.mark.parametrize("s", [0.1, 1.0, 1638.4])
def test_no_delta_gives_a_negative_or_an_infinite_epsilon(s, delta):
    assert 0 <= DPSGD(0.9, 10, "replace").epsilon(s, delta) < math.inf


def test_every_estimator_is_registered_and_exported():
    """By the file itself: entry points that are installed may be those of another checkout."""
    from dpaudit import estimators

    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = setup["options.entry_points"]["dpaudit.estimators"].strip().split("\n")
    classes = {line.split(":")[1] for line in lines}
    assert {"RankTest", "ExactScan", "PairedAUC", "PLD"} <= classes
    assert classes <= set(estimators.__all__)
