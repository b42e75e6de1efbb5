"""The audit of a user's own model, for a machine: checkpoint.schema.json spells it out."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from dpaudit.checkpoint.audit import CheckpointReport
from dpaudit.report import machine
from dpaudit.report.consistent import check_bound

VERSION = 1
"""Of the contract; grows when a reader of the old one would misread the new one."""


def to_dict(found: CheckpointReport) -> dict[str, Any]:
    """All of it but the single scores as plain values; what is infinite or missing is None."""
    for bound in found.bounds:
        check_bound(bound)
    claim, request, candidates, risk = found.claim, found.request, found.candidates, found.risk
    inn = int(candidates.put_in.sum())
    values: dict[str, Any] = machine.plain(
        {
            "version": VERSION,
            "claim": claim.to_dict() if claim.guarantees else None,
            "verdict": found.verdict if claim.guarantees else None,
            "bounds": [
                {**machine.bound_values(bound), "guesses": bound.guesses and asdict(bound.guesses)}
                for bound in found.bounds
            ],
            "coins": candidates.coins,
            "commitment": candidates.commitment,
            "canaries": {"in": inn, "out": len(candidates.put_in) - inn, "about": candidates.about},
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
            "delta": claim.delta,
            "confidence": request.confidence,
            "curve": request.curve or None,
            "seed": found.seed,
            "warnings": found.warnings,
            "next_steps": found.next_steps,
            "versions": found.versions,
        }
    )
    return values


def dump(found: CheckpointReport, path: str | os.PathLike[str]) -> None:
    """Write it as JSON, whole or not at all."""
    machine.write(to_dict(found), path)
