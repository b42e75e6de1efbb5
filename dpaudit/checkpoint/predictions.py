"""What a model says of each record's own label, whatever form it is told in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp

from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checks import listed
from dpaudit.data import csv_text, npz
from dpaudit.data.csv_text import number
from dpaudit.errors import BadInput
from dpaudit.outputs import deviation
from dpaudit.types import Array

SUREST = 700.0
"""Largest log-odds: what is beyond is a probability of 0 or 1 in double precision."""

STATISTICS = ("mean", "inv_std", "min", "max")
"""Of the probabilities in several passes with dropout."""


@dataclass(frozen=True)
class Passes:
    """Of each record, in T passes with dropout: the logarithm of its label's mean probability, the
    mean of its log-odds, and statistics of the T probabilities.
    """

    log_p: Array
    log_odds: Array
    statistics: Mapping[str, Array]


@dataclass(frozen=True)
class Outputs:
    """Of each record the logarithm of its label's probability, and of its odds; dropout off."""

    log_p: Array
    log_odds: Array
    passes: Passes | None = None
    """With dropout on, where the model was asked so."""

    @property
    def statistics(self) -> Mapping[str, Array]:
        """Of the passes with dropout; empty: there were none."""
        return {} if self.passes is None else self.passes.statistics


def label_odds(z: Array, y: Array) -> Array:
    """The log-odds of each record's label from logits (..., records, classes).

    From the logits themselves: a probability near 1 has lost its digits.
    """
    z = np.asarray(z, dtype=np.float64)
    others = np.where(np.arange(z.shape[-1]) == y[:, None], -np.inf, z)
    odds: Array = z[..., np.arange(len(y)), y] - logsumexp(others, axis=-1)
    return np.clip(odds, -SUREST, SUREST)


def of_logits(z: Array, y: Array) -> Outputs:
    """Of rows of logits, one a record."""
    z = np.asarray(z, dtype=np.float64)
    return Outputs(log_softmax(z, axis=1)[np.arange(len(y)), y], label_odds(z, y))


def of_probabilities(p: Array, y: Array, where: str) -> Outputs:
    """Of rows that add up to 1."""
    p = np.asarray(p, dtype=np.float64)
    if p.min() < 0 or np.abs(p.sum(axis=1) - 1).max() > 1e-3:
        raise BadInput(
            f"{where}: its probabilities are none (they must be at least 0 and add up to 1 for "
            "each record); give logits as such",
            "not-probabilities",
            value=where,
        )
    return of_logits(np.log(np.maximum(p, np.exp(-SUREST))), y)


def of_losses(loss: Array, where: str) -> Outputs:
    """Of cross-entropies, natural logarithm."""
    loss = np.asarray(loss, dtype=np.float64)
    if loss.min() < -1e-6:
        said = f"a loss of {loss.min():g} is below 0; give cross-entropies"
        raise BadInput(f"{where}: {said}", "negative-loss", value=float(loss.min()))
    loss = np.clip(loss, np.exp(-SUREST), None)
    # ln(p/(1-p)) of p = e^-loss
    odds = -(loss + np.log(-np.expm1(-loss)))
    return Outputs(-loss, np.clip(odds, -SUREST, SUREST))


def with_passes(outputs: Outputs, odds: Array) -> Outputs:
    """With what T passes with dropout say: the log-odds of each record's label, (records, T)."""
    p = expit(odds)
    std = deviation(p, axis=1)
    inverse = np.divide(1.0, std, out=np.full_like(std, np.inf), where=std != 0)
    found = (p.mean(axis=1), inverse, p.min(axis=1), p.max(axis=1))
    mean_p = logsumexp(log_expit(odds), axis=1) - np.log(odds.shape[1])
    statistics = dict(zip(STATISTICS, found, strict=True))
    return replace(outputs, passes=Passes(mean_p, odds.mean(axis=1), statistics))


# ----------------------------------------------------------------
# What a model said of each canary, from a file: no model is needed, and no framework.


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
    """Whether a path is that of predictions, by its name."""
    return path.name.lower().endswith(SUFFIXES)


def read(path: str | os.PathLike[str], candidates: Candidates) -> Outputs:
    """Return the outputs for every candidate, in their order, or say what is wrong with them."""
    file = Path(os.path.expanduser(path))
    if not is_file_of(file):
        said = f"predictions are a .csv or .npz file; {COLUMNS}"
        raise BadInput(f"{file}: {said}", "wrong-format", value=str(file))
    kind, values, numbers = _archive(file) if file.suffix.lower() == ".npz" else _table(file)
    n = len(candidates.records)
    values = _in_order(file, values, numbers, n)
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values).reshape(n, -1).all(axis=1))
        raise BadInput(
            f"{file}: what it says of canary {listed(bad.tolist())} is NaN or infinite; see what "
            "became of them, since leaving them out would choose among canaries",
            "not-finite",
            option=kind,
            value=bad[:5].tolist(),
        )
    if kind == "losses":
        return of_losses(values, str(file))
    if values.shape[1] != candidates.classes:
        raise BadInput(
            f"{file}: it has {kind} of {values.shape[1]} classes, and the canaries are of "
            f"{candidates.classes}",
            "class-mismatch",
            option=kind,
            value=[values.shape[1], candidates.classes],
        )
    if kind == "logits":
        return of_logits(values, candidates.records.y)
    return of_probabilities(values, candidates.records.y, str(file))


