"""Where Theorem 4 fails: a single parameter that later batches tell about the record.

Lemma 2 lets every step see nothing but its own previous output. But the gradient of one parameter
depends on all others, and these have noise of their own: added up, they show the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.laplace.training import Anonymized, Clip, Twin, learned
from dpaudit.papers.laplace.canary import (
    EXACT,
    PROMISES,
    TRAINING,
    UNITS,
    Perceptron,
    Thresholds,
    accuracy,
    foreseen,
    of_world,
    replaced,
)
from dpaudit.protocols import Mechanism
from dpaudit.types import IN, OUT, About, Backend, Claim, Data, Known, Observation, Pair, Trial

# ----------------------------------------------------------------
# Where Theorem 4 fails: a single parameter that later batches tell about the record.
#
# Lemma 2 lets every step see nothing but its own previous output. But the gradient of one parameter
# depends on all others, and these have noise of their own: added up, they show the record.


def released(
    record: float, later: int, others: int, epsilon: float, draw: np.random.Generator
) -> float:
    """One parameter after an epoch of 1 + `later` batches, with updates in [-1, 1].

    The first batch holds the record, which moves all parameters to one side: `record` is -1 or 1.
    Those after it do not hold it. Their loss is -|s| - w sign(s), of this parameter w and of the
    others' sum s: its gradient moves every parameter to the side on which the others' sum lies, and
    so keeps that sum from being forgotten. Every update of every parameter has its Laplace noise,
    of 2/epsilon, and is clamped.
    """
    noise = draw.laplace(scale=2 / epsilon, size=(1 + later, 1 + others))
    moved, parameters = record, np.zeros(1 + others)
    for batch in noise:
        parameters += np.clip(moved + batch, -1, 1)
        moved = np.sign(parameters[1:].sum())
    return float(parameters[0])


# ----------------------------------------------------------------
# AnonymizedLearning: a network trained by updates that all have Laplace noise.


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
            raise BadInput(
                "others are of the counterexample alone; give later, or leave them out",
                "no-effect",
                option="others",
                value=others,
            )


class LaplaceAnonymizedLearning(Mechanism):
    """A network trained by updates that each have Laplace noise, parameter by parameter.

    ReLU inside, softmax and cross-entropy at the end. How far a record can move each parameter is
    found from the current parameters alone (ranges pushed through the layers), and cut to the
    thresholds; each record's own is clipped to that, the batch's sum gets Laplace noise of
    E (max - min)/epsilon, E epochs, and is clamped.

    The claim (Theorem 4) is epsilon for each parameter that is released at the end. It is proved
    by adding up what each epoch's own noise protects.

    The flaw: the theorem fails even for one parameter. Batches that do not hold a record still
    depend on it through all other parameters, which leak it together, and carry it into this one.
    `later=10` plays a counterexample: 10 batches after the record's, whose gradients follow the
    sign of 100 other parameters' sum. That single number, claimed to be 1-DP, shows more than 5
    with 40,000 releases. Nor is it a claim about the model (`unit=model`, the default): who sees
    the updates adds up what all parameters show. What holds is `promise=composed`: d epsilon for
    the model of d parameters and, for one of them, that or, if sums are clipped (`clipped=sum`),
    epsilon times the batches of an epoch, whichever is less.

    weights, biases: thresholds of what one record changes, LOW,HIGH, chosen without the data.
    clipped: each `record`, or the `sum` of a batch, which is the literal reading. observer: sees
    all `updates`, or the final `weights` alone, as who has one parameter does anyway. hidden,
    width: layers, and nodes in each. decay: lambda, of (5). later, others: batches and other
    parameters (100) of the counterexample, which is about one parameter.

    Sei and Ohsuga, Privacy-Preserving Publication of Deep Neural Networks (2016; its report is in
    Japanese). As printed, noise is put on w instead of its update, and min stands for max.
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "replaced",
        "attacks": ("laplace",),
        "lr": 1.0,
        "models": 400,
    }

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
        self._refuse_idle()
        course = training.course(data, seed)
        self.training = Anonymized(course, thresholds.limits(), epsilon, cast(Clip, clipped))
        self.trials_per_call = 20 if later is None else 1000  # few, where each trains a network
        self.batches = len(course.batches(len(data.pool))) if later is None else 1 + later

    def _refuse_idle(self) -> None:
        """Refuse what would have no effect."""
        if self.later is not None and self.unit != "parameter":
            raise BadInput(
                "the counterexample is about one parameter; leave unit out",
                "excluded-options",
                option="unit",
                value=self.unit,
            )
        if self.unit == "parameter" and self.observer != "weights":
            raise BadInput(
                "whoever has one trained parameter sees no updates; leave observer out",
                "excluded-options",
                option="observer",
                value=self.observer,
            )

    def __repr__(self) -> str:
        told = ("training", "unit", "observer", "promise", "later", "others")
        return f"LaplaceAnonymizedLearning({', '.join(f'{t}={getattr(self, t)!r}' for t in told)})"

    @classmethod
    def unused_settings(cls, settings: Mapping[str, Any]) -> Mapping[str, str]:
        names, why = (*TRAINING, "weights", "biases", "clipped"), "on the counterexample of later"
        return {} if settings["later"] is None else dict.fromkeys(names, why)

    # ------------------------------------------------------------ what is promised

    @cached_property
    def claim(self) -> Claim:
        """What Theorem 4 says of each parameter, or what composition allows."""
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
        return self.training.course.network.parameters

    def _adversary(self) -> str:
        if self.later is not None:
            return (
                f"observer: has one of {1 + self.others} parameters after {self.batches} batches, "
                "of which the first holds the record"
            )
        if self.unit == "parameter":
            return "observer: has one trained parameter, that which the canary moves most"
        sees = "sees every noisy update" if self.observer == "updates" else "has all parameters"
        return f"observer: {sees}, and knows the other records"

    def about(self, pair: Pair) -> About:
        deployment = "whoever has what is released could show as much"
        if self.observer == "updates":
            deployment = (
                "who has only the final parameters, no updates, sees less (--set observer=weights)"
            )
        return About(
            adversary=self._adversary(),
            deployment=deployment,
            breaks="Theorem 4 leaves out that later batches depend on a record through other "
            "parameters, and that a model is all of them: dpaudit explain "
            "laplace-anonymized-learning. Claim what composition allows (--set promise=composed), "
            "or train with DP-SGD.",
        )

    backend = Backend("numpy", "the paper's training")

    # ------------------------------------------------------------ the game

    def known(self, pair: Pair) -> Known:
        """What the adversary has of a pair: where training would end in either world without noise.

        Only who sees no updates needs it, to know which way the canary pulls.
        """
        known = foreseen(pair)
        if self.observer == "updates" or known is not None:
            return known or {}
        if self.later is not None:
            ends = {w: np.array([self._record(pair, w) * self.batches]) for w in (OUT, IN)}
            return {EXACT[world]: end for world, end in ends.items()}
        course = self.training.course
        out, inn = (learned(course, *of_world(pair, world), None) for world in (OUT, IN))
        most = np.array([np.abs(out - inn).argmax()])
        place = most if self.unit == "parameter" else np.arange(len(out))
        return {EXACT[OUT]: out[place], EXACT[IN]: inn[place], "place": place}

    def example(self) -> Observation:
        """What is seen of a trial, but for its numbers."""
        if self.observer == "updates":
            return {"ratios": np.zeros(self.training.course.epochs)}
        return {"trained": np.zeros(self._parameters if self.unit == "model" else 1)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """A network for each trial, or the number that the counterexample releases."""
        seen = self.known(pair)
        return [
            self._play(pair, seen, trial) if self.later is None else self._number(pair, trial)
            for trial in trials
        ]

    def _number(self, pair: Pair, trial: Trial) -> Observation:
        record, draw = self._record(pair, trial.world), np.random.default_rng(trial.seed)
        later, epsilon = self.batches - 1, self.training.epsilon
        return {"trained": np.array([released(record, later, self.others, epsilon, draw)])}

    def _record(self, pair: Pair, world: int) -> float:
        """To which side a record moves all parameters of the counterexample."""
        return 1.0 if world == IN and pair.canary.inserted else -1.0

    def _play(self, pair: Pair, seen: Known, trial: Trial) -> Observation:
        draw = np.random.default_rng(trial.seed)
        watched = self._twin(pair, trial.world) if self.observer == "updates" else None
        parameters, ratios = self.training.trained(*of_world(pair, trial.world), draw, watched)
        if self.unit == "parameter":
            return {"trained": parameters[seen["place"]]}
        useful = accuracy(self.training.course.network, parameters, pair.test)
        if watched is None:
            return {"trained": parameters, "accuracy": useful}
        return {"ratios": ratios, "accuracy": useful}

    def _twin(self, pair: Pair, world: int) -> Twin:
        """What stands in the canary's place in the other world; of the null the same."""
        at = replaced(pair)
        place = 0 if at is None else at
        x, y = of_world(pair, OUT if world == IN else IN)
        return Twin(place, x[place], int(y[place]), is_in=world == OUT)
