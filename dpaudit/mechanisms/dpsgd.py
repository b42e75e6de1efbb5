"""DP-SGD networks, released as a plain classifier and with MC dropout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

from dpaudit import accounting
from dpaudit.config import Config
from dpaudit.mechanisms.cautions import delta_too_large
from dpaudit.mechanisms.classifier import observed
from dpaudit.seeds import derive
from dpaudit.training import networks
from dpaudit.training.recipe import Init, Recipe
from dpaudit.types import Claim, Curve, Data, GaussianCurve, Observation, Pair, Trial


class DPSGD:
    """A network trained by DP-SGD: Poisson sampling, per-sample clipping, Gaussian noise.

    Each trial trains one model and asks it about the canary: logits and class probabilities
    with dropout off, and `samples` times the class probabilities with dropout on.

    The claim is (epsilon, delta) for the whole model under adding or removing one record.
    Either `epsilon` is given and the least noise is solved for that the accountant allows
    (`pld`, `rdp` or `prv`; full batches are exact), or `noise_multiplier` is.

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
        batch: int | str = 256,
        lr: float = 1.0,
        clip: float = 1.0,
        dropout: float = 0.5,
        init: Init = "random",
        samples: int = 1000,
        seed: int = 0,
        backend: str = "auto",
    ) -> None:
        from dpaudit.training import backends

        Config(
            epsilon=epsilon if noise_multiplier is None else None,
            noise_multiplier=noise_multiplier,
            delta=delta,
            accountant=accountant,
            epochs=epochs,
            batch=batch,
            lr=lr,
            clip=clip,
            dropout=dropout,
            init=init,
            samples=samples,
            seed=seed,
            backend=backend,
        ).check()
        # Refuses, before anything is solved or trained, records that the network cannot take.
        networks.check(network, data.shape)
        # The pool's size is public: the sampling rate and the steps are made from it, and so
        # are the same in both worlds, whichever record is in or out.
        self.records = len(data.pool)
        self.delta, self.accountant = delta, accountant
        self.samples = samples
        plan = Recipe(
            network=network,
            shape=data.shape,
            classes=data.classes,
            epochs=epochs,
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
            q, steps = plan.sample_rate(self.records), plan.steps(self.records)
            solved = accounting.noise_multiplier(epsilon, q, steps, delta, accountant)
            plan = replace(plan, noise_multiplier=solved)
        # Found out here, once: all models of a run, shadow models too, are trained alike.
        chosen = backends.choose(plan)
        self.backend, self.backend_reason = chosen.name, chosen.reason
        self.recipe = replace(plan, backend=chosen.name)

    adversary = "observer: sees what the trained model says of the canary, and nothing else"

    def __repr__(self) -> str:
        told = ("records", "delta", "accountant", "samples")
        return f"DPSGD({self.recipe}, {', '.join(f'{t}={getattr(self, t)!r}' for t in told)})"

    @property
    def cautions(self) -> list[str]:
        """What a user may have got wrong without noticing."""
        found = delta_too_large(self.delta, self.records)
        if self.recipe.dropout == 0:
            found.append("without dropout, MC-dropout statistics show nothing of their own")
        elif self.samples == 1:
            found.append("with one MC-dropout sample the deviation is 0 and says nothing")
        return found

    @property
    def curve(self) -> Curve:
        """The trade-off curve that the accountant stands on."""
        q, steps = self.recipe.sample_rate(self.records), self.recipe.steps(self.records)
        return accounting.curve(self.recipe.noise_multiplier, q, steps)

    @cached_property
    def claim(self) -> Claim:
        """The chosen accountant's epsilon; the others' stand beside it."""
        curve = self.curve
        exact = isinstance(curve, GaussianCurve)
        others = [] if exact else [a for a in accounting.NUMERICAL if a != self.accountant]
        return Claim(
            epsilon=accounting.epsilon(curve, self.delta, self.accountant),
            delta=self.delta,
            curve=curve,
            source="exact Gaussian accounting" if exact else f"{self.accountant} accountant",
            beside=accounting.epsilons(curve, self.delta, others),
        )

    def play(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """One model a trial, and what it says of the canary."""
        return [self._play(pair, trial) for trial in trials]

    def _play(self, pair: Pair, trial: Trial) -> Observation:
        from dpaudit.training import backends, predict
        from dpaudit.training.dpsgd import fit

        model = fit(self.recipe, pair.world(trial.world), trial.seed, size=self.records).model
        ask_often = partial(backends.BACKENDS[self.backend].mc_dropout, model)
        return observed(partial(predict.logits, model), ask_often, pair, trial, self.samples)
