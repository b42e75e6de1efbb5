"""The curves of single steps of DP-SGD, with the epsilon of the training that they make up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpaudit.accounting.curves.dpsgd import DPSGD
from dpaudit.accounting.curves.gaussian import Gaussian
from dpaudit.accounting.curves.protocol import Numbers
from dpaudit.types import Adjacency, Array, Assumption


@dataclass(frozen=True)
class DPSGDSteps:
    """DP-SGD whose steps are scored one by one; the parameter is its noise multiplier s.

    An auditor watches two trainings: a canary's gradient is in at every step of one, and at none
    of the other. A step that is sure to see it is a Gaussian mechanism of mu = 1/s, or 2/s where
    it replaces its opposite: `trade_off`, `inn` and `area` are of that one step. `epsilon` is of
    all T steps, each of which samples a record at a rate of q: by the accountant and, where all
    see every record, that of mu sqrt(T). So what refutes the noise of a step bounds the leak of
    the training; composition, q and T are taken as claimed. Nasr et al. 2023, "Tight auditing of
    differentially private machine learning".

    A score must be of its step's noise and canary alone. The rest of a step's sum is to be taken
    off: two trainings drift apart, and that tells them apart as well.
    """

    sample_rate: float
    rounds: int
    adjacency: Adjacency = "add-remove"
    assumption: ClassVar[Assumption] = "accountant"
    steps: ClassVar[int] = DPSGD.steps

    def __post_init__(self) -> None:
        _ = self._training  # refused here, if at all

    def parameter(self, step: int) -> float:
        return self._training.parameter(step)

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return Gaussian().trade_off(self._mu(parameter), x)

    def inn(self, parameter: float, u: Numbers) -> Array:
        return Gaussian().inn(self._mu(parameter), u)

    def area(self, parameter: float) -> float:
        return Gaussian().area(self._mu(parameter))

    def epsilon(self, parameter: float, delta: float) -> float:
        if self.sample_rate < 1:
            return self._training.epsilon(parameter, delta)
        return Gaussian().epsilon(self._mu(parameter) * math.sqrt(self.rounds), delta)

    @property
    def _training(self) -> DPSGD:
        return DPSGD(self.sample_rate, self.rounds, self.adjacency)

    def _mu(self, parameter: float) -> float:
        """Of one step: how far the canary moves its sum, over the noise."""
        return (2 if self.adjacency == "replace" else 1) / parameter
