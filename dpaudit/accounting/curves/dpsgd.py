"""The curves of DP-SGD, by its accountant."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpaudit import accounting, checks
from dpaudit.accounting import privacy_loss
from dpaudit.accounting.curves.families import Family, Gaussian, Numbers, refuse_zero
from dpaudit.accounting.privacy_loss import Side
from dpaudit.results import Assumption
from dpaudit.types import Adjacency, Array


@dataclass(frozen=True)
class DPSGD:
    """DP-SGD of known sampling rate q and steps T; the parameter is its noise multiplier s.

    f_s(x) = max over e >= 0 of {1 - d_rem(e) - e^e x, e^-e (1 - d_add(e) - x)}, where d_rem
    and d_add are the hockey-stick divergences of in from out and of out from in, by the
    distributions of `privacy_loss.py`. Replacing a record moves a sum by twice the clip; that
    is in the accountant's `replace` relation, and s is not to be halved for it. One record more
    leaks otherwise than one fewer; `symmetric` curves are below f and below its inverse.
    """

    sample_rate: float
    rounds: int
    adjacency: Adjacency = "add-remove"
    symmetric: bool = False
    assumption: ClassVar[Assumption] = "accountant"
    steps: ClassVar[int] = 2**14

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.of(
                    "sample_rate", checks.in_range("sample rate", self.sample_rate, 0, 1, ends="(]")
                ),
                checks.whole("steps", self.rounds, 1, checks.MANY),
                checks.one_of("adjacency", self.adjacency, ("add-remove", "replace")),
            ]
        )

    def parameter(self, step: int) -> float:
        return accounting.LEAST_NOISE * self.steps / step if step else math.inf

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        x = np.asarray(x, dtype=float)
        steep, flat = self._sides(parameter)
        return np.maximum(1 - np.interp(x, *steep), 1 - np.interp(x, *flat))

    def inn(self, parameter: float, u: Numbers) -> Array:
        # The inverse of a maximum of falling curves is the maximum of their inverses.
        steep, flat = _inverses(self, parameter)
        return np.maximum(np.interp(u, *steep, left=0.0), np.interp(u, *flat, left=0.0))

    def area(self, parameter: float) -> float:
        steep, flat = self._sides(parameter)
        # Either side alone is below f, so that any place to change sides is allowed; they meet
        # where the slope becomes 1.
        gap = steep[1] - steep[0]
        corner = float(steep[0][np.argmax(gap >= gap.max() - privacy_loss.FOURIER)])
        return _integral(*steep, 0.0, corner) + _integral(*flat, corner, 1.0)

    def epsilon(self, parameter: float, delta: float) -> float:
        refuse_zero(delta)
        if math.isinf(parameter):
            return 0.0
        return privacy_loss.epsilon(self.sample_rate, self.rounds, parameter, self.adjacency, delta)

    def _sides(self, parameter: float) -> tuple[Side, Side]:
        if math.isinf(parameter):
            nothing = np.array([0.0, 0.0, 1.0])
            return (nothing, nothing), (nothing, nothing)
        made = privacy_loss.symmetric if self.symmetric else privacy_loss.sides
        return made(self.sample_rate, self.rounds, parameter, self.adjacency)


def symmetrised(curves: Family) -> Family:
    """The family as it holds whichever of the worlds is called in."""
    # The others' curves are their own inverses.
    return replace(curves, symmetric=True) if isinstance(curves, DPSGD) else curves


@lru_cache(maxsize=64)
def _inverses(curves: DPSGD, parameter: float) -> tuple[Side, Side]:
    """Of both sides, the least x at which they reach y."""
    steep, flat = curves._sides(parameter)
    return _inverse(*steep), _inverse(*flat)


def _inverse(x: Array, y: Array) -> Side:
    # What is flat at its end is reached at its beginning.
    rising = np.append(True, np.diff(y) > 0)
    return y[rising], x[rising]


def _integral(x: Array, y: Array, low: float, high: float) -> float:
    """The integral of a polyline over [low, high]."""
    inside = x[(x > low) & (x < high)]
    nodes = np.concatenate([[low], inside, [high]])
    heights = np.interp(nodes, x, y)
    return float(np.diff(nodes) @ (heights[1:] + heights[:-1]) / 2)


# ----------------------------------------------------------------
# The curves of single steps of DP-SGD, with the epsilon of the training that they make up.


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
