"""The privacy that P3GM's three phases spend together, as published and as it holds.

The paper composes by Renyi differential privacy: epsilon(delta) is the least over alpha of
r_p + r_e + r_s + ln(1/delta)/(alpha - 1) (its Theorem 3), for DP-PCA, DP-EM and DP-SGD.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpaudit import accounting
from dpaudit.errors import BadInput
from dpaudit.types import Array

ORDERS: Array = np.concatenate(
    [np.arange(1.5, 11, 0.5), np.arange(11, 64), np.geomspace(64, 512, 13).round()]
)
"""The orders alpha; more of them change the fourth digit of an epsilon."""

COARSE = 1e-3
"""Grid of the privacy loss; a coarser one only raises epsilon."""

MOST_NOISE = 4096.0
"""Largest noise multiplier of DP-SGD: beyond it the grid of the privacy loss takes minutes."""

MOST_MU = 10.0
"""Largest mu of the phases before DP-SGD: more takes gigabytes, and is an epsilon near 100."""


def of_pure(epsilon: float) -> Array:
    """r_p = 2 alpha epsilon^2 of an epsilon-DP release: valid, and four times too much."""
    return np.asarray(2 * ORDERS * epsilon**2)


def epsilon(spent: Array, delta: float) -> float:
    """epsilon(delta) of the Renyi divergence spent at each order."""
    return max(0.0, float(np.min(spent + math.log(1 / delta) / (ORDERS - 1))))


@dataclass(frozen=True)
class Phases:
    """The settings of the published composition, in the paper's letters."""

    epsilon_p: float
    components: int
    iterations: int
    s_e: float
    sample_rate: float
    steps: int
    s_s: float

    def composed_epsilon(self, delta: float) -> float:
        """epsilon by Theorem 3, with DP-SGD's part from an accountant."""
        return epsilon(of_pure(self.epsilon_p) + (self.em + self.sgd), delta)

    def with_least_noise(self, target: float, delta: float) -> Phases:
        """Return the same phases with the least noise of DP-SGD for `target` by Theorem 3."""
        _refuse_spent(epsilon(of_pure(self.epsilon_p) + self.em, delta), target)
        least = accounting.least_noise(
            target, lambda s: replace(self, s_s=s).composed_epsilon(delta), MOST_NOISE
        )
        return replace(self, s_s=least)

    @property
    def em(self) -> Array:
        """r_e = j (2K + 1) alpha/(2 s^2) of DP-EM, as j (2K + 1) Gaussian mechanisms."""
        return self.iterations * (2 * self.components + 1) * ORDERS / (2 * self.s_e**2)

    @property
    def sgd(self) -> Array:
        """r_s of T steps of the sampled Gaussian mechanism, by an accountant."""
        from opacus.accountants.analysis.rdp import compute_rdp

        orders, rate = ORDERS.tolist(), self.sample_rate
        spent = compute_rdp(q=rate, noise_multiplier=self.s_s, steps=self.steps, orders=orders)
        return np.asarray(spent)


def replacing(mu: float, sample_rate: float, steps: int, s_s: float, delta: float) -> float:
    """epsilon of a mu-GDP release and DP-SGD together, if one record is replaced.

    A replaced record moves the sum of clipped gradients by up to twice the clip norm, which
    accountants for adding and removing do not count. Full batches are exact.
    """
    if sample_rate == 1:
        return accounting.gaussian_epsilon(math.hypot(mu, 2 * math.sqrt(steps) / s_s), delta)
    accounting.refuse_silence(s_s)
    _refuse_bare(mu)
    from dp_accounting.pld import privacy_loss_distribution as pld

    replaced = pld.NeighborRel.REPLACE_ONE
    interval = min(COARSE, 0.1 * sample_rate / s_s)
    spent = pld.from_gaussian_mechanism(
        s_s,
        sampling_prob=sample_rate,
        value_discretization_interval=interval,
        neighboring_relation=replaced,
    ).self_compose(steps)
    if mu > 0:
        # Half of the distance, which REPLACE_ONE doubles.
        once = pld.from_gaussian_mechanism(
            1 / mu,
            sensitivity=0.5,
            value_discretization_interval=interval,
            neighboring_relation=replaced,
        )
        spent = spent.compose(once)
    return float(spent.get_epsilon_for_delta(delta))


def noise_multiplier(
    target: float, mu: float, sample_rate: float, steps: int, delta: float
) -> float:
    """The least noise multiplier of DP-SGD by which it and a mu-GDP release spend `target`."""
    _refuse_bare(mu)
    _refuse_spent(accounting.gaussian_epsilon(mu, delta) if mu > 0 else 0.0, target)
    return accounting.least_noise(
        target, lambda s: replacing(mu, sample_rate, steps, s, delta), MOST_NOISE
    )


def _refuse_bare(mu: float) -> None:
    """Refuse phases with next to no noise, whose privacy loss takes gigabytes."""
    if not mu <= MOST_MU:
        raise BadInput(
            f"what comes before DP-SGD has next to no noise: as a Gaussian mechanism its mu is "
            f"{mu:.3g}, and {MOST_MU:g} is the most that is accounted for; give it more noise",
            "too-little-noise",
            value=mu,
        )


def _refuse_spent(before: float, target: float) -> None:
    if before >= target:
        problem = (
            f"what comes before DP-SGD spends epsilon {before:.3g} of {target:g}; give it more "
            "noise, or allow a larger epsilon"
        )
        raise BadInput(problem, "budget-spent", option="epsilon", value=target)
