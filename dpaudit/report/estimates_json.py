"""Estimators side by side, for a machine: a contract that estimates.schema.json spells out."""

from __future__ import annotations

import os
from typing import Any

from dpaudit.judging.estimates import Estimates, Question
from dpaudit.report import machine
from dpaudit.report.consistent import check_bound
from dpaudit.results import Bound, Counts, Guesses
from dpaudit.versions import versions

VERSION = 1
"""Of the contract; grows when a reader of the old one would misread the new one."""


def to_dict(found: Estimates) -> dict[str, Any]:
    """All of it as plain values that JSON can hold; what is infinite or missing is None."""
    question, deciding = found.question, found.deciding
    for bound in found.bounds:
        check_bound(bound)
    values: dict[str, Any] = machine.plain(
        {
            "version": VERSION,
            "outcome": _outcome(question),
            "delta": question.delta,
            "confidence": question.confidence,
            "curve": question.curve or None,
            "claim": question.claim,
            "seed": question.seed,
            "bounds": [_bound(found, bound) for bound in found.bounds],
            "left_out": [
                {"estimator": left.estimator, "reason": left.reason} for left in found.left_out
            ],
            "deciding": None if deciding is None else found.bounds.index(deciding),
            "point": found.point,
            "versions": versions(),
        }
    )
    return values


def dump(found: Estimates, path: str | os.PathLike[str]) -> None:
    """Write it as JSON, whole or not at all."""
    machine.write(to_dict(found), path)


def _outcome(question: Question) -> dict[str, Any]:
    o = question.outcome
    if isinstance(o, Counts):
        return {"kind": "counts", "fp": o.fp, "out": o.out, "fn": o.fn, "in": o.inn}
    if isinstance(o, Guesses):
        numbers = {"canaries": o.canaries, "guesses": o.guesses, "correct": o.correct}
        return {"kind": "guesses", **numbers}
    return {"kind": "scores", "out": len(o.out), "in": len(o.inn)}


def _bound(found: Estimates, bound: Bound) -> dict[str, Any]:
    return {
        "estimator": bound.estimator,
        "assumption": bound.assumption,
        "selection": bound.selection,
        "epsilon": bound.epsilon,
        "confidence": bound.confidence,
        "interval": bound.interval,
        "ceiling": bound.ceiling,
        "sentence": bound.sentence,
        "may_refute": found.may_refute(bound),
        "against_claim": None if found.question.claim is None else found.standing(bound),
    }
