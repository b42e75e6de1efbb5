"""What a model says of each record's own label, whatever form it is told in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp

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
