"""A plan for a machine: a contract that plan.schema.json spells out."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from dpaudit.judging.plan import Plan
from dpaudit.report import machine
from dpaudit.versions import versions

VERSION = 1
"""Of the contract; grows when a reader of the old one would misread the new one."""


def to_dict(plan: Plan) -> dict[str, Any]:
    """All of it as plain values that JSON can hold."""
    q, pace = plan.request, plan.pace
    values: dict[str, Any] = machine.plain(
        {
            "version": VERSION,
            "claim": {"epsilon": q.claim, "delta": q.delta, "curve": q.curve},
            "models": q.number if q.size.canaries is None else None,
            "canaries": q.size.canaries,
            "fixed_score": q.fixed_score,
            "confidence": q.goal.confidence,
            "reach": q.goal.reach,
            "true_epsilon": q.truth.true,
            "true_curve": q.leaking,
            "power": q.goal.power,
            "estimators": [asdict(row) for row in plan.rows],
            "best": None if plan.best is None else plan.rows.index(plan.best),
            "until_decided": plan.until_decided and asdict(plan.until_decided),
            "pace": None if pace is None else {**asdict(pace), "total": _total(plan)},
            "versions": versions(),
        }
    )
    return values


def _total(plan: Plan) -> float | None:
    q, pace = plan.request, plan.pace
    return pace.time(q.number) if pace and q.size.canaries is None else None


def dump(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write it as JSON, whole or not at all."""
    machine.write(to_dict(plan), path)
