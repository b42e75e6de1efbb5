"""Measure the utility of outputs on test records, before a defence and behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.journal import Journal
from dpaudit.outputs import NO_LABEL, labels_of, with_statistics
from dpaudit.protocols import Defence
from dpaudit.seeds import row_seeds
from dpaudit.types import OWN, Array, Known, Observations

LABELLED_BY = {"mc": "mean", "probabilities": "probabilities"}
"""Outputs on test records (`test_mc`, `test_probabilities`), and the array that gives the label."""

BINS = 15
"""Equally wide bins of confidence, as in Guo, Pleiss, Sun and Weinberger (2017)."""

LEAST = 1e-6
"""The smallest probability of a right label in the likelihood, which 0 would make infinite."""


@dataclass(frozen=True)
class Utility:
    """The utility of outputs: means over models of measures on test records.

    A record is undecidable if no single class is the largest; that counts as an error. A
    measure is None where it is not defined: calibration and likelihood if only labels are
    released, those of the std (its correlation with the undefended std, over records and classes,
    and its mean absolute change) without a std, and the correlation also if a std never varies.
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
    """Return the models' utility behind a defence; None if it cannot be measured."""
    labels = known.get("test_y")
    if labels is None:
        return None
    found: list[dict[str, float]] = []
    records, confident = 0, False
    for name, outputs in _test_outputs(journal, len(labels)):
        kept = with_statistics(defence.protect(outputs))
        if LABELLED_BY[name] not in kept:
            return None
        p = np.asarray(kept[LABELLED_BY[name]], dtype=np.float64)
        right = labels[: len(p)]
        found.append(_measures(p, right) | _std_measures(outputs.get("std"), kept.get("std")))
        records = max(records, len(p))
        confident |= not np.isin(p, (0, 1)).all()
    if not found:
        return None
    means = {}
    for name in ("accuracy", "undecidable", *CONFIDENCE_MEASURES, "std_correlation", "std_change"):
        values = [measures[name] for measures in found if name in measures]
        if values and (confident or name not in CONFIDENCE_MEASURES):
            means[name] = float(np.mean(values))
    return Utility(models=len(found), records=records, **means)


CONFIDENCE_MEASURES = ("calibration_error", "negative_log_likelihood")


def _measures(p: Array, labels: Array) -> dict[str, float]:
    """Return the measures of one model's outputs."""
    given = labels_of(p)
    right, scaled = given == labels, distributions(p)
    return {
        "accuracy": float(right.mean()),
        "undecidable": float(np.mean(given == NO_LABEL)),
        "calibration_error": calibration_error(scaled, right),
        "negative_log_likelihood": negative_log_likelihood(scaled, labels),
    }


def _std_measures(before: Array | None, after: Array | None) -> dict[str, float]:
    """Return the correlation of the std behind a defence with that before, and its mean change."""
    if before is None or after is None:
        return {}
    there = np.isfinite(before) & np.isfinite(after)
    x, y = before[there], np.asarray(after, dtype=np.float64)[there]
    if not x.size:
        return {}
    varies = x.min() < x.max() and y.min() < y.max()
    correlation = {"std_correlation": float(np.corrcoef(x, y)[0, 1])} if varies else {}
    return {**correlation, "std_change": float(np.abs(y - x).mean())}


def calibration_error(p: Array, right: Array) -> float:
    """Return the distance of confidence from accuracy, over bins by their share of records.

    sum over bins of share * |accuracy - mean confidence|; confidence is the largest probability.
    """
    confidence = p.max(axis=-1)
    bin_of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bin_of, right - confidence, BINS)
    return float(np.abs(gaps).sum() / len(p))


def negative_log_likelihood(p: Array, labels: Array) -> float:
    """Return the mean of -ln p(right label), in nats."""
    given = p[np.arange(len(p)), labels]
    return float(-np.log(np.maximum(given, LEAST)).mean())


def distributions(outputs: Array) -> Array:
    """Scale rows to add up to 1; a row of zeros, or with values that are no numbers, is uniform."""
    p = np.clip(outputs, 0, None)
    with np.errstate(invalid="ignore"):
        total = p.sum(axis=-1, keepdims=True)
    whole = np.isfinite(total) & (total > 0)
    scaled: Array = np.divide(p, total, out=np.full_like(p, 1 / p.shape[-1]), where=whole)
    return scaled


def _test_outputs(journal: Journal, most: int) -> Iterator[tuple[str, Observations]]:
    """Yield each model's outputs on the test records, one row a record, with their kind."""
    for name, axes in (("mc", 3), ("probabilities", 2)):
        found = False
        for model, array in enumerate(journal.arrays(f"test_{name}")):
            if array.ndim != axes or not 0 < array.shape[-2] <= most:
                text = (
                    f"test_{name} must be about at most {most} test records on {axes} axes, "
                    f"not of shape {array.shape}"
                )
                raise BadInput(text, "shape-mismatch", option=f"test_{name}", value=array.shape)
            found = True
            if name == "mc":  # a network that releases T passes is as useful as those T
                array = array[: journal.settings.get("samples")]
            rows = (("test", model, record) for record in range(array.shape[-2]))
            numbers = row_seeds(journal.settings["seed"], rows)
            yield name, {**with_statistics({name: np.moveaxis(array, -2, 0)}), OWN: numbers}
        if found:
            return
