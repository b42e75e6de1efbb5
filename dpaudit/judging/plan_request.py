"""What a plan is asked: a claim, what is to be trained, and what is supposed to be true."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpaudit import checks
from dpaudit.accounting.curves import Family, Pure, stated, symmetrised, within_reach
from dpaudit.accounting.sampled import sampled
from dpaudit.config.adversaries import OBSERVER
from dpaudit.config.settings import Volume
from dpaudit.errors import BadInput
from dpaudit.estimators.power import Truth
from dpaudit.registry import arguments
from dpaudit.registry import parameters as known
from dpaudit.types import Claim, GaussianCurve

MOST_MODELS, MOST_CANARIES = 10**6, 20_000
"""Where a search for a chance ends; that for a ceiling, which costs nothing, goes further."""


@dataclass(frozen=True)
class Size:
    """Models that are to be trained, or canaries that one training is to hold."""

    models: int = Volume.models
    canaries: int | None = None
    guesses: int | None = None

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.whole("models", self.models, 4, MOST_MODELS),
                None
                if self.canaries is None
                else checks.whole("canaries", self.canaries, 2, MOST_CANARIES),
                self._guesses(),
            ]
        )

    def _guesses(self) -> BadInput | None:
        if self.guesses is None:
            return None
        if self.canaries is None:
            return BadInput(
                "guesses are of one run with many canaries; give their number too",
                "needs-option",
                option="guesses",
                value="canaries",
            )
        if self.guesses > self.canaries:
            return BadInput(
                f"guesses must be at most {self.canaries:,}, one a canary, not {self.guesses:,}",
                "too-large",
                option="guesses",
                value=self.guesses,
            )
        return checks.at_least("guesses", self.guesses, 1)


@dataclass(frozen=True)
class Leak:
    """The epsilon that is supposed to be true, twice the claim if left out, and its curve.

    The curve is 'gaussian', 'dpsgd:Q,T' or 'pure', as randomized response leaks, which shows more
    than all others.
    """

    true: float | None = None
    true_curve: str | None = None

    def __post_init__(self) -> None:
        checks.refuse(
            [
                None
                if self.true is None
                else checks.of("true", checks.positive("the true epsilon", self.true)),
                self._curve(),
            ]
        )

    def _curve(self) -> BadInput | None:
        if (self.true_curve or "pure").partition(":")[0] in ("pure", "gaussian", "dpsgd"):
            return None
        return BadInput(
            f"the true curve must be pure, gaussian or dpsgd:Q,T, not '{self.true_curve}'",
            "unknown-choice",
            option="true_curve",
            value=self.true_curve,
        )


@dataclass(frozen=True)
class Goal:
    """How surely the claim is to be refuted, with which chance, and a bound to reach beside it."""

    confidence: float = 0.95
    power: float = 0.8
    reach: float | None = None

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.in_range("confidence", self.confidence, 0.5, 1 - 1e-5, ends="(]"),
                checks.in_range("power", self.power, 0, 1, ends="()"),
                None
                if self.reach is None
                else checks.of("reach", checks.positive("the bound to reach", self.reach)),
            ]
        )


@dataclass(frozen=True)
class PlanRequest:
    """A claim, how much is to be trained, what is supposed to leak, and what is to be shown.

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
    """Who attacks: with any but an observer comes the attack whose score is fixed."""

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
            raise BadInput(
                f"a true epsilon of {true:g} keeps the claim of {self.claim:g}, and nothing "
                "refutes what is true; give a larger one",
                "too-small",
                option="true",
                value=true,
            )
        if reach is not None and reach >= self.truth.true:
            raise BadInput(
                f"no bound reaches {reach:g} where {self.truth.true:g} leaks; give a larger "
                "true epsilon",
                "too-large",
                option="reach",
                value=reach,
            )
        _ = self.truth.parameter

    @property
    def leaking(self) -> str:
        """The true curve: that which is asked for, or of the claimed kind, or Gaussian.

        What adds noise to a sum of many records leaks nearly as the Gaussian mechanism does,
        whatever is claimed of it. Randomized response of the same epsilon is refuted with a
        hundredth of the models, which would then show nothing of a mechanism that is in use. At
        delta 0, where Gaussian noise has no epsilon, it is what is left.
        """
        if self.leak.true_curve is not None:
            return self.leak.true_curve
        if self.curve != "none":
            return self.curve
        return "gaussian" if self.delta > 0 else "pure"

    @classmethod
    def of(cls, claim: Claim, **asked: Any) -> PlanRequest:
        """About a claim with its own curve, where that can be computed in seconds."""
        made_by: Any = cls
        if unknown := asked.keys() - known(made_by).keys():
            raise TypeError(f"a plan has no settings {', '.join(sorted(unknown))}")
        told = {"claim": claim.epsilon, "delta": claim.delta, "curve": _stated(claim)}
        return cls(**arguments(cls, {**told, **asked}))

    @property
    def unit(self) -> str:
        """What there is a number of."""
        return "models" if self.size.canaries is None else "canaries"

    @property
    def number(self) -> int:
        """Of models, or of canaries."""
        size = self.size
        return -(-size.models // 4) * 4 if size.canaries is None else size.canaries

    @cached_property
    def claimed(self) -> Family:
        """The curves that may be assumed."""
        return self._family(self.curve)

    @cached_property
    def truth(self) -> Truth:
        """What is supposed to be true."""
        true = 2 * self.claim if self.leak.true is None else self.leak.true
        leaking = self._family(self.leaking)
        return Truth(leaking, self.claim, true, self.delta, self.goal.confidence)

    def _family(self, name: str) -> Family:
        curves = (None if name == "pure" else stated(name)) or Pure(self.delta)
        return sampled(curves if self.size.canaries is None else symmetrised(curves))


def _stated(claim: Claim) -> str:
    """The claimed curve as a question names it."""
    if claim.curve is None or not within_reach(claim.curve):
        return "none"
    if isinstance(claim.curve, GaussianCurve):
        return "gaussian"
    return f"dpsgd:{claim.curve.sample_rate!r},{claim.curve.steps}"
