"""A model's outputs on each record's own label, computed from any form or read from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp

from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checks import excerpt, refuse
from dpaudit.data import csv_text, npz
from dpaudit.data.csv_text import Cells
from dpaudit.errors import BadInput
from dpaudit.files import add_path
from dpaudit.outputs import deviation
from dpaudit.types import Array

SUREST = 700.0
"""The largest log-odds; larger ones are a probability of 0 or 1 in double precision."""

STATISTICS = ("mean", "inv_std", "min", "max")
"""Of the probabilities in several passes with dropout."""


@dataclass(frozen=True)
class Passes:
    """T passes with dropout: per record the logarithm of its label's mean probability, the mean of
    its log-odds, and statistics of the T probabilities.
    """

    log_p: Array
    log_odds: Array
    statistics: Mapping[str, Array]


@dataclass(frozen=True)
class Outputs:
    """Per record the logarithms of its label's probability and of its odds; dropout off."""

    log_p: Array
    log_odds: Array
    passes: Passes | None = None
    """Passes with dropout on; None if the model was not queried so."""

    @property
    def statistics(self) -> Mapping[str, Array]:
        """The statistics of the passes with dropout; empty if there are none."""
        return {} if self.passes is None else self.passes.statistics


def label_odds(z: Array, y: Array) -> Array:
    """The log-odds of each record's label from logits (..., records, classes).

    Computed from the logits: a probability near 1 has lost its digits.
    """
    z = np.asarray(z, dtype=np.float64)
    others = np.where(np.arange(z.shape[-1]) == y[:, None], -np.inf, z)
    odds: Array = z[..., np.arange(len(y)), y] - logsumexp(others, axis=-1)
    return np.clip(odds, -SUREST, SUREST)


def of_logits(z: Array, y: Array) -> Outputs:
    """The outputs of logits (records, classes)."""
    z = np.asarray(z, dtype=np.float64)
    return Outputs(log_softmax(z, axis=1)[np.arange(len(y)), y], label_odds(z, y))


def of_probabilities(p: Array, y: Array) -> Outputs:
    """The outputs of probabilities (records, classes); each row must add up to 1."""
    p = np.asarray(p, dtype=np.float64)
    if p.min() < 0 or np.abs(p.sum(axis=1) - 1).max() > 1e-3:
        text = "probabilities must be at least 0 and add up to 1 for each record; give logits as "
        raise BadInput(f"{text}logits", "not-probabilities")
    return of_logits(np.log(np.maximum(p, np.exp(-SUREST))), y)


def of_losses(loss: Array) -> Outputs:
    """The outputs of cross-entropies, natural logarithm."""
    loss = np.asarray(loss, dtype=np.float64)
    if loss.min() < -1e-6:
        text = f"a loss of {loss.min():g} is below 0; give cross-entropies"
        raise BadInput(text, "negative-loss", value=float(loss.min()))
    loss = np.clip(loss, np.exp(-SUREST), None)
    # ln(p/(1-p)) of p = e^-loss
    odds = -(loss + np.log(-np.expm1(-loss)))
    return Outputs(-loss, np.clip(odds, -SUREST, SUREST))


def with_passes(outputs: Outputs, odds: Array) -> Outputs:
    """Add T passes with dropout: the log-odds of each record's label, (records, T)."""
    p = expit(odds)
    std = deviation(p, axis=1)
    inverse = np.divide(1.0, std, out=np.full_like(std, np.inf), where=std != 0)
    found = (p.mean(axis=1), inverse, p.min(axis=1), p.max(axis=1))
    mean_p = logsumexp(log_expit(odds), axis=1) - np.log(odds.shape[1])
    statistics = dict(zip(STATISTICS, found, strict=True))
    return replace(outputs, passes=Passes(mean_p, odds.mean(axis=1), statistics))


# ---------------------------------------------------------------- predictions from a file


NUMBER, LOSS = "canary", "loss"
LETTERS = {"p": "probabilities", "z": "logits"}
COLUMNS = (
    "name the columns canary and loss, or canary and p0, p1, ... (probabilities), or canary and "
    "z0, z1, ... (logits), a canary a row"
)
ARRAYS = (
    "save it with np.savez(path, losses=...), probabilities=... or logits=..., a canary a row, and "
    "canary=... if they are in another order"
)

SUFFIXES = (".csv", ".csv.gz", ".npz")


def is_file_of(path: Path) -> bool:
    """Return whether a path is that of predictions, by its name."""
    return path.name.lower().endswith(SUFFIXES)


def read(path: str | os.PathLike[str], candidates: Candidates) -> Outputs:
    """Read the outputs on all candidates, in their order, from a .csv or .npz file."""
    file = Path(os.path.expanduser(path))
    n, y = len(candidates.records), candidates.records.y
    with add_path(file):
        if not is_file_of(file):
            text = f"predictions are a .csv or .npz file; {COLUMNS}"
            raise BadInput(text, "wrong-format", value=str(file))
        kind, values, numbers = (
            _arrays(file) if file.suffix.lower() == ".npz" else _table(csv_text.read(file))
        )
        values = _in_order(values, numbers, n)
        if (bad := np.flatnonzero(~np.isfinite(values).reshape(n, -1).all(axis=1))).size:
            text = f"its numbers for canary {excerpt(bad.tolist())} are NaN or infinite; find out "
            text += "why, since leaving them out would choose among canaries"
            raise BadInput(text, "not-finite", option=kind, value=bad[:5].tolist())
        if kind == "losses":
            return of_losses(values)
        if (given := values.shape[1]) != candidates.classes:
            text = f"it has {kind} of {given} classes, and the canaries are of {candidates.classes}"
            found = [given, candidates.classes]
            raise BadInput(text, "class-mismatch", option=kind, value=found)
        return of_logits(values, y) if kind == "logits" else of_probabilities(values, y)


