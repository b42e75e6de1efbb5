"""JSON for machines: report.json, which report.schema.json spells out, and what all formats share.

A report whose numbers contradict each other is refused before anyone reads it.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from importlib.resources import files
from typing import Any, NoReturn

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.files import write_whole
from dpaudit.judging.strength import strength
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


def check(report: Report) -> None:
    """Raise BadInput unless all numbers may be printed and the verdict fits them."""
    claim, size = report.claim, len(report.bounds)
    _require(0 <= report.primary < size, "primary", report.primary, f"below {size}, its bounds")
    _require(claim.epsilon >= 0, "claim.epsilon", claim.epsilon, "a number >= 0")
    _require(0 <= claim.delta < 1, "claim.delta", claim.delta, "in [0, 1)")
    inside = all(0 <= i < size for i in report.deciders)
    _require(inside, "deciders", report.deciders, f"below {size}, its bounds")
    check_numbers(report.bounds, report.published)
    if report.claim.by_step:
        _check_steps(report)
    _check_verdict(report)
    check_strength(report)


def check_strength(report: Report) -> None:
    """Raise BadInput unless the strength follows from the verdict and the bound that decides."""
    bound = report.bounds[report.primary] if report.bounds else None
    null = report.canary.get("name") == "none"
    if report.strength != strength(report.claim, report.verdict, bound, null):
        shown = "no bound" if bound is None else f"bound {bound.epsilon}"
        numbers = f"{report.verdict}, claim {report.claim.epsilon}, {shown}"
        _contradict("strength", report.strength, numbers)


def check_numbers(bounds: Iterable[Bound], published: Iterable[Published] = ()) -> None:
    """Raise BadInput unless each bound is one that its trials can give, and estimates are numbers.

    A point estimate has no confidence, and is no bound.
    """
    for bound in bounds:
        of = f"of attack {bound.attack!r} by {bound.estimator}"
        finite = bound.epsilon >= 0 and math.isfinite(bound.epsilon)
        _require(finite, "bound.epsilon", bound.epsilon, f"finite and >= 0, {of}", "not-finite")
        # Bound and ceiling are computed in different ways, and may differ by rounding.
        reachable = bound.ceiling >= bound.epsilon * (1 - 1e-6)
        most = f"at most its ceiling {bound.ceiling}, {of}"
        _require(reachable, "bound.epsilon", bound.epsilon, most, "above-ceiling")
        _require(0 <= bound.delta < 1, "bound.delta", bound.delta, f"in [0, 1), {of}")
        sure = bound.confidence
        _require(0 < sure < 1, "bound.confidence", sure, f"in (0, 1), {of}")
    for p in published:
        number = p.epsilon_in_sample
        wanted = f"a number >= 0, of attack {p.attack!r}"
        _require(number >= 0, "published.epsilon_in_sample", number, wanted)


def _require(fits: bool, option: str, value: Any, wanted: str, code: str = "out-of-range") -> None:
    if not fits:
        raise BadInput(f"{option} must be {wanted}, not {value}", code, option=option, value=value)


def _check_steps(report: Report) -> None:
    """Refuse numbers on the leak of single steps beside a claim about all of them."""
    option, numbers = "published", "in-sample estimates are" if report.published else ""
    for bound in report.bounds:
        if bound.assumption != "accountant":
            option, numbers = (
                "bounds",
                f"the bound of attack {bound.attack!r} by {bound.estimator} is",
            )
    if numbers:
        sentence = f"{numbers} of single steps, and the claim is about the whole training"
        raise BadInput(sentence, "single-steps", option=option)


def _check_verdict(report: Report) -> None:
    """Refuse a verdict that does not follow from the primary bound.

    Only a bound with an assumption may exceed the claim without refuting it.
    """
    bound, claimed = report.bounds[report.primary], report.claim.epsilon
    refuted = bound.epsilon > claimed
    holds = not refuted or bound.assumption != "none"
    could = report.reach >= claimed and not report.untested
    fits = {"VIOLATION": refuted, "NO_VIOLATION_FOUND": holds and could, "INCONCLUSIVE": holds}
    if not report.claim.guarantees:
        fits = {"NO_GUARANTEE_CLAIMED": True}
    if not fits.get(report.verdict):
        numbers = f"claim {claimed}, bound {bound.epsilon}, ceiling {report.reach}"
        _contradict("verdict", report.verdict, numbers)


def _contradict(option: str, value: str, numbers: str) -> NoReturn:
    sentence = f"the {option} {value} contradicts its numbers: {numbers}"
    raise BadInput(sentence, "contradiction", option=option, value=value)
