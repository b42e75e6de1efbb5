"""DP-SGD networks, released as a plain classifier and with MC dropout."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dpaudit import accounting
from dpaudit.adversaries import ADVERSARIES, OBSERVER, PER_STEP
from dpaudit.config import Config, brought
from dpaudit.errors import BadInput
from dpaudit.mechanisms.cautions import (
    NO_DROPOUT,
    ONE_SAMPLE,
    batch_too_large,
    delta_too_large,
    gradient_too_small,
    start_not_learned,
)
from dpaudit.mechanisms.views import View, example
from dpaudit.seeds import derive
from dpaudit.training import networks
from dpaudit.training.recipe import Init, Recipe
from dpaudit.types import (
    OUT,
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


class DPSGD:
    """A network trained by DP-SGD: Poisson sampling, per-sample clipping, Gaussian noise.

    Each trial trains one model and asks it about the canary: logits and class probabilities
    with dropout off, and `samples` times the class probabilities with dropout on.

    The claim is (epsilon, delta) for the whole model under adding or removing one record.
    Either `epsilon` is given and the least noise is solved for that the accountant allows
    (`pld`, `rdp` or `prv`; full batches are exact), or `noise_multiplier` is.

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
        network: str = "cnn-small",
        epsilon: float | None = 8.0,
        noise_multiplier: float | None = None,
        delta: float = 1e-5,
        accountant: str = "pld",
        epochs: int = 60,
        steps: int | None = None,
        batch: int | str = 256,
        lr: float = 1.0,
        clip: float = 1.0,
        dropout: float = 0.5,
        init: Init = "random",
        samples: int = 1000,
        seed: int = 0,
        backend: str = "auto",
        adversary: str = OBSERVER.name,
        canaries: int = 1,
    ) -> None:
        from dpaudit.training import backends

        Config(
            epsilon=epsilon if noise_multiplier is None else None,
            noise_multiplier=noise_multiplier,
            delta=delta,
            accountant=accountant,
            epochs=epochs,
            steps=steps,
            batch=batch,
            lr=lr,
            clip=clip,
            dropout=dropout,
            init=init,
            samples=samples,
            seed=seed,
            backend=backend,
            adversary=adversary,
            canaries=canaries,
        ).check()
        # Refuses, before anything is solved or trained, records that the network cannot take.
        networks.check(network, data.shape)
        if (dtype := data.pool.x.dtype) != np.float32:
            raise BadInput(
                f"DP-SGD trains on records of float32, not {dtype}; convert them, or audit a "
                "training function of your own",
                "wrong-type",
                option="data",
                value=str(dtype),
            )
        _refuse_crowded(canaries, network, data)
        # The pool's size is public: the sampling rate and the steps are made from it, and so
        # are the same in both worlds, whichever record is in or out.
        self.records = len(data.pool)
        self.delta, self.accountant = delta, accountant
        self.samples, self._adversary = samples, ADVERSARIES[adversary]
        self.canaries = canaries
        plan = Recipe(
            network=network,
            shape=data.shape,
            classes=data.classes,
            epochs=epochs,
            total_steps=steps,
            batch=None if batch == "full" else int(batch),
            lr=lr,
            clip=clip,
            noise_multiplier=noise_multiplier or 0.0,
            dropout=dropout,
            init=init,
            init_seed=derive(seed, "init"),
            backend=backend,
        )
        if epsilon is not None and noise_multiplier is None:
            q, rounds = plan.sample_rate(self.records), plan.steps(self.records)
            solved = accounting.noise_multiplier(epsilon, q, rounds, delta, accountant)
            plan = replace(plan, noise_multiplier=solved)
        if self._by_step and plan.steps(self.records) < FEWEST_STEPS:
            raise BadInput(
                f"single steps show nothing if there are fewer than {FEWEST_STEPS}",
                "too-small",
                option="steps",
                value=plan.steps(self.records),
            )
        # Found out here, once: all models of a run, shadow models too, are trained alike.
        chosen = backends.choose(plan)
        self.backend, self.backend_reason = chosen.name, chosen.reason
        self.recipe = replace(plan, backend=chosen.name)

    @classmethod
    def facing(cls, adversary: str, data: Data, **given: Any) -> DPSGD:
        """As a run with this adversary has it: with the settings that it brings along."""
        given = {"adversary": adversary, **given}
        known = inspect.signature(cls).parameters
        return cls(data, **{k: v for k, v in brought(given).items() if k in known} | given)

    def about(self, pair: Pair) -> Mapping[str, Any]:
        """What a report tells of the training and of who attacks it, with this canary."""
        adversary, told = self._adversary, self.recipe.told(self.records)
        return {
            "attacker": adversary.name,
            "adversary": adversary.told(0 if pair.canary.record else self.canaries),
            "deployment": adversary.follows,
            "training": {**told, "start": "crafted"} if adversary.crafts else told,
            "warnings": self._weak(pair),
        }

    def _weak(self, pair: Pair) -> list[str]:
        """Warnings of a start that has not learned, and of a record that moves too little."""
        c, initial = pair.canary, pair.given.get("initial")
        if initial is None:
            return []
        from dpaudit.training.gradients import of_one
        from dpaudit.training.pretraining import mean_loss, network

        left = mean_loss(network(self.recipe, initial), pair.world(OUT))
        found = start_not_learned(left, self.recipe.classes)
        if c.record and c.inserted:
            _, norm = of_one(self.recipe, initial, c.x, c.y)
            found += gradient_too_small(norm, self.recipe.clip)
        return found

    @property
    def example(self) -> Observation:
        """What the adversary sees of a trial, but for its numbers."""
        return example(self._adversary, self.recipe, self.records, self.samples)

    def craft(self, data: Data, seed: int) -> Known:
        """What the adversary chooses before it chooses the canary: where training starts."""
        if not self._adversary.crafts:
            return {}
        from dpaudit.training.pretraining import pretrained

        return {"initial": pretrained(self.recipe, data.shadow, seed)}

    @property
    def known(self) -> Known:
        """What the adversary knows of the training, beside the canary."""
        q = self.recipe.sample_rate(self.records)
        return {
            "sample_rate": np.array(q),
            "noise_multiplier": np.array(self.recipe.noise_multiplier),
        }

    def __repr__(self) -> str:
        told = {t: getattr(self, t) for t in ("records", "delta", "accountant", "samples")}
        if self._adversary != OBSERVER:
            told["adversary"] = self._adversary.name
        if self.canaries > 1:
            told["canaries"] = self.canaries
        return f"DPSGD({self.recipe}, {', '.join(f'{t}={x!r}' for t, x in told.items())})"

    @property
    def cautions(self) -> list[str]:
        """What a user may have got wrong without noticing."""
        found = delta_too_large(self.delta, self.records)
        found += batch_too_large(self.recipe.batch or 1, self.records)
        if self._adversary != OBSERVER:
            return found
        if self.recipe.dropout == 0:
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
        curve = self.curve
        exact = isinstance(curve, GaussianCurve)
        others = [] if exact else [a for a in accounting.NUMERICAL if a != self.accountant]
        return Claim(
            epsilon=accounting.epsilon(curve, self.delta, self.accountant),
            delta=self.delta,
            curve=self._stepwise if self._by_step else curve,
            source=EXACT if exact else f"{self.accountant} accountant",
            beside=accounting.epsilons(curve, self.delta, others),
        )

    def play(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """One model a trial, and what the adversary sees of it."""
        view = View(self._adversary, self.recipe, pair, self.records, self.samples)
        if self._by_step:
            return view.of_steps(trials)
        return [view.of_many(t) if self.canaries > 1 else view.of(t) for t in trials]

    @property
    def models(self) -> int | None:
        """How many trials a run must have, where that is not free: all steps, in fours."""
        return 4 * (self.recipe.steps(self.records) // 2) if self._by_step else None

    @property
    def at_once(self) -> int:
        """Trials that are played together, at the cost of few: all steps of two trainings."""
        return self.models or 1

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
