"""Privacy accounting of DP-SGD: epsilon from noise, and noise from epsilon.

`pld` (dp-accounting) is the tightest and the default; `rdp` and `prv` are Opacus' own, for
those who must compare with what it printed. Full batches need no numerical accountant: T
Gaussian mechanisms of noise multiplier s are one of mu = sqrt(T)/s, whose epsilon is exact.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache

from dpaudit.errors import BadInput
from dpaudit.types import Curve, DPSGDCurve, GaussianCurve, StepsCurve

NUMERICAL = ("pld", "rdp", "prv")
"""Accountants for Poisson sampling, by the name that `--accountant` takes."""

INTERVAL = 1e-4
"""Coarsest grid of the privacy loss; a coarser one only raises the printed epsilon."""

MOST_STEPS, MOST_USES = 10**7, 10**5
"""Steps, and expected uses of a record, beyond which the grid takes minutes and gigabytes."""

LEAST_NOISE = 0.1
"""Below it the privacy loss is in the thousands and its grid takes gigabytes."""


def curve(noise_multiplier: float, sample_rate: float, steps: int) -> GaussianCurve | DPSGDCurve:
    """Return the trade-off curve of DP-SGD."""
    if sample_rate == 1:
        return GaussianCurve(mu=math.sqrt(steps) / noise_multiplier)
    return DPSGDCurve(sample_rate, steps, noise_multiplier)


def epsilon(c: Curve, delta: float, accountant: str = "pld") -> float:
    """Return an accountant's epsilon of a curve at `delta`; of steps, that of the training."""
    if isinstance(c, StepsCurve):
        training = curve(c.noise_multiplier, c.sample_rate, c.steps)
        return epsilon(training, delta, accountant)
    if isinstance(c, GaussianCurve):
        return gaussian_epsilon(c.mu, delta)
    refuse_silence(c.noise_multiplier)
    if c.steps > MOST_STEPS or c.sample_rate * c.steps > MOST_USES:
        raise BadInput(
            f"accounting {c.steps:,} steps at sample rate {c.sample_rate:g} takes minutes "
            f"and gigabytes; train for at most {MOST_STEPS:,} steps and {MOST_USES:,} expected "
            "uses of a record",
            "too-costly",
            option="steps",
            value=c.steps,
        )
    try:
        value = float(_ACCOUNTANTS[accountant](c, delta))
    except MemoryError as error:
        raise BadInput(
            f"accounting {c.steps:,} steps takes more memory than there is; train for fewer",
            "out-of-memory",
            option="steps",
            value=c.steps,
        ) from error
    if not math.isfinite(value):
        raise BadInput(
            f"the {accountant} accountant finds no finite epsilon for noise multiplier "
            f"{c.noise_multiplier:g} over {c.steps} steps; raise the noise multiplier",
            "no-finite-epsilon",
            option="noise_multiplier",
            value=c.noise_multiplier,
        )
    return value


def refuse_silence(noise_multiplier: float) -> None:
    """Reject next to no noise, which takes an accountant for Poisson sampling gigabytes."""
    if noise_multiplier < LEAST_NOISE:
        raise BadInput(
            f"noise multiplier {noise_multiplier:g} is next to no noise: accountants for "
            f"Poisson sampling start at {LEAST_NOISE}",
            "too-little-noise",
            option="noise_multiplier",
            value=noise_multiplier,
        )


def epsilons(curve: Curve, delta: float, accountants: Iterable[str]) -> dict[str, float]:
    """Several accountants' epsilons, without those that do not reach a number."""
    found = {}
    for accountant in accountants:
        # At the edge of their range Opacus' accountants raise whatever their numerics meet; a
        # figure that only stands beside the claim is not worth the run.
        with suppress(Exception):
            found[accountant] = epsilon(curve, delta, accountant)
    return found


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return delta(epsilon) of the Gaussian mechanism (Balle and Wang 2018, theorem 8)."""
    from scipy.special import log_ndtr, ndtr

    return float(
        ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)))
    )


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the exact epsilon of a Gaussian mechanism: the root of `gaussian_delta`."""
    from scipy.optimize import brentq

    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return float(brentq(lambda e: gaussian_delta(mu, e) - delta, 0.0, high, xtol=1e-12))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the mu of a Gaussian mechanism that spends epsilon, or hardly less, at delta."""
    from scipy.optimize import brentq

    high = 1.0
    while gaussian_epsilon(high, delta) <= epsilon:
        high *= 2
    low = high
    while gaussian_epsilon(low, delta) > epsilon:
        low /= 2
    mu = float(brentq(lambda m: gaussian_epsilon(m, delta) - epsilon, low, high, xtol=1e-12))
    # Rounding may leave it a hair above.
    return mu * (1 - 1e-9)


def noise_multiplier(
    target: float, sample_rate: float, steps: int, delta: float, accountant: str = "pld"
) -> float:
    """Return the least noise multiplier, to 4 digits, whose epsilon is at most `target`."""

    def spent(s: float) -> float:
        c = curve(s, sample_rate, steps)
        if accountant == "pld" and isinstance(c, DPSGDCurve):
            # Ten times coarser than the claim's own grid: faster, and never below it.
            return epsilon(c, delta, "pld-coarse")
        return epsilon(c, delta, accountant)

    return least_noise(target, spent)


def least_noise(target: float, spent: Callable[[float], float], most: float = 1e6) -> float:
    """Return the least noise multiplier, to 4 digits, at which at most `target` is spent."""
    low = high = 1.0
    while spent(high) > target:
        high *= 2
        if high > most:
            raise BadInput(
                f"no noise multiplier below {most:,.0f} reaches epsilon {target:g}",
                "unreachable-epsilon",
                option="epsilon",
                value=target,
            )
    while spent(low) <= target:
        if low == LEAST_NOISE:
            raise BadInput(
                f"epsilon {target:g} needs next to no noise; ask for a smaller one",
                "too-little-noise",
                option="epsilon",
                value=target,
            )
        low = max(low / 2, LEAST_NOISE)
    while high / low > 1 + 2e-4:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle) <= target else (middle, high)
    scale = 10.0 ** (3 - math.floor(math.log10(high)))
    return math.ceil(high * scale) / scale


@lru_cache(maxsize=128)
def _pld(c: DPSGDCurve, delta: float, coarsest: float = INTERVAL) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    # Every step rounds to the grid, so it has to be fine beside the loss of one step, q/s.
    interval = min(coarsest, 0.1 * c.sample_rate / c.noise_multiplier)
    once = pld.from_gaussian_mechanism(
        c.noise_multiplier,
        sensitivity=1.0,
        sampling_prob=c.sample_rate,
        value_discretization_interval=interval,
    )
    return float(once.self_compose(c.steps).get_epsilon_for_delta(delta))


@lru_cache(maxsize=128)
def _opacus(name: str, c: DPSGDCurve, delta: float) -> float:
    from opacus.accountants import create_accountant

    accountant = create_accountant(name)
    accountant.history = [(c.noise_multiplier, c.sample_rate, c.steps)]
    with warnings.catch_warnings():
        # 'Optimal order is the largest alpha': a looser bound, still a bound.
        warnings.simplefilter("ignore")
        return float(accountant.get_epsilon(delta=delta))


_ACCOUNTANTS: dict[str, Callable[[DPSGDCurve, float], float]] = {
    "pld": _pld,
    "pld-coarse": lambda c, delta: _pld(c, delta, coarsest=10 * INTERVAL),
    "rdp": lambda c, delta: _opacus("rdp", c, delta),
    "prv": lambda c, delta: _opacus("prv", c, delta),
}
