"""The curves of Gaussian mechanisms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from dpaudit import accounting
from dpaudit.accounting.curves.protocol import Numbers
from dpaudit.errors import BadInput
from dpaudit.types import Array, Assumption


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian mechanism; the parameter is mu, its sensitivity over its deviation.

    f(x) = Phi(Phi^-1(1-x) - mu), the largest AUC is Phi(mu/sqrt 2).
    """

    assumption: ClassVar[Assumption] = "gaussian"
    steps: ClassVar[int] = 2**30
    largest: ClassVar[float] = 32.0

    def parameter(self, step: int) -> float:
        return self.largest * step / self.steps

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return np.asarray(ndtr(-ndtri(x) - parameter))

    def inn(self, parameter: float, u: Numbers) -> Array:
        return np.asarray(ndtr(ndtri(u) - parameter))

    def area(self, parameter: float) -> float:
        return float(ndtr(parameter / math.sqrt(2)))

    def epsilon(self, parameter: float, delta: float) -> float:
        refuse_zero(delta)
        return accounting.gaussian_epsilon(parameter, delta) if parameter > 0 else 0.0


def refuse_zero(delta: float) -> None:
    """Refuse what every curve with Gaussian noise lacks."""
    if delta == 0:
        raise BadInput(
            "a curve with Gaussian noise has no finite epsilon at delta 0; give a delta",
            "needs-delta",
            option="delta",
            value=delta,
        )
