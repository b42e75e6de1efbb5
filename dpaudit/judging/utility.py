"""What outputs on test records are good for: before a defence, and behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.journal import Journal
from dpaudit.outputs import NO_LABEL, labels_of, with_statistics
from dpaudit.protocols import Defence
from dpaudit.seeds import row_seeds
from dpaudit.types import OWN, Array, Known, Observations

LABELLED_BY = {"mc": "mean", "probabilities": "probabilities"}
"""Outputs on test records (`test_mc`, `test_probabilities`), and what of them gives the label."""

BINS = 15
"""Of confidence, equally wide: those of Guo, Pleiss, Sun and Weinberger (2017)."""

LEAST = 1e-6
"""What a right label counts for at least in the likelihood, which one 0 would make infinite."""


@dataclass(frozen=True)
class Utility:
    """How good the outputs still are: means over models of measures on test records.

    A record is undecidable where no single class is the largest; that counts as an error. What
    follows is None where it is not defined: calibration and likelihood where nothing but labels
    is released; the std's correlation with the undefended std, over records and classes, and its
    mean absolute change, where there is no std, and the former where a std never varies.
    """

    accuracy: float
    undecidable: float
    models: int
    records: int
    calibration_error: float | None = None
    negative_log_likelihood: float | None = None
    std_correlation: float | None = None
    std_change: float | None = None


def utility(journal: Journal, known: Known, defence: Defence) -> Utility | None:
    """What a defence leaves of the models' use; None where they were not asked for it."""
    labels = known.get("test_y")
    if labels is None:
        return None
    found: list[_OfModel] = []
    records, confident = 0, False
    for name, outputs in _test_outputs(journal, len(labels)):
        kept = with_statistics(defence.protect(outputs))
        if LABELLED_BY[name] not in kept:
            return None
        said = np.asarray(kept[LABELLED_BY[name]], dtype=np.float64)
        found.append(_of_model(said, labels[: len(said)], outputs.get("std"), kept.get("std")))
        records = max(records, len(said))
        confident |= not np.isin(said, (0, 1)).all()
    if not found:
        return None
    return Utility(
        accuracy=float(np.mean([one.accuracy for one in found])),
        undecidable=float(np.mean([one.undecidable for one in found])),
        models=len(found),
        records=records,
        calibration_error=_mean(one.calibration_error for one in found) if confident else None,
        negative_log_likelihood=_mean(one.likelihood for one in found) if confident else None,
        std_correlation=_mean(one.std_correlation for one in found),
        std_change=_mean(one.std_change for one in found),
    )


def calibration_error(p: Array, right: Array) -> float:
    """How far confidence is from accuracy, over bins of confidence by the share of records.

    sum over bins of share * |accuracy - mean confidence|; confidence is the largest probability.
    """
    confidence = p.max(axis=-1)
    bin_of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bin_of, right - confidence, BINS)
    return float(np.abs(gaps).sum() / len(p))


def negative_log_likelihood(p: Array, labels: Array) -> float:
    """The mean of -ln p(right label), in nats."""
    given = p[np.arange(len(p)), labels]
    return float(-np.log(np.maximum(given, LEAST)).mean())


def distributions(outputs: Array) -> Array:
    """Rows scaled to add up to 1; one that holds nothing, or no numbers, says nothing: uniform."""
    p = np.clip(outputs, 0, None)
    with np.errstate(invalid="ignore"):
        total = p.sum(axis=-1, keepdims=True)
    whole = np.isfinite(total) & (total > 0)
    scaled: Array = np.divide(p, total, out=np.full_like(p, 1 / p.shape[-1]), where=whole)
    return scaled


@dataclass(frozen=True)
class _OfModel:
    accuracy: float
    undecidable: float
    calibration_error: float
    likelihood: float
    std_correlation: float | None
    std_change: float | None


def _of_model(said: Array, labels: Array, before: Array | None, after: Array | None) -> _OfModel:
    given = labels_of(said)
    right, p = given == labels, distributions(said)
    correlation, change = _uncertainty(before, after)
    return _OfModel(
        accuracy=float(right.mean()),
        undecidable=float(np.mean(given == NO_LABEL)),
        calibration_error=calibration_error(p, right),
        likelihood=negative_log_likelihood(p, labels),
        std_correlation=correlation,
        std_change=change,
    )


def _uncertainty(before: Array | None, after: Array | None) -> tuple[float | None, float | None]:
    """Of the std behind a defence: its correlation with the std before, and its mean change."""
    if before is None or after is None:
        return None, None
    there = np.isfinite(before) & np.isfinite(after)
    x, y = before[there], np.asarray(after, dtype=np.float64)[there]
    if not x.size:
        return None, None
    change = float(np.abs(y - x).mean())
    varies = x.min() < x.max() and y.min() < y.max()
    return float(np.corrcoef(x, y)[0, 1]) if varies else None, change


def _mean(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _test_outputs(journal: Journal, most: int) -> Iterator[tuple[str, Observations]]:
    """What each model that was asked says of the test records, one row a record, and its kind."""
    for name, axes in (("mc", 3), ("probabilities", 2)):
        found = False
        for model, array in enumerate(journal.arrays(f"test_{name}")):
            if array.ndim != axes or not 0 < array.shape[-2] <= most:
                raise BadInput(
                    f"test_{name} must be about at most {most} test records on {axes} axes, "
                    f"not of shape {array.shape}",
                    "shape-mismatch",
                    option=f"test_{name}",
                    value=array.shape,
                )
            found = True
            if name == "mc":  # a network that releases T passes has no more to be useful by
                array = array[: journal.settings.get("samples")]
            rows = (("test", model, record) for record in range(array.shape[-2]))
            numbers = row_seeds(journal.settings["seed"], rows)
            yield name, {**with_statistics({name: np.moveaxis(array, -2, 0)}), OWN: numbers}
        if found:
            return
