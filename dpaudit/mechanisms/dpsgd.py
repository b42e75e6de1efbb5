"""DP-SGD networks, released as a plain classifier and with MC dropout."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit import accounting, checks, registry
from dpaudit.config import Config
from dpaudit.config.adversaries import ADVERSARIES, OBSERVER, PER_STEP
from dpaudit.config.settings import Attacker, Privacy, Training
from dpaudit.errors import BadInput
from dpaudit.mechanisms.views import View, accuracy, example
from dpaudit.mechanisms.warnings import (
    NO_DROPOUT,
    ONE_SAMPLE,
    batch_too_large,
    delta_too_large,
    gradient_too_small,
    start_not_learned,
)
from dpaudit.protocols import Mechanism
from dpaudit.seeds import derive
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

if TYPE_CHECKING:
    pass

EXACT = "exact Gaussian accounting"
"""Source of the claim of full batches."""

FEWEST_STEPS = 4
"""Smallest number of steps as trials: of each world one to choose a rule, and one to judge it."""

PLAIN_STEPS, PLAIN_BATCH, PLAIN_RATE, PLAIN_CLIP, WORTH = 500, 256, 0.5, 10.0, 4
"""An ordinary training without noise and hardly any clipping, and its most cost in models."""

LARGEST = 240_000_000
"""Largest number of values of all canaries: nearly 1 GB, SQLite's limit for one array."""


