"""JSON for machines: report.json, as report.schema.json spells it out, and the shared formats."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib.resources import files
from typing import Any

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.files import write_whole
from dpaudit.judging.outcome import check
from dpaudit.results import Bound, Published, Report

FIRST = ("report", "comparison", "checkpoint", "plan", "estimates", "ladder")
VERSIONS = {**dict.fromkeys(FIRST, 1), "calibration": 2}
"""Of each contract; grows when a reader of the old one would misread the new one."""


REFERENCE = re.compile(r'"#/\$defs/([^"]+)"')


def load_schema(name: str = "report") -> dict[str, Any]:
    """Load the whole JSON Schema (2020-12) of 'report', 'comparison', 'plan' or another file.

    Definitions that it shares with others are added to its own, so that it refers to nothing
    outside: any validator takes it as it is.
    """
    schema, shared = _read(name), _read("shared")["$defs"]
    defined: dict[str, Any] = schema.setdefault("$defs", {})
    while missing := set(REFERENCE.findall(json.dumps(schema))) - defined.keys():
        defined.update((part, shared[part]) for part in sorted(missing))
    return schema


def _read(name: str) -> dict[str, Any]:
    text = files("dpaudit.report").joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as plain values that JSON can hold; infinite or missing values are None."""
    check(report)
    growth = report.growth
    values = {f.name: getattr(report, f.name) for f in fields(report) if f.name != "evidence"}
    values |= {
        "claim": report.claim.to_dict(),
        "bounds": [bound_values(bound) for bound in report.bounds],
        "published": [published_values(published) for published in report.published],
        "deciders": report.deciders or [report.primary],
        "growth": growth
        and {"models": [2 * (i + 1) for i in range(len(growth.wealth))], **asdict(growth)},
        "guesses": report.guesses and asdict(report.guesses),
        "expected": report.expected and asdict(report.expected),
        "training": report.training or None,
    }
    return contract("report", values)


def contract(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values below the version of their contract."""
    return {"version": VERSIONS[name], **{key: plain(value) for key, value in values.items()}}


def dump(report: Report, path: str | os.PathLike[str]) -> None:
    """Write report.json, whole or not at all: a failure leaves the old file as it was."""
    write(to_dict(report), path)


def write(values: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write plain values as JSON, whole or not at all."""
    text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # A file name may hold bytes that UTF-8 cannot; Python's escape for them is JSON's too.
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def bound_values(bound: Bound) -> dict[str, Any]:
    """Return a bound as plain values."""
    values, counts = asdict(bound), bound.counts
    del values["guesses"]
    return {
        **values,
        "counts": counts
        and {"fp": counts.fp, "out": counts.out, "fn": counts.fn, "in": counts.inn},
        "trials": bound.trials and {"out": bound.trials[0], "in": bound.trials[1]},
    }


def published_values(published: Published) -> dict[str, Any]:
    """Return an in-sample estimate as plain values; what was not measured is None."""
    values = asdict(published)
    if published.chunks <= 1:
        values["epsilon_in_sample_std"] = None
    if published.permutations == 0:
        values |= {"null_mean": None, "null_q95": None}
    return values


def plain(value: Any) -> Any:
    """Return a value in JSON's own types; numpy's scalars and arrays become Python's."""
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
    kind = type(value).__name__
    raise BadInput(
        f"a report cannot hold {value!r}: {kind} has no form in JSON", "not-json", value=kind
    )
