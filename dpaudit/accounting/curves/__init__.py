"""Families of trade-off curves with one unknown parameter, from no leak to any leak.

A curve f says how well two worlds can be told apart at best: at a false-positive rate of x no
attack has a false-negative rate below f(x) (Dong, Roth and Su 2022). Estimators refute the
members of a family one by one, from the least leaking on; that all members are ordered, and
that sampling from them with the same random numbers keeps the order, is what a family promises.
"""

from dpaudit.accounting.curves.dpsgd import DPSGD, DPSGDSteps, symmetrised
from dpaudit.accounting.curves.families import (
    Family,
    Gaussian,
    Numbers,
    Pure,
    first_above,
    last_refuted,
    margin,
    refuse_zero,
)
from dpaudit.accounting.curves.named import family, stated, within_reach

__all__ = [
    "DPSGD",
    "DPSGDSteps",
    "Family",
    "Gaussian",
    "Numbers",
    "Pure",
    "family",
    "first_above",
    "last_refuted",
    "margin",
    "refuse_zero",
    "stated",
    "symmetrised",
    "within_reach",
]