def _in_order(values: Array, numbers: Array | None, n: int) -> Array:
    """Sort the rows by canary; refuse canaries that are missing, unknown or there twice."""
    if numbers is None:
        if len(values) != n:
            text = f"it has {len(values):,} rows, and there are {n:,} canaries; give one for each, "
            text += "in their order or with their numbers under canary"
            raise BadInput(text, "length-mismatch", value=[len(values), n])
        return values
    if unknown := sorted({int(i) for i in numbers if not 0 <= i < n}):
        text = f"there is no canary {excerpt(unknown)}; they are numbered from 0 to {n - 1}"
        raise BadInput(text, "unknown-canary", value=unknown[:5])
    counts = np.bincount(numbers, minlength=n)
    if (missing := np.flatnonzero(counts == 0)).size:
        text = f"{missing.size:,} of {n:,} canaries are missing ({excerpt(missing.tolist())}); "
        text += "give a row for each, since leaving some out would choose among them"
        raise BadInput(text, "missing-canaries", value=missing[:5].tolist())
    if (twice := np.flatnonzero(counts > 1)).size:
        text = f"there are several rows for canary {excerpt(twice.tolist())}"
        raise BadInput(text, "stated-twice", value=twice[:5].tolist())
    return values[np.argsort(numbers, kind="stable")]


def _table(cells: Cells) -> tuple[str, Array, Array | None]:
    """The kind of the values, the values, and the number of each row's canary."""
    refuse([cells.ragged_problem()])
    header = [name.lower() for name in cells.header]
    names = [name for name in header if name != NUMBER]
    kind = _kind(names)
    if kind is None or header.count(NUMBER) > 1 or not cells.rows:
        there = excerpt([repr(name) for name in cells.header], most=8)
        text = f"it has the columns {there}{'' if cells.rows else ' and no rows'}; {COLUMNS}"
        code = "wrong-columns" if cells.rows else "no-records"
        raise BadInput(text, code, value=cells.header[:8])
    if wrong := sorted(it for name in cells.header for it in cells.not_numbers(name)):
        cited = excerpt([f"line {line}: {cell[:40]!r}" for line, cell in wrong], most=3)
        text = f"it has cells that are no finite number ({cited})"
        shown = [(line, cell[:40]) for line, cell in wrong[:5]]
        raise BadInput(text, "not-a-number", value=shown)
    columns = dict(zip(header, np.array(cells.rows, dtype=float).T, strict=True))
    numbers = _whole(columns[NUMBER]) if NUMBER in columns else None
    if kind == "losses":
        return kind, columns[LOSS], numbers
    ordered = [columns[f"{names[0][0]}{k}"] for k in range(len(names))]
    return kind, np.stack(ordered, axis=1), numbers


def _kind(names: Sequence[str]) -> str | None:
    if names == [LOSS]:
        return "losses"
    for letter, kind in LETTERS.items():
        if names and sorted(names) == sorted(f"{letter}{k}" for k in range(len(names))):
            return kind
    return None


def _whole(numbers: Array) -> Array:
    if not (np.isfinite(numbers).all() and (np.trunc(numbers) == numbers).all()):
        text = "canaries are numbered by whole numbers from 0 on"
        raise BadInput(text, "not-whole", option=NUMBER)
    return np.clip(numbers, -1, 2**53).astype(np.int64)


def _arrays(file: Path) -> tuple[str, Array, Array | None]:
    """The kind of the values, the values, and the number of each row's canary."""
    kinds = ("losses", *LETTERS.values())
    found, there = npz.read_arrays(file, (*kinds, NUMBER), ARRAYS)
    kind, *others = [name for name in kinds if name in found] or [""]
    if not kind or others:
        has = excerpt([repr(name) for name in there], most=8) or "nothing"
        code = "excluded-arrays" if others else "missing-arrays"
        raise BadInput(f"it has {has}; {ARRAYS}", code, value=there[:8])
    values, numbers = found[kind], found.get(NUMBER)
    axes = 1 if kind == "losses" else 2
    if values.ndim != axes or values.dtype.kind not in "biuf" or values.size == 0:
        text = f"{kind} must have {axes} {'axis' if axes == 1 else 'axes'} of numbers, not "
        text += f"{values.dtype} of shape {values.shape}; {ARRAYS}"
        raise BadInput(text, "wrong-shape", option=kind, value=values.shape)
    if numbers is not None:
        if numbers.shape != values.shape[:1] or numbers.dtype.kind not in "iuf":
            text = f"canary must have a number for each of the {len(values):,} rows"
            raise BadInput(text, "length-mismatch", option=NUMBER, value=numbers.shape)
        numbers = _whole(numbers.astype(np.float64))
    return kind, values.astype(np.float64), numbers
