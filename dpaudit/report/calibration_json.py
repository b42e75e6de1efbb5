"""How often bounds are wrong, for a machine: calibration.schema.json spells it out."""

from __future__ import annotations

import os
from typing import Any

from dpaudit.calibration import results
from dpaudit.calibration.results import Calibration, CalibrationRow, Measurement
from dpaudit.report import machine
from dpaudit.versions import versions

VERSION = 2
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
            "held": found.held,
            "found": found.detectable_rate,
            "found_with": results.POWER,
            "by_chance": found.by_chance,
            "rows": [_row(row) for row in found.rows],
            "versions": versions(),
        }
    )
    return values


def dump(found: Calibration, path: str | os.PathLike[str]) -> None:
    """Write it as JSON, whole or not at all."""
    machine.write(to_dict(found), path)


def _row(row: CalibrationRow) -> dict[str, Any]:
    return {
        "mechanism": row.mechanism,
        "trials": row.trials,
        "delta": row.delta,
        "epsilon": row.epsilon,
        "attack": row.attack,
        "judged": row.judged,
        "standing": row.standing,
        "level": row.level,
        **_measured(row.measured),
        "rate": row.rate,
        "interval": row.interval,
        "interval_confidence": row.sure,
        "share": row.share,
        "broken": row.broken,
        "first": row.first and _measured(row.first),
    }


def _measured(measured: Measurement) -> dict[str, Any]:
    return {
        "repetitions": measured.repetitions,
        "alarms": measured.alarms,
        "mean": measured.mean,
    }
