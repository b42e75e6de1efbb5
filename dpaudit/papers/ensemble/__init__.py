"""Private learners of several organisations, and their aggregate. Exact where it can be.

Read `rows.py` for what is learned from, `logistic.py` for the minimum, `perturbation.py` for noise
and what it gives away, `aggregation.py` for the weights and `organisations.py` for who exchanges
what; `sources.py` and `experiment.py` are the paper's experiments.
"""

from __future__ import annotations

from dpaudit.papers.ensemble.aggregation import Aggregate, Exchange, Organisation, Weighting
from dpaudit.papers.ensemble.logistic_regression import (
    Noise,
    ObjectivePerturbation,
    OutputPerturbation,
    minimised,
)
from dpaudit.papers.ensemble.unit_rows import Rows, clipped, normalised, with_intercept

__all__ = [
    "Aggregate",
    "Exchange",
    "Noise",
    "ObjectivePerturbation",
    "Organisation",
    "OutputPerturbation",
    "Rows",
    "Weighting",
    "clipped",
    "minimised",
    "normalised",
    "with_intercept",
]
