"""Scores in pairs: paired AUC."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import binom

from dpaudit.accounting.curves import Family
from dpaudit.estimators import PairedAUC
from dpaudit.estimators.power.needed import least
from dpaudit.estimators.power.truth import Truth, located
from dpaudit.rates import upper_rate
from dpaudit.types import Assumption, Scores


@dataclass(frozen=True)
class Paired:
    """Lost pairs are binomial: the chance is exact."""

    estimator: PairedAUC
    assumed: Family
    truth: Truth
    name: str = "paired-auc"

    @property
    def assumption(self) -> Assumption:
        return self.assumed.assumption

    @cached_property
    def lost(self) -> float:
        """How often the in-trial of a pair scores lower, if the score is the best there is."""
        return 1 - self.truth.curves.area(self.truth.parameter)

    @cached_property
    def claimed(self) -> float:
        """How often at least, if the claim held."""
        return 1 - self.assumed.area(located(self.assumed, self.truth.claim, self.truth.delta))

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, n, self.truth.delta)

    def typical(self, n: int) -> float:
        inn = np.where(np.arange(n) < int(binom.median(n, self.lost)), -1.0, 1.0)
        return self.estimator.bound(Scores(np.zeros(n), inn), self.truth.delta).epsilon

    def chance(self, n: int) -> float:
        if not self.ceiling(n) > self.truth.claim:
            return 0.0
        too_many = least(lambda k: bool(upper_rate(k, n, self.truth.a) >= self.claimed), n, start=0)
        return float(binom.cdf(n if too_many is None else too_many - 1, n, self.lost))
