"""The paper's total as it is printed, which leaves out all steps of DP-SGD but one."""

from __future__ import annotations

import numpy as np

from dpaudit.papers.p3gm import Phases
from dpaudit.papers.p3gm.accounting import ORDERS, epsilon, of_em, of_pure
from dpaudit.types import Array


def of_one_step(sample_rate: float, noise_multiplier: float) -> Array:
    """r_s as the paper prints it: of one step, with another moment, and without its O() term."""
    q, s, a = sample_rate, noise_multiplier, ORDERS
    return np.asarray(q**2 * a * (a + 1) / ((a - 1) * (1 - q) * s**2))


def composed(phases: Phases, delta: float) -> float:
    """epsilon by Theorem 3 to the letter."""
    em = of_em(phases.components, phases.iterations, phases.s_e)
    sgd = of_one_step(phases.sample_rate, phases.s_s)
    return epsilon(of_pure(phases.epsilon_p, "printed") + em + sgd, delta)
