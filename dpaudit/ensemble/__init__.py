"""Private learners of several organisations, and their aggregate. Exact where it can be.

Read `rows.py` for what is learned from, `logistic.py` for the minimum, `perturbation.py` for noise
and what it gives away, `aggregation.py` for the weights and `organisations.py` for who exchanges
what; `sources.py` and `experiment.py` are the paper's experiments.
"""

from dpaudit.ensemble.aggregation import Aggregate, Weighting
from dpaudit.ensemble.logistic import minimised
from dpaudit.ensemble.organisations import Exchange, Organisation
from dpaudit.ensemble.perturbation import Noise, ObjectivePerturbation, OutputPerturbation
from dpaudit.ensemble.rows import Rows, clipped, normalised, with_intercept

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
