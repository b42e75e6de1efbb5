"""Trade-off curves that an estimator can refute: what is the most that one allows?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scipy.special import ndtr, ndtri

from dpaudit.accounting import gaussian_epsilon


class TradeOff(Protocol):
    """A trade-off curve f: the least false-negative rate at each false-positive rate."""

    def inv(self, r: float) -> float:
        """The inverse of 1 - f: the least false-positive rate at which f allows a power of r."""
        ...

    def epsilon(self, delta: float) -> float:
        """The epsilon of the curve at delta."""
        ...


@dataclass(frozen=True)
class GaussianTradeOff:
    """The curve of mu-GDP, f(x) = Phi(Phi^-1(1-x) - mu). Dong, Roth and Su 2022."""

    mu: float

    def inv(self, r: float) -> float:
        return float(ndtr(ndtri(r) - self.mu))

    def epsilon(self, delta: float) -> float:
        return gaussian_epsilon(self.mu, delta) if self.mu > 0 else 0.0
