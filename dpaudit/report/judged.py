"""The scores that figures are drawn from: what each attack made of the judged trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.results import Bound, Report, Scores
from dpaudit.types import Array

NO_NUMBER = float(np.finfo(np.float64).min)
"""Stands for a score that is not a number: it ranks below all others."""


@dataclass(frozen=True)
class Judged:
    """One attack's scores, the cut above which its rule says D', and its bound."""

    attack: str
    scores: Scores
    cut: float | None
    bound: Bound


def judged(report: Report) -> list[Judged]:
    """The deciding attack, then the others in their order; each attack once."""
    if report.evidence is None:
        return []
    of = list(zip(report.bounds, report.evidence.scores, report.evidence.cuts, strict=True))
    order = [report.primary, *(i for i in range(len(of)) if i != report.primary)]
    found: dict[str, Judged] = {}
    for bound, scores, cut in (of[i] for i in order):
        clean = Scores(_numbers(scores.out), _numbers(scores.inn))
        if clean.out.size and clean.inn.size:
            found.setdefault(bound.attack, Judged(bound.attack, clean, cut, bound))
    return list(found.values())


def _numbers(scores: Array) -> Array:
    x = np.asarray(scores, dtype=np.float64).ravel()
    return np.where(np.isnan(x), NO_NUMBER, x)
