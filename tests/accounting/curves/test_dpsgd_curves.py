import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from refusals import refuses

from dpaudit.accounting.curves import DPSGDFamily, symmetric


def test_area_of_dpsgd_is_that_of_its_loss_distribution():
    """0.7941 by another formula, on a grid of 1e-3."""
    assert DPSGDFamily(0.1, 100).area(1.0) == pytest.approx(0.794091, abs=1e-5)


def test_only_as_much_is_given_away_as_symmetry_takes():
    """By its definition: the largest of both directions' divergences, on a grid of e."""
    s = 1.0
    made = from_gaussian_mechanism(
        s, value_discretization_interval=1e-3, sampling_prob=0.3
    ).self_compose(5)
    e = np.linspace(0, 6, 601)
    d = np.maximum(*(p.get_delta_for_epsilon(e) for p in (made._pmf_remove, made._pmf_add)))
    curves = symmetric(DPSGDFamily(0.3, 5))
    for x in (0.0, 1e-3, 0.05, 0.3, 0.7, 0.99):
        naive = max(np.max(1 - d - np.exp(e) * x), np.max(np.exp(-e) * (1 - d - x)), 0)
        assert curves.trade_off(s, x) == pytest.approx(naive, abs=1e-4)
    assert DPSGDFamily(0.3, 5).trade_off(s, 0.7) > curves.trade_off(s, 0.7) + 0.01


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ((0.0, 10), ("out-of-range", None, 0.0)),
        ((1.5, 10), ("out-of-range", None, 1.5)),
        ((0.1, 0), ("too-small", None, 0)),
        ((0.1, 10, "both"), ("unknown-choice", None, "both")),
    ],
)
def test_impossible_dpsgd_is_refused(settings, refusal):
    with refuses(*refusal):
        DPSGDFamily(*settings)


@pytest.mark.parametrize("delta", [1e-300, 1e-13, 0.999999, 1 - 2**-53])
@pytest.mark.parametrize("s", [0.1, 1.0, 1638.4])
def test_no_delta_gives_a_negative_or_an_infinite_epsilon(s, delta):
    assert 0 <= DPSGDFamily(0.9, 10, "replace").epsilon(s, delta) < math.inf
