"""A comparison of defences for a machine: a contract that comparison.schema.json spells out."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

from dpaudit.judging.compare import Comparison
from dpaudit.report import consistent, machine

VERSION = 1
"""Of the contract; grows when a reader of the old one would misread the new one."""


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values that JSON can hold; what is infinite or missing is None."""
    check(comparison)
    plain: dict[str, Any] = machine.plain(
        {
            "version": VERSION,
            "claim": comparison.claim.to_dict(),
            "attacks": comparison.attacks,
            "defences": [
                {
                    "defence": d.defence,
                    "utility": d.utility and asdict(d.utility),
                    "strongest": d.strongest,
                    "bounds": [machine.bound_values(bound) for bound in d.bounds],
                    "published": [machine.published_values(published) for published in d.published],
                }
                for d in comparison.rows
            ],
            "models": comparison.models,
            "data": comparison.data,
            "canary": comparison.canary,
            "versions": comparison.versions,
            "seed": comparison.seed,
        }
    )
    return plain


def dump(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write it as JSON, whole or not at all."""
    machine.write(to_dict(comparison), path)


def check(comparison: Comparison) -> None:
    """Refuse numbers that may not be printed."""
    for defended in comparison.rows:
        for bound in defended.bounds:
            consistent.check_bound(bound)
        for published in defended.published:
            consistent.check_published(published)
