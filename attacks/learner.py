"""A private learner that was released, as likely with one record as with the other."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.types import Array, Known, Observations


def _score(seen: Observations, known: Known) -> Array:
    return np.asarray(seen["leaning"], dtype=np.float64)


class Learner(FixedAttack):
    """Says D' if a released learner is likelier with its record, or an aggregate leans towards it.

    For private ensembles. Of one organisation's learner it is the exact log-likelihood ratio, the
    best score there is (Neyman and Pearson 1933), because who knows the records knows the density
    of the learner. Of an aggregate, in which that is lost, it is how much nearer it is to what D'
    would make of it without noise than to what D would. Nothing is chosen: score and rule are fixed
    before the first learner, so that all of them judge.
    """

    def __init__(self) -> None:
        super().__init__("learner", Statistic("score", frozenset({"leaning"}), _score))