def _in_order(file: Path, values: Array, numbers: Array | None, n: int) -> Array:
    """A row for each canary, none missing and none twice."""
    if numbers is None:
        if len(values) != n:
            raise BadInput(
                f"{file}: it has {len(values):,} rows, and there are {n:,} canaries; give one for "
                "each, in their order or with their numbers under canary",
                "length-mismatch",
                value=[len(values), n],
            )
        return values
    strange = sorted({int(i) for i in numbers if not 0 <= i < n})
    if strange:
        raise BadInput(
            f"{file}: there is no canary {listed(strange)}; they are numbered from 0 to {n - 1}",
            "unknown-canary",
            value=strange[:5],
        )
    counts = np.bincount(numbers, minlength=n)
    if (missing := np.flatnonzero(counts == 0)).size:
        raise BadInput(
            f"{file}: {missing.size:,} of {n:,} canaries are missing ({listed(missing.tolist())}); "
            "give a row for each, since leaving some out would choose among them",
            "missing-canaries",
            value=missing[:5].tolist(),
        )
    if (twice := np.flatnonzero(counts > 1)).size:
        said = f"there are several rows for canary {listed(twice.tolist())}"
        raise BadInput(f"{file}: {said}", "stated-twice", value=twice[:5].tolist())
    return values[np.argsort(numbers, kind="stable")]


# ---------------------------------------------------------------- CSV


def _table(file: Path) -> tuple[str, Array, Array | None]:
    cells = csv_text.read(file)
    if cells.ragged:
        raise BadInput(
            f"{file}: a line needs {len(cells.header)} cells, but {listed(cells.ragged, most=3)}",
            "ragged-rows",
            value=cells.ragged[:5],
        )
    header = [name.lower() for name in cells.header]
    told = [name for name in header if name != NUMBER]
    kind = _kind(told)
    if kind is None or header.count(NUMBER) > 1 or not cells.rows:
        there = listed([repr(name) for name in cells.header], most=8)
        rows = "" if cells.rows else " and no rows"
        said = f"it has the columns {there}{rows}; {COLUMNS}"
        code = "wrong-columns" if cells.rows else "no-records"
        raise BadInput(f"{file}: {said}", code, value=cells.header[:8])
    wrong = [
        (line, cell[:40])
        for line, row in zip(cells.lines, cells.rows, strict=True)
        for cell in row
        if number(cell) is None
    ]
    if wrong:
        cited = listed([f"line {line}: {cell!r}" for line, cell in wrong], most=3)
        said = f"it has cells that are no finite number ({cited})"
        raise BadInput(f"{file}: {said}", "not-a-number", value=wrong[:5])
    columns = {
        name: np.array([float(row[i]) for row in cells.rows]) for i, name in enumerate(header)
    }
    numbers = _whole(file, columns[NUMBER]) if NUMBER in columns else None
    if kind == "losses":
        return kind, columns[LOSS], numbers
    ordered = [columns[f"{told[0][0]}{k}"] for k in range(len(told))]
    return kind, np.stack(ordered, axis=1), numbers


def _kind(told: Sequence[str]) -> str | None:
    if list(told) == [LOSS]:
        return "losses"
    for letter, kind in LETTERS.items():
        if told and sorted(told) == sorted(f"{letter}{k}" for k in range(len(told))):
            return kind
    return None


def _whole(file: Path, numbers: Array) -> Array:
    if not (np.isfinite(numbers).all() and (np.trunc(numbers) == numbers).all()):
        said = "canaries are numbered by whole numbers from 0 on"
        raise BadInput(f"{file}: {said}", "not-whole", option=NUMBER)
    return np.clip(numbers, -1, 2**53).astype(np.int64)


# ---------------------------------------------------------------- npz


def _archive(file: Path) -> tuple[str, Array, Array | None]:
    wanted = ("losses", *LETTERS.values())
    found, there = npz.read_arrays(file, (*wanted, NUMBER), ARRAYS)
    kinds = [name for name in wanted if name in found]
    if len(kinds) != 1:
        has = listed([repr(name) for name in there], most=8) or "nothing"
        code = "excluded-arrays" if kinds else "missing-arrays"
        raise BadInput(f"{file}: it has {has}; {ARRAYS}", code, value=there[:8])
    values, numbers = found[kinds[0]], found.get(NUMBER)
    kind, axes = kinds[0], 1 if kinds[0] == "losses" else 2
    if values.ndim != axes or values.dtype.kind not in "biuf" or values.size == 0:
        raise BadInput(
            f"{file}: {kind} must have {axes} {'axis' if axes == 1 else 'axes'} of numbers, not "
            f"{values.dtype} of shape {values.shape}; {ARRAYS}",
            "wrong-shape",
            option=kind,
            value=values.shape,
        )
    if numbers is None:
        return kind, values.astype(np.float64), None
    if numbers.shape != values.shape[:1] or numbers.dtype.kind not in "iuf":
        said = f"canary must have a number for each of the {len(values):,} rows"
        raise BadInput(f"{file}: {said}", "length-mismatch", option=NUMBER, value=numbers.shape)
    return kind, values.astype(np.float64), _whole(file, numbers.astype(np.float64))
