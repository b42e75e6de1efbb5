"""The estimators of `privacy-estimates`, where it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from dpaudit.results import Counts

METHODS = {"clopper-pearson": "beta", "jeffreys": "jeffreys", "joint-beta": "joint-beta"}
"""Its names by those of this package."""

A = 0.05


def beside(c: Counts, delta: float) -> dict[str, Callable[[], float]]:
    """Its one-sided bounds on the same counts; none without it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its docstrings have escapes that Python warns of
            import privacy_estimates
    except ImportError:
        return {}
    counts = privacy_estimates.AttackResults(FN=c.fn, FP=c.fp, TN=c.out - c.fp, TP=c.inn - c.fn)

    def bound(method: str) -> Callable[[], float]:
        return lambda: float(privacy_estimates.compute_eps_lo(counts, delta, A, method))

    return {name: bound(method) for name, method in METHODS.items()}
