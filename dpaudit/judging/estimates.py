"""Every estimator on one outcome, side by side: the statistics alone, without a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from dpaudit import checks, registry
from dpaudit.accounting.curves import DPSGD, Family, stated
from dpaudit.errors import BadInput
from dpaudit.estimators import FREE, PairedAUC, Point
from dpaudit.estimators.inputs import Checked
from dpaudit.estimators.selections.promised import CURVES
from dpaudit.estimators.sentences import of_others
from dpaudit.results import Bound, Counts, Guesses, Scores
from dpaudit.types import Array

Given: TypeAlias = Counts | Scores | Guesses
Standing: TypeAlias = Literal["above", "not_above", "out_of_reach"]

ORDER = ("none", "gaussian", "accountant", "prior")
KINDS: dict[type, str] = {
    Counts: "counts of decisions (--fp, --out, --fn, --in)",
    Scores: "scores (--scores)",
    Guesses: "guesses of one run (--canaries, --guesses, --correct)",
}


@dataclass(frozen=True)
class Question:
    """An outcome, and what is to be made of it.

    `curve` is the one that the mechanism claims: 'gaussian', 'dpsgd:Q,T', or 'none'; left
    empty, a Gaussian one is assumed where one is needed, and refutes nothing. Of no named
    estimators all are taken that fit.
    """

    outcome: Given
    delta: float = 1e-5
    confidence: float = 0.95
    curve: str = ""
    estimators: Sequence[str] = ()
    claim: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.in_range("delta", self.delta, 0, 1, ends="[)"),
                checks.in_range("confidence", self.confidence, 0.5, 1, ends="()"),
                checks.at_least("seed", self.seed, 0),
                None
                if self.claim is None
                else checks.of("claim", checks.positive("the claim", self.claim)),
            ]
        )
        _ = self.family

    @property
    def family(self) -> Family | None:
        """The kind of curve that estimators with a choice of it are given; None: none."""
        return stated(self.curve)


@dataclass(frozen=True)
class LeftOut:
    """An estimator for this kind of outcome that gave no bound, and why."""

    estimator: str
    reason: str


@dataclass(frozen=True)
class Estimates:
    """What the estimators say, those that assume nothing first.

    `point` is the formula on the observed rates themselves: a description, not a bound.
    """

    question: Question
    bounds: Sequence[Bound]
    left_out: Sequence[LeftOut]
    point: float | None = None

    def standing(self, bound: Bound) -> Standing:
        """Of a bound against the claim; whether it may refute it is another question."""
        claim = self.question.claim
        if claim is None:
            raise BadInput("there is no claim to stand against", "needs-claim", option="claim")
        if bound.epsilon > claim:
            return "above"
        return "out_of_reach" if bound.ceiling < claim else "not_above"

    @property
    def deciding(self) -> Bound | None:
        """The bound that decides about the claim: the only one, of those named, that may."""
        able = [b for b in self.bounds if self.may_refute(b) and self.named(b)]
        return able[0] if len(able) == 1 else None

    def named(self, bound: Bound) -> bool:
        """Whether it was asked for, and does not only stand beside."""
        return not self.question.estimators or bound.estimator in self.question.estimators

    def may_refute(self, bound: Bound) -> bool:
        """Whether the bound assumes nothing, or only the curve that is claimed."""
        promised = self.question.family if self.question.curve else None
        return bound.assumption == "none" or (
            promised is not None and bound.assumption == promised.assumption
        )


def estimate(question: Question, say: Callable[[str], None] = lambda text: None) -> Estimates:
    """The bounds; a named estimator that cannot give one is refused, any other left out.

    One that assumes nothing is always among them, named or not.
    """
    named = list(dict.fromkeys(question.estimators))
    if named:
        bounds = [_bound(name, curve, question, say) for name, curve in _ways(question, named)]
        left_out: list[LeftOut] = []
        if all(bound.assumption != "none" for bound in bounds):
            beside = _tried(FREE[type(question.outcome)], question.family, question, say)
            bounds += [beside] if isinstance(beside, Bound) else []
    else:
        tried = [_tried(name, curve, question, say) for name, curve in _ways(question, ())]
        bounds = [found for found in tried if isinstance(found, Bound)]
        # An estimator may be tried with several curves, and lack the same for all of them.
        left_out = list(dict.fromkeys(found for found in tried if isinstance(found, LeftOut)))
    if not bounds:
        why = "; ".join(left.reason for left in left_out) or "none is installed for it"
        raise BadInput(
            f"no estimator gives a bound here ({why})",
            "no-estimator-fits",
            option="estimators",
            value=[left.estimator for left in left_out],
        )
    bounds.sort(key=lambda bound: ORDER.index(bound.assumption))
    return Estimates(question, bounds, left_out, _point(question))


def _ways(question: Question, named: Sequence[str]) -> Iterator[tuple[str, Family | None]]:
    """Estimators, each with the curve that it is offered; None: that of (epsilon, delta) itself.

    Of those that pair trials also the bound that assumes nothing, which is to stand beside.
    """
    for name in named or registry.names("estimators"):
        yield name, question.family
        if name == "paired-auc" and not named and question.family is not None:
            yield name, None


def _point(question: Question) -> float | None:
    if not isinstance(question.outcome, Counts):
        return None
    if question.outcome.fp == question.outcome.fn == 0:
        return math.inf  # both directions are skipped, but nothing was ever told apart better
    return Point().epsilon(question.outcome, question.delta)


# ---------------------------------------------------------------- one estimator


class _OtherKind(BadInput):
    """The estimator is for another kind of outcome."""

    code = "wrong-outcome"


def _tried(
    name: str, curve: Family | None, question: Question, say: Callable[[str], None]
) -> Bound | LeftOut | None:
    """The bound, why there is none, or nothing of an estimator for other kinds of outcome."""
    try:
        return _bound(name, curve, question, say)
    except _OtherKind:
        return None
    except BadInput as error:
        return LeftOut(name, str(error))


def _refuse_other_kind(name: str, outcome: Given) -> None:
    takes = registry.load("estimators", name).takes
    if isinstance(outcome, takes):
        return
    given = next(words for kind, words in KINDS.items() if isinstance(outcome, kind))
    if takes in KINDS:
        raise _OtherKind(
            f"{name} needs {KINDS[takes]}, not {given}", option="estimator", value=name
        )
    needed = takes.__name__.lower()
    raise _OtherKind(
        f"{name} needs {needed}, which can be given in Python only", option="estimator", value=name
    )


def _bound(
    name: str, curve: Family | None, question: Question, say: Callable[[str], None]
) -> Bound:
    q = question
    wanted = registry.parameters(registry.load("estimators", name)).get("curve")
    _refuse_other_kind(name, q.outcome)
    if wanted and wanted.default is wanted.empty and not isinstance(curve, DPSGD):
        raise BadInput(
            f"{name} needs DP-SGD's sample rate and steps; state --curve dpsgd:Q,T",
            "needs-curve",
            option="curve",
            value=name,
        )
    made = registry.make(
        "estimators", name, confidence=q.confidence, seed=q.seed, curve=curve or "pure"
    )
    if isinstance(made, PairedAUC) and isinstance(q.outcome, Scores):
        _refuse_unpaired(q.outcome)
    say(name)
    bound = Checked(name, made, q.confidence).bound(q.outcome, q.delta)
    _refuse_other_curve(name, bound, q)
    return bound if bound.sentence else replace(bound, sentence=of_others(bound))


def _refuse_other_curve(name: str, bound: Bound, question: Question) -> None:
    """Law: a bound for one kind of curve is none for a mechanism of another."""
    if bound.assumption in ("none", "prior"):
        return
    curves = question.family
    if curves is None or bound.assumption != curves.assumption:
        raise BadInput(
            f"{name} assumes {CURVES[bound.assumption]}, and the curve is stated to be "
            f"{question.curve}; state another one, or take another estimator",
            "other-curve",
            option="curve",
            value=name,
        )


def _refuse_unpaired(scores: Scores) -> None:
    n0, n1 = len(scores.out), len(scores.inn)
    if n0 != n1:
        raise BadInput(
            "paired-auc pairs trials in their order, and needs as many of one world as of the "
            f"other, not {n0:,} out and {n1:,} in",
            "not-paired",
            value=(n0, n1),
        )
    if _sorted(scores.out) or _sorted(scores.inn):
        raise BadInput(
            "paired-auc pairs trials in their order, and these are sorted by their score, which "
            "would choose the pairs; give them in the order in which they were run",
            "sorted-scores",
        )


def _sorted(scores: Array) -> bool:
    """Whether scores stand in their order, as hardly any trials do when they are run."""
    up, down = scores[1:] >= scores[:-1], scores[1:] <= scores[:-1]
    constant = bool(np.all(up & down))
    return len(scores) >= 5 and not constant and bool(up.all() or down.all())
