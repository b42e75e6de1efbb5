"""The last-iterate heuristic: what the sum of all noisy steps shows of one record.

Whoever sees only the final model sees no single step. If the record moved every step that samples
it alike, and parameters were the sum of all steps, its two worlds would be Bin(T, q) + N(0, s^2 T)
and N(0, s^2 T), in units of the clip norm. This is a heuristic and no bound: a network is not
linear, so that the final model may show more.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dpaudit.types import Array, DPSGDCurve

WIDE = 40.0
"""Deviations of Bin(T, q) beyond which there is next to nothing."""


def last_iterate_epsilon(curve: DPSGDCurve, delta: float) -> float:
    """Return the larger epsilon at `delta` of the two directions of that pair; `delta` > 0."""
    from scipy.optimize import brentq

    pair = _Pair(curve)
    if pair.delta(0.0) <= delta:
        return 0.0
    high = 1.0
    while pair.delta(high) > delta:
        high *= 2
    return float(brentq(lambda e: pair.delta(e) - delta, 0.0, high, xtol=1e-10))


class _Pair:
    """A mixture of Gaussians by number of sampled steps, against the Gaussian of no step.

    The ratio of their densities rises with the release, so that the best test is a threshold.
    """

    def __init__(self, curve: DPSGDCurve) -> None:
        from scipy.stats import binom

        q, steps = curve.sample_rate, curve.steps
        middle, reach = steps * q, WIDE * (math.sqrt(steps * q * (1 - q)) + 1)
        self.counts = np.arange(max(0, int(middle - reach)), min(steps, int(middle + reach)) + 1)
        self.log_weights = binom.logpmf(self.counts, steps, q)
        self.deviation = curve.noise_multiplier * math.sqrt(steps)

    def delta(self, epsilon: float) -> float:
        """Return the larger hockey-stick divergence of the two directions."""
        return max(self._of_in(epsilon), self._of_out(epsilon))

    def _of_in(self, epsilon: float) -> float:
        """Return P(x > t) - e^epsilon Q(x > t), where the ratio P/Q is e^epsilon at t."""
        t = self._where(epsilon)
        above = float(logsumexp(self.log_weights + log_ndtr((self.counts - t) / self.deviation)))
        return math.exp(above) - math.exp(epsilon + float(log_ndtr(-t / self.deviation)))

    def _of_out(self, epsilon: float) -> float:
        """Return Q(x < t) - e^epsilon P(x < t), where the ratio P/Q is e^-epsilon at t."""
        if self._log_ratio(-math.inf) >= -epsilon:
            return 0.0  # no release is so much likelier without the record
        t = self._where(-epsilon)
        below = float(logsumexp(self.log_weights + log_ndtr((t - self.counts) / self.deviation)))
        return math.exp(float(log_ndtr(t / self.deviation))) - math.exp(epsilon + below)

    def _where(self, log_ratio: float) -> float:
        """Return the release at which the log of the ratio of densities has this value."""
        from scipy.optimize import brentq

        low, high, step = 0.0, 0.0, self.deviation
        while self._log_ratio(low) > log_ratio:
            low, step = low - step, 2 * step
        step = self.deviation
        while self._log_ratio(high) < log_ratio:
            high, step = high + step, 2 * step
        if low == high:
            return low
        return float(brentq(lambda x: self._log_ratio(x) - log_ratio, low, high, rtol=1e-14))

    def _log_ratio(self, x: float) -> float:
        """Return ln(P/Q) at a release."""
        if math.isinf(x):
            return float(self.log_weights[0]) if self.counts[0] == 0 else -math.inf
        shifts: Array = self.counts * (x - self.counts / 2) / self.deviation**2
        return float(logsumexp(self.log_weights + shifts))
