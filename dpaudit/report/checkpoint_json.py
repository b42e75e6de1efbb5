"""The audit of a user's own model, for a machine: checkpoint.schema.json spells it out."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from dpaudit.checkpoint.audited import Audited
from dpaudit.report import machine
from dpaudit.report.consistent import check_bound
from dpaudit.versions import versions

VERSION = 1
"""Of the contract; grows when a reader of the old one would misread the new one."""


def to_dict(found: Audited) -> dict[str, Any]:
    """All of it but the single scores as plain values; what is infinite or missing is None."""
    for bound in found.bounds:
        check_bound(bound)
    question, subject, risk = found.question, found.subject, found.risk
    inn = int(subject.put_in.sum())
    values: dict[str, Any] = machine.plain(
        {
            "version": VERSION,
            "claim": None if question.claim is None else question.claim.to_dict(),
            "verdict": found.verdict,
            "bounds": [
                {**machine.bound_values(bound), "guesses": asdict(guesses)}
                for bound, guesses in zip(found.bounds, found.guesses, strict=True)
            ],
            "coins": subject.coins,
            "commitment": subject.commitment,
            "canaries": {"in": inn, "out": len(subject.put_in) - inn, "about": subject.about},
            "model": found.model,
            "score": {"name": found.score.name, "about": found.score.words},
            "references": found.references,
            "looks": found.looks,
            "risk": {
                "auc": risk.auc,
                "interval": risk.interval,
                "confidence": risk.confidence,
                "tpr": [{"fpr": fpr, "tpr": tpr} for fpr, tpr in risk.tpr.items()],
            },
            "delta": question.at,
            "confidence": question.confidence,
            "curve": question.curve or None,
            "seed": question.seed,
            "warnings": found.warnings,
            "next_steps": found.next_steps,
            "versions": versions(),
        }
    )
    return values


def dump(found: Audited, path: str | os.PathLike[str]) -> None:
    """Write it as JSON, whole or not at all."""
    machine.write(to_dict(found), path)
