"""How often bounds are wrong, for a machine: calibration.schema.json spells it out."""

from __future__ import annotations

import os
from typing import Any

from dpaudit.calibration.calibrate import SURE, Calibrated, Calibration
from dpaudit.report import machine
from dpaudit.versions import versions

VERSION = 1
"""Of the contract; grows when a reader of the old one would misread the new one."""


def to_dict(found: Calibration) -> dict[str, Any]:
    """All of it as plain values that JSON can hold; what is infinite or missing is None."""
    s = found.setting
    values: dict[str, Any] = machine.plain(
        {
            "version": VERSION,
            "repetitions": s.repetitions,
            "trials": s.trials,
            "confidence": s.confidence,
            "delta": s.delta,
            "seed": s.seed,
            "full": s.full,
            "interval_confidence": SURE,
            "held": found.held,
            "rows": [_row(row, row in found.broken) for row in found.rows],
            "versions": versions(),
        }
    )
    return values


def dump(found: Calibration, path: str | os.PathLike[str]) -> None:
    """Write it as JSON, whole or not at all."""
    machine.write(to_dict(found), path)


def _row(row: Calibrated, broken: bool) -> dict[str, Any]:
    return {
        "mechanism": row.mechanism,
        "epsilon": row.epsilon,
        "attack": row.attack,
        "judged": row.judged,
        "standing": row.standing,
        "repetitions": row.repetitions,
        "alarms": row.alarms,
        "rate": row.rate,
        "interval": row.interval,
        "mean": row.mean,
        "share": row.share,
        "broken": broken,
    }
