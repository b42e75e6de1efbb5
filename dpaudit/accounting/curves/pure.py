"""The curves of (epsilon, delta) itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from dpaudit.accounting.curves.protocol import Numbers
from dpaudit.errors import BadInput
from dpaudit.types import Array, Assumption


@dataclass(frozen=True)
class Pure:
    """All that is (epsilon, delta)-DP, for one delta; the parameter is epsilon.

    f(x) = max{0, 1-d-e^eps x, e^-eps (1-d-x)}, with its corner at x* = (1-d)/(1+e^eps); the
    largest AUC is 1 - (1-d)^2/(1+e^eps). Kairouz, Oh and Viswanath 2015.
    """

    delta: float
    assumption: ClassVar[Assumption] = "none"
    steps: ClassVar[int] = 2**30
    largest: ClassVar[float] = 32.0

    def parameter(self, step: int) -> float:
        return self.largest * step / self.steps

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        x = np.asarray(x, dtype=float)
        steep = 1 - self.delta - math.exp(parameter) * x
        flat = math.exp(-parameter) * (1 - self.delta - x)
        return np.maximum(0.0, np.maximum(steep, flat))

    def inn(self, parameter: float, u: Numbers) -> Array:
        # Three pieces: a point mass at 0, then e^eps as dense as out-trials, then e^-eps.
        corner, height = self._corner(parameter)
        past = np.asarray(u, dtype=float) - self.delta
        steep = np.maximum(past, 0.0) * math.exp(-parameter)
        return np.where(past < height, steep, corner + (past - height) * math.exp(parameter))

    def area(self, parameter: float) -> float:
        return float(1 - (1 - self.delta) ** 2 * expit(-parameter))

    def epsilon(self, parameter: float, delta: float) -> float:
        if delta < self.delta:
            raise BadInput(
                f"curves for delta {self.delta:g} say nothing of delta {delta:g}",
                "out-of-range",
                option="delta",
                value=delta,
            )
        # d(e) = delta + (1-delta)(e^eps - e^e)/(1+e^eps), solved for e.
        spent = (delta - self.delta) / ((1 - self.delta) * expit(parameter))
        return max(0.0, parameter + math.log1p(-spent)) if spent < 1 else 0.0

    def _corner(self, parameter: float) -> tuple[float, float]:
        return float((1 - self.delta) * expit(-parameter)), float(
            (1 - self.delta) * expit(parameter)
        )
