"""Privacy accounting: noise and epsilon of DP-SGD, trade-off curves."""

from dpaudit.accounting.noise import (
    LEAST_NOISE,
    MOST_USES,
    NUMERICAL,
    curve,
    epsilon,
    epsilons,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    least_noise,
    noise_multiplier,
    refuse_silence,
)

__all__ = [
    "LEAST_NOISE",
    "MOST_USES",
    "NUMERICAL",
    "curve",
    "epsilon",
    "epsilons",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "least_noise",
    "noise_multiplier",
    "refuse_silence",
]
