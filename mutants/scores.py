"""Scores of the updates that are seen, for flaws that their likelihood ratio does not show best.

Each is fixed before anything is trained, and needs no more than the code of the trainer.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from dpaudit.attacks import Statistic, ThresholdAttack
from dpaudit.types import Array, Known, Observations


def _by_epoch(seen: Observations, known: Known) -> Array:
    """(trials, epochs, steps of an epoch)"""
    u = np.asarray(seen["updates"], dtype=np.float64)
    return u.reshape(len(u), -1, int(known["epoch"]))


def _range(seen: Observations, known: Known) -> Array:
    u = np.asarray(seen["updates"], dtype=np.float64)
    return np.asarray(np.ptp(u, axis=1))


def _quiet(seen: Observations, known: Known) -> Array:
    return np.asarray(_by_epoch(seen, known)[:, :, 1:].max(axis=(1, 2)))


def _once_an_epoch(seen: Observations, known: Known) -> Array:
    """The log-likelihood ratio where all other records point against g*, each by a clip norm.

    In D all batches are full but the last of an epoch, which lacks one. In D' all are full, and
    in one of them, any of m, the canary has the place of another record: the sum is 2 larger there,
    and 1 smaller in the last batch. So the updates v of an epoch, less those of D, have the means
    S_j where the canary is in batch j, and their ratio is the mean of exp((v S_j - |S_j|^2/2)/s^2).
    """
    u, s = _by_epoch(seen, known), float(known["noise_multiplier"])
    m = u.shape[2]
    last = np.arange(m) == m - 1
    v = u + float(known["batch"]) - last
    S = 2.0 * np.eye(m) - last
    ratios = (v @ S.T - (S**2).sum(axis=1) / 2) / s**2
    return np.asarray((logsumexp(ratios, axis=2) - np.log(m)).sum(axis=1))


class Range(ThresholdAttack):
    """How far updates differ: noise that is the same in all of them cancels."""

    def __init__(self) -> None:
        super().__init__(Statistic("range of updates", frozenset({"updates"}), _range))


class Quiet(ThresholdAttack):
    """The largest of all updates but the first of each epoch, which alone may have noise."""

    def __init__(self) -> None:
        super().__init__(Statistic("largest later update", frozenset({"updates"}), _quiet))


class OnceAnEpoch(ThresholdAttack):
    """How likely it is that every epoch has the canary in one of its batches, all of one size."""

    def __init__(self) -> None:
        super().__init__(Statistic("once an epoch", frozenset({"updates"}), _once_an_epoch))
