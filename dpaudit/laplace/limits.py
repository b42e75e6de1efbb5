"""Thresholds of weights and biases, which must be chosen without a look at the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.laplace.network import Network
from dpaudit.types import Array


@dataclass(frozen=True)
class Limits:
    """The least and the largest value of a weight and of a bias; or of what changes one."""

    weights: tuple[float, float]
    biases: tuple[float, float]

    def __post_init__(self) -> None:
        for name, (low, high) in (("weights", self.weights), ("biases", self.biases)):
            if not (math.isfinite(low) and math.isfinite(high) and low <= 0 <= high and low < high):
                raise BadInput(
                    f"the limits of {name} must be two numbers, the first at most 0, the second "
                    f"at least 0, and not both 0; not {low:g} and {high:g}",
                    "out-of-range",
                    option=name,
                    value=(low, high),
                )

    @classmethod
    def read(cls, weights: str, biases: str) -> Limits:
        """From texts such as -1,1."""
        return cls(_two("weights", weights), _two("biases", biases))

    def of(self, network: Network) -> tuple[Array, Array]:
        """The limits of every parameter of a network, low and high."""
        is_bias = network.is_bias
        low, high = (
            np.where(is_bias, self.biases[end], self.weights[end]).astype(np.float64)
            for end in (0, 1)
        )
        return low, high


def _two(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise BadInput(
            f"'{text}' of {name} is not LOW,HIGH, such as -1,1",
            "malformed",
            option=name,
            value=text,
        ) from None
    return low, high
