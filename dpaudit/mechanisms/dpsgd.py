"""DP-SGD networks, released as a plain classifier and with MC dropout."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dpaudit import accounting, checks, registry
from dpaudit.config import Config
from dpaudit.config.adversaries import ADVERSARIES, OBSERVER, PER_STEP
from dpaudit.config.settings import Attacker, Privacy, Training
from dpaudit.errors import BadInput
from dpaudit.mechanisms.classifier import (
    NO_DROPOUT,
    ONE_SAMPLE,
    batch_too_large,
    delta_too_large,
    gradient_too_small,
    start_not_learned,
)
from dpaudit.mechanisms.views import View, example
from dpaudit.protocols import Mechanism
from dpaudit.seeds import derive
from dpaudit.training import networks
from dpaudit.training.recipe import Recipe
from dpaudit.types import (
    OUT,
    About,
    Backend,
    Claim,
    Curve,
    Data,
    GaussianCurve,
    Known,
    Observation,
    Pair,
    StepsCurve,
    Trial,
)

EXACT = "exact Gaussian accounting"
"""Where the claim of full batches comes from."""

FEWEST_STEPS = 4
"""That can be trials: two of each world that choose a rule, and two that judge it."""

LARGEST = 240_000_000
"""Values of all canaries together: nearly 1 GB, the most that SQLite takes of one array."""


class DPSGD(Mechanism):
    """A network trained by DP-SGD: Poisson sampling, per-sample clipping, Gaussian noise.

    Each trial trains one model and asks it about the canary: logits and class probabilities
    with dropout off, and `samples` times the class probabilities with dropout on.

    The claim is (epsilon, delta) for the whole model under adding or removing one record.
    `privacy` has an epsilon, for which the least noise is solved that the accountant allows
    (`pld`, `rdp` or `prv`; full batches are exact), or a noise multiplier.

    With many `canaries` a trial puts each of them in by a fair coin, and shows how the updates
    point along every one of them, beside the coins.

    Models are trained by dpaudit's own code, which audits the mechanism; to audit Opacus' code,
    name it as the `backend`.

    Abadi et al., Deep Learning with Differential Privacy, 2016; Gal and Ghahramani,
    Dropout as a Bayesian Approximation, 2016.
    """

    def __init__(
        self,
        data: Data,
        privacy: Privacy = Privacy(),
        training: Training = Training(),
        attacker: Attacker = Attacker(),
        seed: int = 0,
    ) -> None:
        checks.refuse([checks.at_least("seed", seed, 0)])
        # Refuses, before anything is solved or trained, records that the network cannot take.
        networks.check(training.network, data.shape)
        if (dtype := data.pool.x.dtype) != np.float32:
            raise BadInput(
                f"DP-SGD trains on records of float32, not {dtype}; convert them, or audit a "
                "training function of your own",
                "wrong-type",
                option="data",
                value=str(dtype),
            )
        _refuse_crowded(attacker.canaries, training.network, data)
        # The pool's size is public: the sampling rate and the steps are made from it, and so
        # are the same in both worlds, whichever record is in or out.
        self.records = len(data.pool)
        self.privacy, self._adversary = privacy, ADVERSARIES[attacker.adversary]
        self.samples, self.canaries = attacker.samples, attacker.canaries
        q, steps = training.sample_rate(self.records), training.rounds(self.records)
        noise = privacy.noise_multiplier
        if noise is None and privacy.epsilon is not None:
            given = (privacy.epsilon, q, steps, privacy.delta, privacy.accountant)
            noise = accounting.noise_multiplier(*given)
        if self._by_step and steps < FEWEST_STEPS:
            raise BadInput(
                f"single steps show nothing if there are fewer than {FEWEST_STEPS}",
                "too-small",
                option="steps",
                value=steps,
            )
        self.backend = Backend(training.backend, "as configured")
        init_seed = derive(seed, "init")
        self.recipe = Recipe(
            training, data.shape, data.classes, privacy.clip, noise or 0.0, init_seed
        )
        if self._by_step:  # all steps, in fours, of two trainings
            self.models = 4 * (steps // 2)
            self.trials_per_call = self.models

    def build_backend(self) -> DPSGD:
        """Build and check what trains; return a mechanism that names it.

        With it, all models of a run, shadow models too, are trained alike. Until then 'auto' is
        the fastest backend of each process that trains.
        """
        from dpaudit.training import backends

        built, same = backends.build(self.recipe), copy.copy(self)
        same.backend = Backend(built.name, built.reason)
        training = replace(self.recipe.training, backend=built.name)
        same.recipe = replace(self.recipe, training=training)
        return same

    @classmethod
    def facing(cls, adversary: str, data: Data, **settings: Any) -> DPSGD:
        """Return DP-SGD with the default settings of this adversary."""
        given = {n: value for n, value in settings.items() if value is not None}
        config = Config.from_dict({**given, "adversary": adversary})
        return cls(**registry.arguments(cls, {**config.flat(), "data": data}))

    def about(self, pair: Pair) -> About:
        """Describe the training, and who attacks it with this canary."""
        adversary, told = self._adversary, self.recipe.told(self.records)
        return About(
            attacker=adversary.name,
            adversary=adversary.describe(0 if pair.canary.record else self.canaries),
            deployment=adversary.follows,
            training={**told, "start": "crafted"} if adversary.crafts else told,
            warnings=[*self._warnings(), *self._weak(pair)],
        )

    def _weak(self, pair: Pair) -> list[str]:
        """Warnings of a start that has not learned, and of a record that moves too little."""
        c, initial = pair.canary, pair.given.get("initial")
        if initial is None:
            return []
        from dpaudit.training.gradients import mean_loss, network, of_one

        left = mean_loss(network(self.recipe, initial), pair.world(OUT))
        found = start_not_learned(left, self.recipe.classes)
        if c.record and c.inserted:
            _, norm = of_one(self.recipe, initial, c.x, c.y)
            found += gradient_too_small(norm, self.recipe.clip)
        return found

    def example(self) -> Observation:
        """What the adversary sees of a trial, but for its numbers."""
        return example(self._adversary, self.recipe, self.records, self.samples)

    def craft(self, data: Data, seed: int) -> Known:
        """What the adversary chooses before it chooses the canary: where training starts."""
        if not self._adversary.crafts:
            return {}
        from dpaudit.training.gradients import pretrained

        return {"initial": pretrained(self.recipe, data.shadow, seed)}

    def known(self, pair: Pair) -> Known:
        """Return what the adversary knows of the training, beside the canary."""
        q = self.recipe.sample_rate(self.records)
        return {
            "sample_rate": np.array(q),
            "noise_multiplier": np.array(self.recipe.noise_multiplier),
        }

    def __repr__(self) -> str:
        delta, accountant = self.privacy.delta, self.privacy.accountant
        told: dict[str, Any] = {"records": self.records, "delta": delta, "accountant": accountant}
        told["samples"] = self.samples
        if self._adversary != OBSERVER:
            told["adversary"] = self._adversary.name
        if self.canaries > 1:
            told["canaries"] = self.canaries
        return f"DPSGD({self.recipe}, {', '.join(f'{t}={x!r}' for t, x in told.items())})"

    def _warnings(self) -> list[str]:
        found = delta_too_large(self.privacy.delta, self.records)
        batch = self.recipe.training.batch
        found += batch_too_large(1 if batch == "full" else int(batch), self.records)
        if self._adversary != OBSERVER:
            return found
        if self.recipe.training.dropout == 0:
            found.append(NO_DROPOUT)
        elif self.samples == 1:
            found.append(ONE_SAMPLE)
        return found

    @property
    def curve(self) -> Curve:
        """The trade-off curve that the accountant stands on."""
        q, steps = self.recipe.sample_rate(self.records), self.recipe.steps(self.records)
        return accounting.curve(self.recipe.noise_multiplier, q, steps)

    @property
    def _stepwise(self) -> StepsCurve:
        """The same training, seen step by step."""
        q, steps = self.recipe.sample_rate(self.records), self.recipe.steps(self.records)
        return StepsCurve(q, steps, self.recipe.noise_multiplier)

    @cached_property
    def claim(self) -> Claim:
        """The chosen accountant's epsilon; the others' stand beside it."""
        curve, delta, accountant = self.curve, self.privacy.delta, self.privacy.accountant
        exact = isinstance(curve, GaussianCurve)
        others = [] if exact else [a for a in accounting.NUMERICAL if a != accountant]
        return Claim(
            epsilon=accounting.epsilon(curve, delta, accountant),
            delta=delta,
            curve=self._stepwise if self._by_step else curve,
            source=EXACT if exact else f"{accountant} accountant",
            beside=accounting.epsilons(curve, delta, others),
        )

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """One model a trial, and what the adversary sees of it."""
        view = View(self._adversary, self.recipe, pair, self.records, self.samples)
        if self._by_step:
            return view.of_steps(trials)
        return [view.of_many(t) if self.canaries > 1 else view.of(t) for t in trials]

    @property
    def _by_step(self) -> bool:
        return self._adversary == PER_STEP


def _refuse_crowded(canaries: int, network: str, data: Data) -> None:
    """Refuse more canaries than there are directions that have nothing to do with each other."""
    if canaries == 1:
        return
    there = networks.parameters(network, data.shape, data.classes)
    if canaries > there:
        raise BadInput(
            f"{canaries:,} canaries are more than the {there:,} parameters of {network} here; "
            "give fewer",
            "too-large",
            option="canaries",
            value=canaries,
        )
    if canaries * there > LARGEST:
        raise BadInput(
            f"{canaries:,} canaries of {there:,} parameters each are more than fit into memory and "
            f"journal; give at most {LARGEST // there:,}",
            "too-costly",
            option="canaries",
            value=canaries,
        )
