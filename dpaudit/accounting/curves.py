"""Families of trade-off curves with one unknown parameter, from no leak to any leak.

A curve f says how well two worlds can be told apart at best: at a false-positive rate of x no
attack has a false-negative rate below f(x) (Dong, Roth and Su 2022). Estimators refute the
members of a family one by one, from the least leaking on (see `search.py`). A family promises that
all members are ordered, and that sampling with the same random numbers keeps the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Protocol, Union, runtime_checkable

import numpy as np
from scipy.special import expit, ndtr, ndtri

from dpaudit import accounting, checks
from dpaudit.accounting import MOST_USES, privacy_loss
from dpaudit.accounting.privacy_loss import Side
from dpaudit.errors import BadInput
from dpaudit.results import Assumption
from dpaudit.types import Adjacency, Array, Curve, DPSGDCurve, GaussianCurve, StepsCurve

STATED = "gaussian, none or dpsgd:Q,T, such as dpsgd:0.01,1000"

LEAST_RATE, MOST_STEPS = 1e-4, 10**6
"""Beyond these the accountant's grid takes minutes and gigabytes."""

Numbers = Union[Array, float]


@runtime_checkable
class Family(Protocol):
    """Curves by step: 0 leaks nothing, `steps` the most that is looked at.

    `parameter` is what a step is called in the field (mu, a noise multiplier, epsilon). All
    others may err, numerically, only towards a smaller bound: a curve below the true one, an
    area above, an epsilon below.
    """

    @property
    def assumption(self) -> Assumption: ...

    @property
    def steps(self) -> int: ...

    def parameter(self, step: int) -> float: ...

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        """Return f(x), the least false-negative rate at a false-positive rate of x."""
        ...

    def inn(self, parameter: float, u: Numbers) -> Array:
        """Return in-trials of CDF 1 - f for uniform u, if out-trials are uniform: small is in."""
        ...

    def area(self, parameter: float) -> float:
        """Return the largest AUC of any attack, 1 - the integral of f."""
        ...

    def epsilon(self, parameter: float, delta: float) -> float:
        """Return the epsilon of this curve at `delta`; where trials are steps, of all steps."""
        ...

    def __hash__(self) -> int:
        """A family is a value: what takes long is found once for equal ones."""
        ...


@dataclass(frozen=True)
class PureFamily:
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
        corner, height = ((1 - self.delta) * float(expit(e)) for e in (-parameter, parameter))
        past = np.asarray(u, dtype=float) - self.delta
        steep = np.maximum(past, 0.0) * math.exp(-parameter)
        return np.where(past < height, steep, corner + (past - height) * math.exp(parameter))

    def area(self, parameter: float) -> float:
        return float(1 - (1 - self.delta) ** 2 * expit(-parameter))

    def epsilon(self, parameter: float, delta: float) -> float:
        if delta < self.delta:
            raise BadInput(
                f"curves for delta {self.delta:g} do not hold for delta {delta:g}",
                "out-of-range",
                option="delta",
                value=delta,
            )
        # d(e) = delta + (1-delta)(e^eps - e^e)/(1+e^eps), solved for e.
        spent = (delta - self.delta) / ((1 - self.delta) * expit(parameter))
        return max(0.0, parameter + math.log1p(-spent)) if spent < 1 else 0.0


@dataclass(frozen=True)
class GaussianFamily:
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
    """Reject delta 0, at which no curve with Gaussian noise has an epsilon."""
    if delta == 0:
        raise BadInput(
            "a curve with Gaussian noise has no finite epsilon at delta 0; give a delta",
            "needs-delta",
            option="delta",
            value=delta,
        )


@dataclass(frozen=True)
class DPSGDFamily:
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


def symmetric(curves: Family) -> Family:
    """Return the family that holds whichever of the worlds is called in."""
    # The others' curves are their own inverses.
    return replace(curves, symmetric=True) if isinstance(curves, DPSGDFamily) else curves


@lru_cache(maxsize=64)
def _inverses(curves: DPSGDFamily, parameter: float) -> tuple[Side, Side]:
    """Return the inverse of both sides: the least x at which they reach y."""
    steep, flat = curves._sides(parameter)
    return _inverse(*steep), _inverse(*flat)


def _inverse(x: Array, y: Array) -> Side:
    # What is flat at its end is reached at its beginning.
    rising = np.append(True, np.diff(y) > 0)
    return y[rising], x[rising]


