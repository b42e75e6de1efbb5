"""LearningFirst: a trained network whose parameters are released with Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.laplace.canary import world_rows
from dpaudit.papers.laplace.noise import PROMISES, UNITS, NoisyNumbers, leak
from dpaudit.papers.laplace.training import NETWORK_SETTINGS, Perceptron, Thresholds, train
from dpaudit.protocols import repr_of
from dpaudit.types import IN, OUT, About, Array, Backend, Claim, Data, Observation, Pair

PARAMETERS = 100
"""Number of parameters that a record shifts if nothing is trained."""


@dataclass(frozen=True)
class WorstCase:
    """Parameters that a record shifts by a part of their range.

    Without a shift, a network is trained.
    """

    shift: float | None = None
    parameters: int | None = None

    def __post_init__(self) -> None:
        shift, parameters = self.shift, self.parameters
        checks.refuse(
            [
                None if shift is None else checks.in_range("shift", shift, 0, 1, ends="(]"),
                None if parameters is None else checks.whole("parameters", parameters, 1, 100_000),
            ]
        )
        if parameters is not None and shift is None:
            problem = "a trained network has its own parameters; give shift, or no parameters"
            raise BadInput(problem, "no-effect", option="parameters", value=parameters)


class LaplaceLearningFirst(NoisyNumbers):
    """A network trained as usual and released with Laplace noise on each parameter.

    ReLU inside, softmax and cross-entropy at the end. Weights and biases are clipped to thresholds
    during training. Each is released as min(max, max(min, w + Lap(b))) with independent noise, b =
    (max - min)/epsilon. The initial parameters and the batches are public, and the same in both
    worlds.

    The claim (Theorem 3) is epsilon for each parameter: the distribution of every single one
    changes by at most e^epsilon if one record is replaced. `unit=parameter` audits this claim, on
    the parameter that the canary moves most. It holds.

    The flaw: it is not a claim about the model. The noise is independent, so the leaks of all
    parameters add up: the sum over all of |w - w'| epsilon/(max - min), at most (number of
    parameters) epsilon. `unit=model` (the default) reads the theorem as a claim about the whole
    model, as a publisher must. The log-likelihood ratio of all parameters together refutes it.
    `promise=composed` claims d epsilon, by composition; that holds, but is far too large.

    weights, biases: the thresholds, LOW,HIGH, chosen without the data. hidden, width: the number of
    hidden layers, and of nodes in each (the paper contradicts itself about the number of layers).
    decay: lambda, of (5). shift: train nothing; the record moves each of the `parameters` (100 by
    default) by this part of its range, the worst case.

    Sei and Ohsuga, Privacy-Preserving Publication of Deep Neural Networks (2016; its report is in
    Japanese). Lemma 1 is printed with min and max exchanged, which would release a constant.
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "replaced",
        "attacks": ("laplace",),
        "models": 2000,
    }
    trials_per_call = 250
    backend = Backend(
        "numpy", "the paper's training, one for each world; trials differ in their noise"
    )

    def __init__(
        self,
        data: Data,
        epsilon: float = 1.0,
        training: Perceptron = Perceptron(epochs=100),
        seed: int = 0,
        thresholds: Thresholds = Thresholds("-1,1", "-1,1"),
        unit: str = "model",
        promise: str = "theorem",
        worst: WorstCase = WorstCase(),
    ) -> None:
        checks.refuse(
            [
                checks.positive("epsilon", epsilon),
                checks.one_of("unit", unit, UNITS),
                checks.one_of("promise", promise, PROMISES),
            ]
        )
        self.limits = thresholds.limits()
        self.own_recipe = training.recipe(data, seed)
        self.network = self.own_recipe.network
        self.epsilon, self.unit, self.promise = epsilon, unit, promise
        self.shift, self.parameters = worst.shift, worst.parameters or PARAMETERS

    def __repr__(self) -> str:
        names = ("own_recipe", "limits", "epsilon", "unit", "promise", "shift", "parameters")
        return repr_of(self, names=names)

    @classmethod
    def unused_settings(cls, settings: Mapping[str, Any]) -> Mapping[str, str]:
        names = (*NETWORK_SETTINGS, "biases")
        why = "where shift moves parameters, all alike, and nothing is trained"
        return {} if settings["shift"] is None else dict.fromkeys(names, why)

    @property
    def _count(self) -> int:
        return self.network.parameters if self.shift is None else self.parameters

    @cached_property
    def claim(self) -> Claim:
        """The claim of Theorem 3 for each parameter, read for the chosen unit."""
        together = self._count * self.epsilon if self.unit == "model" else self.epsilon
        source = "Theorem 3 of Sei and Ohsuga"
        if self.unit == "model" and self.promise == "theorem":
            source += ", read for the model"
        composed = self.promise == "composed"
        return Claim(
            epsilon=together if composed else self.epsilon,
            delta=0.0,
            unit=UNITS[self.unit],
            adjacency="replace",
            source="composition over all parameters" if composed else source,
            beside={} if composed or self.unit == "parameter" else {"composition": together},
            trials="releases",
        )

    def about(self, pair: Pair) -> About:
        adversary = "has all released parameters, and knows those without noise in either world"
        leaks = "all parameters together leak"
        if self.unit == "parameter":
            adversary = (
                "has the released parameter that the canary moves most, and knows it without noise "
                "in either world"
            )
            leaks = "this parameter leaks"
        return About(
            adversary=f"observer: {adversary}",
            deployment=f"Between these two worlds {leaks} exactly epsilon "
            f"{leak(self.known(pair)):.4g}. Anyone who has the released model and knows the other "
            "records can show this leak.",
            breaks="The theorem is about single parameters, but the model has all of them: dpaudit "
            "explain laplace-learning-first. Claim what composition allows (--set "
            "promise=composed), or train with DP-SGD, whose claim is about the model.",
        )

    def exact(self, pair: Pair) -> tuple[Array, ...]:
        """Return the parameters of either world without noise."""
        if self.shift is None:
            low, high = self.limits.of(self.network)
            worlds = (world_rows(pair, world) for world in (OUT, IN))
            out, inn = (train(self.own_recipe, *rows, self.limits) for rows in worlds)
        else:
            low, high = (np.full(self.parameters, end) for end in self.limits.weights)
            apart = self.shift * (high - low)
            # From the middle of the range upwards, as far as there is room.
            out = np.minimum((low + high) / 2, high - apart)
            inn = out + apart if pair.canary.inserted else out
        found = (out, inn, low, high, (high - low) / self.epsilon)
        if self.unit == "model":
            return found
        most = np.argmax(np.abs(out - inn))
        return tuple(numbers[[most]] for numbers in found)

    def network_parameters(self, released: Array) -> Array | None:
        """Return what is released, if that is a whole network."""
        return None if self.unit == "parameter" or self.shift is not None else released

    def example(self) -> Observation:
        return {"noisy": np.zeros(self._count if self.unit == "model" else 1)}
