"""Curves between a few of a family are close to the family's own."""

import numpy as np
import pytest

from dpaudit.accounting.curves import DPSGDFamily, GaussianFamily
from dpaudit.accounting.sampled import Sampled, planning_family

D = 1e-5


@pytest.mark.parametrize(("rate", "steps"), [(0.256, 234), (0.01, 1000)])
@pytest.mark.parametrize("noise", [0.63, 1.37, 5.0])
def test_what_lies_between_is_close(rate, steps, noise):
    exact = DPSGDFamily(rate, steps)
    close = Sampled(exact)
    assert close.epsilon(noise, D) == pytest.approx(exact.epsilon(noise, D), rel=0.025)
    assert close.area(noise) == pytest.approx(exact.area(noise), abs=0.004)
    x = np.array([0.01, 0.1, 0.5])
    assert close.trade_off(noise, x) == pytest.approx(exact.trade_off(noise, x), abs=0.01)
    assert close.inn(noise, x) == pytest.approx(exact.inn(noise, x), abs=0.01)


def test_no_leak_is_no_leak():
    none = Sampled(DPSGDFamily(0.1, 100)).parameter(0)
    close = Sampled(DPSGDFamily(0.1, 100))
    assert close.epsilon(none, D) == 0
    assert close.area(none) == 0.5
    assert close.trade_off(none, 0.3) == pytest.approx(0.7)


def test_what_costs_nothing_stays_exact():
    assert planning_family(GaussianFamily()) == GaussianFamily()
