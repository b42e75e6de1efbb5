"""The request of a plan: a claim, an amount of training, a supposed leak and a goal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpaudit import checks
from dpaudit.accounting.curves import Family, PureFamily, parse_family, symmetric, within_reach
from dpaudit.accounting.sampled import planning_family
from dpaudit.config.adversaries import OBSERVER
from dpaudit.config.settings import Attacker, Volume
from dpaudit.errors import BadInput
from dpaudit.estimators.power.prospect import Truth
from dpaudit.registry import arguments
from dpaudit.registry import parameters as parameters
from dpaudit.types import Claim, GaussianCurve

MOST_MODELS, MOST_CANARIES = 10**6, 20_000
"""The ends of a search for a chance; that for a ceiling, which costs nothing, goes further."""


@dataclass(frozen=True)
class Size:
    """The models to train, or the canaries of one training."""

    models: int = Volume.models
    canaries: int | None = None
    guesses: int | None = None

    def __post_init__(self) -> None:
        one_run = self.canaries is not None
        checks.refuse(
            [
                checks.whole("models", self.models, 4, MOST_MODELS),
                checks.whole("canaries", self.canaries, 2, MOST_CANARIES) if one_run else None,
            ]
        )
        if self.guesses is not None:
            Attacker(canaries=self.canaries or 1, guesses=self.guesses)


@dataclass(frozen=True)
class Leak:
    """The supposed true epsilon, twice the claim if left out, and its curve.

    The curve is 'gaussian', 'dpsgd:Q,T' or 'pure': that of randomized response, which shows most.
    """

    true: float | None = None
    true_curve: str | None = None

    def __post_init__(self) -> None:
        true = 1.0 if self.true is None else self.true
        kind = (self.true_curve or "pure").partition(":")[0]
        checks.refuse(
            [
                checks.of("true", checks.positive("the true epsilon", true)),
                checks.one_of("true_curve", kind, ("pure", "gaussian", "dpsgd")),
            ]
        )


@dataclass(frozen=True)
class Goal:
    """The confidence of a refutation, its chance, and a bound to reach beside it."""

    confidence: float = 0.95
    power: float = 0.8
    reach: float | None = None

    def __post_init__(self) -> None:
        reach = 1.0 if self.reach is None else self.reach
        checks.refuse(
            [
                checks.in_range("confidence", self.confidence, 0.5, 1 - 1e-5, ends="(]"),
                checks.in_range("power", self.power, 0, 1, ends="()"),
                checks.of("reach", checks.positive("the bound to reach", reach)),
            ]
        )


@dataclass(frozen=True)
class PlanRequest:
    """A claim, the size of the audit, the supposed leak, and the goal.

    `curve` is the claimed one: 'gaussian', 'dpsgd:Q,T' or 'none'. Half of the models choose the
    rule, unless the score is fixed beforehand.
    """

    claim: float
    delta: float = 1e-5
    curve: str = "none"
    size: Size = Size()
    leak: Leak = Leak()
    goal: Goal = Goal()
    fixed_score: bool = False
    adversary: str = OBSERVER.name
    """The adversary's name: any but an observer has an attack whose score is fixed."""

    def __post_init__(self) -> None:
        curved = self.curve != "none" or self.leaking != "pure"
        checks.refuse(
            [
                checks.of("claim", checks.positive("the claimed epsilon", self.claim)),
                checks.in_range("delta", self.delta, 0, 1, ends="()" if curved else "[)"),
            ]
        )
        true, reach = self.leak.true, self.goal.reach
        if true is not None and true <= self.claim:
            text = (
                f"a true epsilon of {true:g} does not violate the claim of {self.claim:g}; give a "
                "larger one"
            )
            raise BadInput(text, "too-small", option="true", value=true)
        if reach is not None and reach >= self.truth.true:
            text = (
                f"no bound reaches {reach:g} where {self.truth.true:g} leaks; give a larger "
                "true epsilon"
            )
            raise BadInput(text, "too-large", option="reach", value=reach)
        _ = self.truth.parameter

    @property
    def leaking(self) -> str:
        """The true curve: the given one, or that of the claimed kind, or a Gaussian one.

        Mechanisms that add noise to a sum of many records leak nearly as the Gaussian mechanism,
        whatever they claim. Randomized response of the same epsilon is refuted with a hundredth
        of the models, which would show nothing of a mechanism that is in use. It is supposed only
        at delta 0, where Gaussian noise has no epsilon.
        """
        if self.leak.true_curve is not None:
            return self.leak.true_curve
        if self.curve != "none":
            return self.curve
        return "gaussian" if self.delta > 0 else "pure"

    @classmethod
    def of(cls, claim: Claim, **settings: Any) -> PlanRequest:
        """Return the request of these settings about a claim, with its curve if that is fast."""
        made_by: Any = cls
        if unknown := settings.keys() - parameters(made_by).keys():
            raise TypeError(f"a plan has no settings {', '.join(sorted(unknown))}")
        stated = {"claim": claim.epsilon, "delta": claim.delta, "curve": _curve_name(claim)}
        return cls(**arguments(cls, {**stated, **settings}))

    @property
    def unit(self) -> str:
        """The word for what `number` counts."""
        return "models" if self.size.canaries is None else "canaries"

    @property
    def number(self) -> int:
        """Number of models, in fours, or of canaries."""
        size = self.size
        return -(-size.models // 4) * 4 if size.canaries is None else size.canaries

    @cached_property
    def claimed(self) -> Family:
        """The curves that estimators may assume."""
        return self._family(self.curve)

    @cached_property
    def truth(self) -> Truth:
        """The supposed leak."""
        true = 2 * self.claim if self.leak.true is None else self.leak.true
        leaking = self._family(self.leaking)
        return Truth(leaking, self.claim, true, self.delta, self.goal.confidence)

    def _family(self, name: str) -> Family:
        curves = (None if name == "pure" else parse_family(name)) or PureFamily(self.delta)
        return planning_family(curves if self.size.canaries is None else symmetric(curves))


def _curve_name(claim: Claim) -> str:
    """Return the claim's curve as text, as `curve` takes it."""
    if claim.curve is None or not within_reach(claim.curve):
        return "none"
    if isinstance(claim.curve, GaussianCurve):
        return "gaussian"
    return f"dpsgd:{claim.curve.sample_rate!r},{claim.curve.steps}"