def _integral(x: Array, y: Array, low: float, high: float) -> float:
    """Return the integral of a polyline over [low, high]."""
    inside = x[(x > low) & (x < high)]
    nodes = np.concatenate([[low], inside, [high]])
    heights = np.interp(nodes, x, y)
    return float(np.diff(nodes) @ (heights[1:] + heights[:-1]) / 2)


@dataclass(frozen=True)
class DPSGDStepsFamily:
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
    steps: ClassVar[int] = DPSGDFamily.steps

    def __post_init__(self) -> None:
        _ = self._training  # rejects impossible settings

    def parameter(self, step: int) -> float:
        return self._training.parameter(step)

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return GaussianFamily().trade_off(self._mu(parameter), x)

    def inn(self, parameter: float, u: Numbers) -> Array:
        return GaussianFamily().inn(self._mu(parameter), u)

    def area(self, parameter: float) -> float:
        return GaussianFamily().area(self._mu(parameter))

    def epsilon(self, parameter: float, delta: float) -> float:
        if self.sample_rate < 1:
            return self._training.epsilon(parameter, delta)
        return GaussianFamily().epsilon(self._mu(parameter) * math.sqrt(self.rounds), delta)

    @property
    def _training(self) -> DPSGDFamily:
        return DPSGDFamily(self.sample_rate, self.rounds, self.adjacency)

    def _mu(self, parameter: float) -> float:
        """Return mu of one step: how far the canary moves its sum, over the noise."""
        return (2 if self.adjacency == "replace" else 1) / parameter


def family(
    curve: str | Curve | Family, delta: float, adjacency: Adjacency = "add-remove"
) -> Family:
    """Return the family that a name (gaussian, pure) or a claim's curve belongs to."""
    if isinstance(curve, StepsCurve):
        return DPSGDStepsFamily(curve.sample_rate, curve.steps, adjacency)
    if isinstance(curve, DPSGDCurve) and curve.sample_rate < 1:
        return DPSGDFamily(curve.sample_rate, curve.steps, adjacency)
    if isinstance(curve, (GaussianCurve, DPSGDCurve)):
        return GaussianFamily()
    if isinstance(curve, Family):
        return curve
    checks.refuse([checks.one_of("curve", curve, ("gaussian", "pure"))])
    return GaussianFamily() if curve == "gaussian" else PureFamily(delta)


def parameter_of(curve: Curve, adjacency: Adjacency = "add-remove") -> float:
    """Return the parameter of a claim's curve within its family."""
    if isinstance(curve, GaussianCurve):
        return curve.mu
    if isinstance(curve, StepsCurve) or curve.sample_rate < 1:
        return curve.noise_multiplier
    # Steps that all see every record make one Gaussian mechanism; a record that is replaced
    # moves a sum by twice the clip.
    moved = 2 if adjacency == "replace" else 1
    return moved * math.sqrt(curve.steps) / curve.noise_multiplier


def within_reach(curve: Curve) -> bool:
    """Return whether a claim's curve can be computed within seconds."""
    if not isinstance(curve, (DPSGDCurve, StepsCurve)) or curve.sample_rate == 1:
        return True
    q, rounds = curve.sample_rate, curve.steps
    return q >= LEAST_RATE and rounds <= MOST_STEPS and q * rounds <= MOST_USES


def parse_family(curve: str) -> Family | None:
    """Return the family that a text names, Gaussian if it is empty; None for 'none'."""
    if curve in ("", "gaussian"):
        return GaussianFamily()
    if curve == "none":
        return None
    kind, _, numbers = curve.partition(":")
    try:
        rate, steps = numbers.split(",")
        q, rounds = float(rate), int(steps)
    except ValueError:
        kind = ""
    if kind != "dpsgd":
        raise BadInput(
            f"the curve must be {STATED}, not '{curve}'",
            "unknown-choice",
            option="curve",
            value=curve,
        )
    made = DPSGDFamily(q, rounds)
    if q == 1:
        return GaussianFamily()  # steps that all see every record make one Gaussian mechanism
    if not within_reach(DPSGDCurve(q, rounds, 1.0)):
        raise BadInput(
            f"the curve of DP-SGD is computed for a sample rate of at least {LEAST_RATE:g}, at "
            f"most {MOST_STEPS:,} steps and {MOST_USES:,} expected uses of a record, not "
            f"'{curve}'; without it, --curve none",
            "too-costly",
            option="curve",
            value=curve,
        )
    return made
