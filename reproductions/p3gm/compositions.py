"""Other ways to compose P3GM's phases than its Theorem 3: tighter, older, or as it is printed."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpaudit.papers.p3gm.accounting import ORDERS, Phases, epsilon, of_pure
from dpaudit.types import Array


def capped(epsilon: float) -> Array:
    """r_p of an epsilon-DP release: the least of epsilon and alpha epsilon^2/2."""
    return np.minimum(epsilon, ORDERS * epsilon**2 / 2)


def exact(epsilon: float) -> Array:
    """r_p of randomized response, which leaks most of all epsilon-DP releases."""
    a = ORDERS
    # ln (sinh(a e) - sinh((a-1) e)) - ln sinh(e), without what overflows.
    top = a * epsilon + np.log1p(
        -np.exp(-2 * a * epsilon) - np.exp(-epsilon) + np.exp(-(2 * a - 1) * epsilon)
    )
    bottom = epsilon + np.log1p(-np.exp(-2 * epsilon))
    return np.asarray((top - bottom) / (a - 1))


PURE = {"printed": of_pure, "capped": capped, "exact": exact}
"""r_p of DP-PCA, by name."""


def tight_epsilon(spent: Array, delta: float) -> float:
    """epsilon(delta) by Balle, Barthe, Gaboardi, Hsu and Sato (2020), Hypothesis Testing ..."""
    added = np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
    return max(0.0, float(np.min(spent + added)))


def composed(
    phases: Phases,
    delta: float,
    pure: Literal["printed", "capped", "exact"] = "printed",
    tight: bool = False,
) -> float:
    """epsilon by Theorem 3, with another r_p, or a tight conversion."""
    spent = PURE[pure](phases.epsilon_p) + (phases.em + phases.sgd)
    return (tight_epsilon if tight else epsilon)(spent, delta)


def baseline(phases: Phases, delta: float) -> float:
    """The paper's baseline: the sum of epsilon_p, zCDP of DP-EM and moments of DP-SGD."""
    rho = phases.iterations * (2 * phases.components + 1) / (2 * phases.s_e**2)
    em = rho + 2 * math.sqrt(rho * math.log(2 / delta))
    return phases.epsilon_p + em + epsilon(phases.sgd, delta / 2)


def as_printed(phases: Phases, delta: float) -> float:
    """epsilon by Theorem 3 to the letter, which leaves out all steps of DP-SGD but one."""
    q, s, a = phases.sample_rate, phases.s_s, ORDERS
    one_step = q**2 * a * (a + 1) / ((a - 1) * (1 - q) * s**2)
    return epsilon(of_pure(phases.epsilon_p) + phases.em + one_step, delta)