class DPSGD(Mechanism):
    """A network trained by DP-SGD: Poisson sampling, per-sample clipping, Gaussian noise.

    Each trial trains one model and queries it on the canary: logits and class probabilities with
    dropout off, and `samples` times the class probabilities with dropout on.

    The claim is (epsilon, delta) for the whole model under adding or removing one record. `privacy`
    has an epsilon, for which the accountant (`pld`, `rdp` or `prv`; full batches are exact) finds
    the least noise, or a noise multiplier.

    With many `canaries` a trial inserts each by a fair coin, and releases the products of the
    updates with every one of them, beside the coins.

    Models are trained by dpaudit's own code, which audits the mechanism. To audit Opacus' code,
    name it as the `backend`.

    Abadi et al., Deep Learning with Differential Privacy, 2016; Gal and Ghahramani, Dropout as a
    Bayesian Approximation, 2016.
    """

    def __init__(
        self,
        data: Data,
        privacy: Privacy = Privacy(),
        training: Training = Training(),
        attacker: Attacker = Attacker(),
        seed: int = 0,
    ) -> None:
        from dpaudit.training import networks
        from dpaudit.training.recipe import Recipe

        checks.refuse([checks.at_least("seed", seed, 0)])
        networks.check(training.network, data.shape)
        if (dtype := data.pool.x.dtype) != np.float32:
            problem = (
                f"DP-SGD trains on records of float32, not {dtype}; convert them, or audit a "
                "training function of your own"
            )
            raise BadInput(problem, "wrong-type", option="data", value=str(dtype))
        _refuse_crowded(attacker.canaries, training.network, data)
        # The pool's size is public: rate and steps follow from it, the same in both worlds.
        self.records = len(data.pool)
        self.privacy, self._adversary = privacy, ADVERSARIES[attacker.adversary]
        self.samples, self.canaries = attacker.samples, attacker.canaries
        q, steps = training.sample_rate(self.records), training.rounds(self.records)
        noise = privacy.noise_multiplier
        if noise is None and privacy.epsilon is not None:
            given = (privacy.epsilon, q, steps, privacy.delta, privacy.accountant)
            noise = accounting.noise_multiplier(*given)
        if self._by_step and steps < FEWEST_STEPS:
            problem = f"single steps show nothing if there are fewer than {FEWEST_STEPS}"
            raise BadInput(problem, "too-small", option="steps", value=steps)
        self.backend = Backend(training.backend, "as configured")
        init_seed = derive(seed, "init")
        self.recipe = Recipe(
            training, data.shape, data.classes, privacy.clip, noise or 0.0, init_seed
        )
        if self._by_step:  # all steps, in fours, of two trainings
            self.models = 4 * (steps // 2)
            self.trials_per_call = self.models

    def build_backend(self) -> DPSGD:
        """Build and check the backend; return a mechanism that names it.

        It trains all models of a run, shadow models too. Until then 'auto' is the fastest backend
        of each process.
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
        adversary, told = self._adversary, self.recipe.describe(self.records)
        return About(
            attacker=adversary.name,
            adversary=adversary.describe(0 if pair.canary.record else self.canaries),
            deployment=adversary.follows,
            training={**told, "start": "crafted"} if adversary.crafts else told,
            warnings=[*self._warnings(), *self._weak(pair)],
            utility=self._without_noise(pair),
        )

    def _without_noise(self, pair: Pair) -> dict[str, float]:
        """Return the accuracy of one network of the kind, trained on D without noise.

        It costs as much as `WORTH` models at most. An adversary that crafts the start takes a few
        small steps from a network that has learned, so that only an observer's are compared.
        """
        from dpaudit.training import predict
        from dpaudit.training.dpsgd import fit
        from dpaudit.training.isolation import isolated

        own, records = self.recipe.training, self.records
        if self._adversary != OBSERVER or not self.recipe.noise_multiplier:
            return {}
        batch = min(PLAIN_BATCH, len(pair.out))
        spent = self.recipe.steps(records) * self.recipe.expected_batch(records)
        steps = max(1, min(PLAIN_STEPS, int(WORTH * spent / batch)))
        plain = replace(own, steps=steps, batch=batch, lr=PLAIN_RATE, dropout=0.0)
        recipe = replace(self.recipe, training=plain, clip=PLAIN_CLIP, noise_multiplier=0.0)
        with isolated():
            model = fit(recipe, pair.out, derive(recipe.init_seed, "without noise")).model
            found = accuracy(partial(predict.logits, model), pair.test)
        return {"accuracy_without_noise": float(found)}

    def _weak(self, pair: Pair) -> list[str]:
        """Warn of a start that has not learned, and of a canary with a small gradient."""
        c, initial = pair.canary, pair.given.get("initial")
        if initial is None:
            return []
        from dpaudit.training.gradients import mean_loss, network, record_gradient

        left = mean_loss(network(self.recipe, initial), pair.world(OUT))
        found = start_not_learned(left, self.recipe.classes)
        if c.record and c.inserted:
            _, norm = record_gradient(self.recipe, initial, c.x, c.y)
            found += gradient_too_small(norm, self.recipe.clip)
        return found

    def example(self) -> Observation:
        return example(self._adversary, self.recipe, self.records, self.samples)

    def craft(self, data: Data, seed: int) -> Known:
        """Return the initial parameters, if the adversary chooses them."""
        if not self._adversary.crafts:
            return {}
        from dpaudit.training.gradients import pretrain

        return {"initial": pretrain(self.recipe, data.shadow, seed)}

    def known(self, pair: Pair) -> Known:
        """Return what the adversary knows of the training, beside the canary."""
        q = self.recipe.sample_rate(self.records)
        return {
            "sample_rate": np.array(q),
            "noise_multiplier": np.array(self.recipe.noise_multiplier),
        }

    def __repr__(self) -> str:
        delta, accountant = self.privacy.delta, self.privacy.accountant
        shown = f"records={self.records}, {delta=}, {accountant=}, samples={self.samples}"
        if self._adversary != OBSERVER:
            shown += f", adversary={self._adversary.name!r}"
        if self.canaries > 1:
            shown += f", canaries={self.canaries}"
        return f"DPSGD({self.recipe}, {shown})"

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
        """The trade-off curve of the training."""
        q, steps = self.recipe.sample_rate(self.records), self.recipe.steps(self.records)
        return accounting.curve(self.recipe.noise_multiplier, q, steps)

    @cached_property
    def claim(self) -> Claim:
        """The chosen accountant's epsilon, with those of the others beside it."""
        curve, delta, accountant = self.curve, self.privacy.delta, self.privacy.accountant
        exact, claimed = isinstance(curve, GaussianCurve), curve
        if self._by_step:
            q, steps = self.recipe.sample_rate(self.records), self.recipe.steps(self.records)
            claimed = StepsCurve(q, steps, self.recipe.noise_multiplier)
        others = [] if exact else [a for a in accounting.NUMERICAL if a != accountant]
        return Claim(
            epsilon=accounting.epsilon(curve, delta, accountant),
            delta=delta,
            curve=claimed,
            source=EXACT if exact else f"{accountant} accountant",
            beside=accounting.epsilons(curve, delta, others),
        )

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        view = View(self._adversary, self.recipe, pair, self.records, self.samples)
        if self._by_step:
            return view.of_steps(trials)
        return [view.of_many(t) if self.canaries > 1 else view.of(t) for t in trials]

    @property
    def _by_step(self) -> bool:
        return self._adversary == PER_STEP


def _refuse_crowded(canaries: int, network: str, data: Data) -> None:
    """Refuse more canaries than there are orthogonal directions, or than fit into memory."""
    from dpaudit.training import networks

    if canaries == 1:
        return
    there = networks.parameters(network, data.shape, data.classes)
    if canaries > there:
        problem = (
            f"{canaries:,} canaries are more than the {there:,} parameters of {network} here; "
            "give fewer"
        )
        raise BadInput(problem, "too-large", option="canaries", value=canaries)
    if canaries * there > LARGEST:
        problem = (
            f"{canaries:,} canaries of {there:,} parameters each are more than fit into memory and "
            f"journal; give at most {LARGEST // there:,}"
        )
        raise BadInput(problem, "too-costly", option="canaries", value=canaries)
