"""Apply every estimator to one outcome, without a run, and compare their bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from dpaudit import checks, registry
from dpaudit.accounting.curves import DPSGDFamily, Family, parse_family
from dpaudit.errors import BadInput
from dpaudit.estimators import FREE, PairedAUC
from dpaudit.estimators.base import CheckedEstimator
from dpaudit.estimators.claim_curves import CURVES
from dpaudit.estimators.published import point
from dpaudit.estimators.sentences import of_others
from dpaudit.results import Bound, Counts, Guesses, Result, Scores
from dpaudit.types import Array

StatedOutcome: TypeAlias = Counts | Scores | Guesses
Standing: TypeAlias = Literal["above", "not_above", "out_of_reach"]
Say: TypeAlias = Callable[[str], None]

ORDER = ("none", "gaussian", "accountant", "prior")
KINDS: dict[type, str] = {
    Counts: "counts of decisions (--fp, --out-trials, --fn, --in-trials)",
    Scores: "scores (--scores)",
    Guesses: "guesses of one run (--canaries, --guesses, --correct)",
}


@dataclass(frozen=True)
class EstimateRequest:
    """An outcome, and the estimators and the claim that it is put to.

    `curve` is the claimed one: 'gaussian', 'dpsgd:Q,T', or 'none'. If it is empty, a Gaussian one
    is assumed where one is needed, and refutes nothing. No names of estimators mean all that fit.
    """

    outcome: StatedOutcome
    delta: float = 1e-5
    confidence: float = 0.95
    curve: str = ""
    estimators: Sequence[str] = ()
    claim: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        claim = 1.0 if self.claim is None else self.claim
        checks.refuse(
            [
                checks.in_range("delta", self.delta, 0, 1, ends="[)"),
                checks.in_range("confidence", self.confidence, 0.5, 1, ends="()"),
                checks.at_least("seed", self.seed, 0),
                checks.of("claim", checks.positive("the claim", claim)),
            ]
        )
        _ = self.family

    @property
    def family(self) -> Family | None:
        """The kind of curve that estimators are given, if they have the choice."""
        return parse_family(self.curve)


@dataclass(frozen=True)
class OmittedEstimator:
    """An estimator for this kind of outcome that gave no bound, with the reason."""

    estimator: str
    reason: str


@dataclass(frozen=True)
class Estimates(Result):
    """The bounds of the estimators, those that assume nothing first.

    `point` is the formula on the observed rates themselves: a description, not a bound.
    """

    request: EstimateRequest
    bounds: Sequence[Bound]
    left_out: Sequence[OmittedEstimator]
    point: float | None = None

    def standing(self, bound: Bound) -> Standing:
        """Compare a bound with the claim, whether or not it may refute it."""
        claim = self.request.claim
        if claim is None:
            raise BadInput("there is no claim to compare with", "needs-claim", option="claim")
        if bound.epsilon > claim:
            return "above"
        return "out_of_reach" if bound.ceiling < claim else "not_above"

    @property
    def deciding(self) -> Bound | None:
        """The bound that decides about the claim: the only named one that may refute it."""
        able = [b for b in self.bounds if self.may_refute(b) and self.named(b)]
        return able[0] if len(able) == 1 else None

    def named(self, bound: Bound) -> bool:
        """Tell whether the estimator was requested, instead of added for comparison."""
        return not self.request.estimators or bound.estimator in self.request.estimators

    @property
    def shown(self) -> Sequence[Bound]:
        """The bounds to print: named ones, and those that assume nothing or the stated curve."""
        named = self.request.estimators
        return [b for b in self.bounds if self.may_refute(b) or b.estimator in named]

    def may_refute(self, bound: Bound) -> bool:
        """Tell whether the bound assumes nothing, or only the curve that is claimed."""
        promised = self.request.family if self.request.curve else None
        return bound.assumption == "none" or (
            promised is not None and bound.assumption == promised.assumption
        )


def estimate(request: EstimateRequest, say: Say = lambda text: None) -> Estimates:
    """Return the bounds; refuse a named estimator without a bound, and leave out others.

    A bound that assumes nothing is always among them. `say` is given the name of each estimator.
    """
    family = request.family
    tried: list[Bound | OmittedEstimator | None] = []
    if names := dict.fromkeys(request.estimators):
        tried += [_bound(name, family, request, say) for name in names]
        if all(isinstance(bound, Bound) and bound.assumption != "none" for bound in tried):
            free = _try(FREE[type(request.outcome)], family, request, say)
            tried += [free] if isinstance(free, Bound) else []
    else:
        tried += [_try(name, family, request, say) for name in registry.names("estimators")]
        if family is not None:  # without a curve, the pairs give another bound
            tried.append(_try("paired-auc", None, request, say))
    bounds = [found for found in tried if isinstance(found, Bound)]
    omitted = list(dict.fromkeys(left for left in tried if isinstance(left, OmittedEstimator)))
    if not bounds:
        why = "; ".join(left.reason for left in omitted) or "none is installed for it"
        raise BadInput(
            f"no estimator gives a bound here ({why})",
            "no-estimator-fits",
            option="estimators",
            value=[left.estimator for left in omitted],
        )
    bounds.sort(key=lambda bound: ORDER.index(bound.assumption))
    return Estimates(request, bounds, omitted, _point(request))


def _try(
    name: str, curve: Family | None, request: EstimateRequest, say: Say
) -> Bound | OmittedEstimator | None:
    """Return the bound of an estimator, or why it has none; None for other kinds of outcome."""
    try:
        fits = isinstance(request.outcome, registry.load("estimators", name).takes)
        return _bound(name, curve, request, say) if fits else None
    except BadInput as error:
        return OmittedEstimator(name, str(error))


def _bound(name: str, curve: Family | None, request: EstimateRequest, say: Say) -> Bound:
    """Return the bound of one estimator; refuse one that does not fit."""
    outcome, plugin = request.outcome, registry.load("estimators", name)
    if not isinstance(outcome, plugin.takes):
        in_python = f"{plugin.takes.__name__.lower()}, which can be given in Python only"
        text = f"{name} needs {KINDS.get(plugin.takes, in_python)}"
        raise BadInput(text, "wrong-outcome", option="estimator", value=name)
    wanted = registry.parameters(plugin).get("curve")
    if wanted and wanted.default is wanted.empty and not isinstance(curve, DPSGDFamily):
        text = f"{name} needs DP-SGD's sample rate and steps; state --curve dpsgd:Q,T"
        raise BadInput(text, "needs-curve", option="curve", value=name)
    sure = request.confidence
    made = registry.make(
        "estimators", name, confidence=sure, seed=request.seed, curve=curve or "pure"
    )
    if isinstance(made, PairedAUC) and isinstance(outcome, Scores):
        _refuse_unpaired(outcome)
    say(name)
    bound = CheckedEstimator(name, made, sure).bound(outcome, request.delta)
    assumed = bound.assumption not in ("none", "prior")
    # A bound for one kind of curve says nothing of a mechanism of another.
    if assumed and (request.family is None or bound.assumption != request.family.assumption):
        text = (
            f"{name} assumes {CURVES[bound.assumption]}, but the stated curve is "
            f"{request.curve}; state another curve, or take another estimator"
        )
        raise BadInput(text, "other-curve", option="curve", value=name)
    return bound if bound.sentence else replace(bound, sentence=of_others(bound))


def _refuse_unpaired(scores: Scores) -> None:
    n0, n1 = len(scores.out), len(scores.inn)
    pairs = "paired-auc pairs trials in their order"
    if n0 != n1:
        text = f"{pairs}, and needs equal numbers of both worlds, not {n0:,} out and {n1:,} in"
        raise BadInput(text, "not-paired", value=(n0, n1))
    if _sorted(scores.out) or _sorted(scores.inn):
        text = f"{pairs}, and these are sorted by score; keep the order of the trials"
        raise BadInput(text, "sorted-scores")


def _sorted(scores: Array) -> bool:
    """Tell whether scores are sorted, as scores of trials almost never are."""
    up, down = scores[1:] >= scores[:-1], scores[1:] <= scores[:-1]
    constant = bool(np.all(up & down))
    return len(scores) >= 5 and not constant and bool(up.all() or down.all())


def _point(request: EstimateRequest) -> float | None:
    counts = request.outcome
    if not isinstance(counts, Counts):
        return None
    return point(counts, request.delta)
