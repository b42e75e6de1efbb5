"""AnonymizedLearning: updates with Laplace noise, and the counterexample to its Theorem 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.laplace.canary import canary_place, world_rows
from dpaudit.papers.laplace.noise import EXACT, PROMISES, UNITS, stored_knowledge
from dpaudit.papers.laplace.training import (
    NETWORK_SETTINGS,
    Anonymized,
    Clip,
    Perceptron,
    Thresholds,
    Twin,
    train,
)
from dpaudit.protocols import Mechanism, repr_of
from dpaudit.types import IN, OUT, About, Backend, Claim, Data, Known, Observation, Pair, Trial

OBSERVERS = ("updates", "weights")

OTHERS = 100
"""Parameters of the counterexample that carry the record into one."""


@dataclass(frozen=True)
class Reading:
    """The unit of the claim, the observer and the promise. None is chosen from the others."""

    unit: str | None = None
    observer: str | None = None
    promise: str = "theorem"

    def __post_init__(self) -> None:
        unit, observer = self.unit, self.observer
        checks.refuse(
            [
                None if unit is None else checks.one_of("unit", unit, UNITS),
                None if observer is None else checks.one_of("observer", observer, OBSERVERS),
                checks.one_of("promise", self.promise, PROMISES),
            ]
        )


@dataclass(frozen=True)
class Counterexample:
    """Later batches and other parameters; without later batches, a network is trained."""

    later: int | None = None
    others: int | None = None

    def __post_init__(self) -> None:
        later, others = self.later, self.others
        checks.refuse(
            [
                None if later is None else checks.whole("later", later, 0, 10_000),
                None if others is None else checks.whole("others", others, 1, 10_000),
            ]
        )
        if later is None and others is not None:
            problem = "others are of the counterexample alone; give later, or leave them out"
            raise BadInput(problem, "no-effect", option="others", value=others)


def play_counterexample(
    record: float, later: int, others: int, epsilon: float, draw: np.random.Generator
) -> float:
    """Return one parameter after an epoch of 1 + `later` batches, with updates in [-1, 1].

    Lemma 2 lets every step see nothing but its own previous output. But the gradient of one
    parameter depends on all others, which have noise of their own: their sum shows the record.

    The first batch holds the record, which moves all parameters to one side: `record` is -1 or 1.
    Later ones do not. Their loss is -|s| - w sign(s), of this parameter w and the others' sum s:
    its gradient moves every parameter to the side of that sum, which so persists. Every update of
    every parameter has its Laplace noise, of 2/epsilon, and is clamped.
    """
    noise = draw.laplace(scale=2 / epsilon, size=(1 + later, 1 + others))
    moved, parameters = record, np.zeros(1 + others)
    for batch in noise:
        parameters += np.clip(moved + batch, -1, 1)
        moved = np.sign(parameters[1:].sum())
    return float(parameters[0])


class LaplaceAnonymizedLearning(Mechanism):
    """A network trained by updates with Laplace noise on each parameter.

    ReLU inside, softmax and cross-entropy at the end. The range by which a record can move each
    parameter follows from the current parameters (ranges pushed through the layers), cut to the
    thresholds. Each record's update is clipped to it. The batch's sum gets Laplace noise of E (max
    - min)/epsilon, E epochs, and is clamped.

    The claim (Theorem 4) is epsilon for each parameter released at the end: the sum of what the
    noise of each epoch protects.

    The flaw: the theorem fails even for one parameter. Batches without a record still depend on it
    through all other parameters. These leak it together, and the batches carry it into this one.
    `later=10` is a counterexample: 10 batches after the record's, whose gradients follow the sign
    of the sum of 100 other parameters. The parameter, claimed to be 1-DP, shows more than 5 with
    40,000 releases. The claim is also not about the model (`unit=model`, the default): an observer
    of the updates adds up all parameters. `promise=composed` holds: d epsilon for the model of d
    parameters; for one parameter the smaller of that and, if sums are clipped (`clipped=sum`),
    epsilon times the batches of an epoch.

    weights, biases: thresholds of one record's update, LOW,HIGH, chosen without the data. clipped:
    each `record`, or the `sum` of a batch, the literal reading. observer: sees all `updates`, or
    only the final `weights`. hidden, width: layers, and nodes in each. decay: lambda, of (5).
    later, others: batches and other parameters (100) of the counterexample, which is about one
    parameter.

    Sei and Ohsuga, Privacy-Preserving Publication of Deep Neural Networks (2016; its report is in
    Japanese). As printed, noise is put on w instead of its update, and min stands for max.
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "replaced",
        "attacks": ("laplace",),
        "lr": 1.0,
        "models": 400,
    }
    backend = Backend("numpy", "the paper's training")

    def __init__(
        self,
        data: Data,
        epsilon: float = 1.0,
        training: Perceptron = Perceptron(epochs=1, lr=1.0),
        seed: int = 0,
        thresholds: Thresholds = Thresholds("-0.1,0.1", "-0.1,0.1"),
        clipped: str = "record",
        reading: Reading = Reading(),
        counterexample: Counterexample = Counterexample(),
    ) -> None:
        checks.refuse(
            [
                checks.positive("epsilon", epsilon),
                checks.one_of("clipped", clipped, ("record", "sum")),
            ]
        )
        later = counterexample.later
        self.unit = reading.unit or ("model" if later is None else "parameter")
        self.observer = reading.observer or ("updates" if self.unit == "model" else "weights")
        self.promise, self.later = reading.promise, later
        self.others = counterexample.others or OTHERS
        self._refuse_unfit_reading()
        recipe = training.recipe(data, seed)
        self.training = Anonymized(recipe, thresholds.limits(), epsilon, cast(Clip, clipped))
        self.trials_per_call = 20 if later is None else 1000  # few, where each trains a network
        self.batches = len(recipe.batches(len(data.pool))) if later is None else 1 + later

    def _refuse_unfit_reading(self) -> None:
        option, problem = "", ""
        if self.later is not None and self.unit != "parameter":
            option, problem = "unit", "the counterexample is about one parameter; leave unit out"
        elif self.unit == "parameter" and self.observer != "weights":
            option = "observer"
            problem = "an adversary with one trained parameter sees no updates; leave observer out"
        if problem:
            value = self.unit if option == "unit" else self.observer
            raise BadInput(problem, "excluded-options", option=option, value=value)

    def __repr__(self) -> str:
        names = ("training", "unit", "observer", "promise", "later", "others")
        return repr_of(self, names=names)

    @classmethod
    def unused_settings(cls, settings: Mapping[str, Any]) -> Mapping[str, str]:
        names = (*NETWORK_SETTINGS, "weights", "biases", "clipped")
        why = "on the counterexample of later"
        return {} if settings["later"] is None else dict.fromkeys(names, why)

    @cached_property
    def claim(self) -> Claim:
        """The claim of Theorem 4 for each parameter, or of composition."""
        composed, theorem = self.promise == "composed", "Theorem 4 of Sei and Ohsuga"
        if self.unit == "model":
            theorem += ", read for the model"
        return Claim(
            epsilon=self._composed if composed else self.training.epsilon,
            delta=0.0,
            unit=UNITS[self.unit],
            adjacency="replace",
            source="composition" if composed else theorem,
            beside={} if composed else {"composition": self._composed},
            trials="models" if self.later is None else "releases",
        )

    @property
    def _composed(self) -> float:
        """d epsilon: each record is in one batch an epoch, and later ones are post-processing.

        For one parameter also once for each batch of an epoch, where the noise covers whatever the
        sum of a batch may change by.
        """
        numbers = 1 + self.others if self.later is not None else self._parameters
        # Batches of the counterexample have one record each, whose own is their sum.
        summed = self.training.clip == "sum" or self.later is not None
        times = min(numbers, self.batches) if self.unit == "parameter" and summed else numbers
        return times * self.training.epsilon

    @property
    def _parameters(self) -> int:
        return self.training.recipe.network.parameters

    def _adversary(self) -> str:
        if self.later is not None:
            return (
                f"observer: has one of {1 + self.others} parameters after {self.batches} batches, "
                "the first with the record"
            )
        if self.unit == "parameter":
            return "observer: has the trained parameter that the canary moves most"
        sees = "sees every noisy update" if self.observer == "updates" else "has all parameters"
        return f"observer: {sees}, and knows the other records"

    def about(self, pair: Pair) -> About:
        deployment = "Anyone who has the release can show this leak."
        if self.observer == "updates":
            deployment = "The final parameters alone show less (--set observer=weights)."
        return About(
            adversary=self._adversary(),
            deployment=deployment,
            breaks="Theorem 4 ignores that later batches depend on a record through other "
            "parameters, and that a model has all parameters: dpaudit explain "
            "laplace-anonymized-learning. Claim what composition allows (--set promise=composed), "
            "or train with DP-SGD.",
        )

    def known(self, pair: Pair) -> Known:
        """Return the parameters of either world after training without noise.

        Only an observer without updates needs them, for the direction in which the canary pulls.
        """
        known = stored_knowledge(pair)
        if self.observer == "updates" or known is not None:
            return known or {}
        if self.later is not None:
            return {EXACT[w]: np.array([_side(pair, w) * self.batches]) for w in (OUT, IN)}
        recipe = self.training.recipe
        out, inn = (train(recipe, *world_rows(pair, world), None) for world in (OUT, IN))
        most = np.array([np.abs(out - inn).argmax()])
        place = most if self.unit == "parameter" else np.arange(len(out))
        return {EXACT[OUT]: out[place], EXACT[IN]: inn[place], "place": place}

    def example(self) -> Observation:
        if self.observer == "updates":
            return {"ratios": np.zeros(self.training.recipe.epochs)}
        return {"trained": np.zeros(self._parameters if self.unit == "model" else 1)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        known = self.known(pair)
        return [self._observe(pair, known, trial) for trial in trials]

    def _observe(self, pair: Pair, known: Known, trial: Trial) -> Observation:
        draw, epsilon = np.random.default_rng(trial.seed), self.training.epsilon
        if self.later is not None:
            side = _side(pair, trial.world)
            one = play_counterexample(side, self.later, self.others, epsilon, draw)
            return {"trained": np.array([one])}
        twin = _twin(pair, trial.world) if self.observer == "updates" else None
        parameters, ratios = self.training.train(*world_rows(pair, trial.world), draw, twin)
        if self.unit == "parameter":
            return {"trained": parameters[known["place"]]}
        accuracy = self.training.recipe.network.accuracy(parameters, pair.test)
        if twin is None:
            return {"trained": parameters, "accuracy": accuracy}
        return {"ratios": ratios, "accuracy": accuracy}


def _side(pair: Pair, world: int) -> float:
    """Return the side to which a record moves all parameters of the counterexample."""
    return 1.0 if world == IN and pair.canary.inserted else -1.0


def _twin(pair: Pair, world: int) -> Twin:
    """Return the record of the other world in the canary's place; of the null the same record."""
    place = canary_place(pair) or 0
    x, y = world_rows(pair, OUT if world == IN else IN)
    return Twin(place, x[place], int(y[place]), is_in=world == OUT)
