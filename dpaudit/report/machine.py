"""The report for a machine: report.json, a contract that report.schema.json spells out."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.files import write_whole
from dpaudit.report.consistent import check
from dpaudit.results import Bound, Published, Report

VERSION = 1
"""Of the contract; grows when a reader of the old one would misread the new one."""


def load_schema(name: str = "report") -> dict[str, Any]:
    """The JSON Schema (2020-12) of what is written: 'report', 'comparison', 'plan' and others."""
    text = files("dpaudit.report").joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def to_dict(report: Report) -> dict[str, Any]:
    """The report as plain values that JSON can hold; what is infinite or missing is None."""
    check(report)
    values: dict[str, Any] = plain(
        {
            "version": VERSION,
            "claim": report.claim.to_dict(),
            "verdict": report.verdict,
            "primary": report.primary,
            "bounds": [bound_values(bound) for bound in report.bounds],
            "published": [published_values(published) for published in report.published],
            "why": report.why,
            "untested": report.untested,
            "looks": report.looks,
            "deciders": report.deciders or [report.primary],
            "models": report.models,
            "growth": report.growth
            and {
                "models": [2 * (i + 1) for i in range(len(report.growth.wealth))],
                "wealth": report.growth.wealth,
                "beside": report.growth.beside,
                "needed": report.growth.needed,
                "most": report.growth.most,
            },
            "guesses": report.guesses and asdict(report.guesses),
            "data": report.data,
            "canary": report.canary,
            "adversary": report.adversary,
            "attacker": report.attacker,
            "deployment": report.deployment,
            "training": report.training or None,
            "defence": report.defence,
            "backend": report.backend,
            "seconds": report.seconds,
            "utility": report.utility,
            "versions": report.versions,
            "seed": report.seed,
            "warnings": report.warnings,
            "next_steps": report.next_steps,
        }
    )
    return values


def dump(report: Report, path: str | os.PathLike[str]) -> None:
    """Write report.json whole or not at all: a failure leaves the old file as it was."""
    write(to_dict(report), path)


def write(values: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write plain values as JSON, whole or not at all."""
    text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # A file name may hold bytes that UTF-8 cannot; Python's escape for them is JSON's too.
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def bound_values(bound: Bound) -> dict[str, Any]:
    """A bound as plain values."""
    counts = bound.counts
    return {
        "attack": bound.attack,
        "rule": bound.rule,
        "estimator": bound.estimator,
        "assumption": bound.assumption,
        "selection": bound.selection,
        "epsilon": bound.epsilon,
        "delta": bound.delta,
        "confidence": bound.confidence,
        "ceiling": bound.ceiling,
        "counts": counts
        and {"fp": counts.fp, "out": counts.out, "fn": counts.fn, "in": counts.inn},
        "trials": bound.trials and {"out": bound.trials[0], "in": bound.trials[1]},
        "interval": bound.interval,
        "sentence": bound.sentence,
    }


def published_values(published: Published) -> dict[str, Any]:
    """A published estimate as plain values; what was not measured is None."""
    several, shuffled = published.chunks > 1, published.permutations > 0
    return {
        "attack": published.attack,
        "epsilon_in_sample": published.epsilon_in_sample,
        "epsilon_in_sample_std": published.epsilon_in_sample_std if several else None,
        "chunks": published.chunks,
        "null_mean": published.null_mean if shuffled else None,
        "null_q95": published.null_q95 if shuffled else None,
        "permutations": published.permutations,
    }


def plain(value: Any) -> Any:
    """The value in JSON's own types; numpy's scalars and arrays become Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    said = f"a report cannot hold {value!r}: {type(value).__name__} has no form in JSON"
    raise BadInput(said, "not-json", value=type(value).__name__)
