"""A configuration with all that it names: everything that can be wrong is found out here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import data, defences, one_run, own_settings, plan, planting, registry, sequential
from dpaudit.adversaries import ADVERSARIES, PER_STEP
from dpaudit.choice import Choice
from dpaudit.config import OWN, Config
from dpaudit.errors import BadInput
from dpaudit.journal import Journal
from dpaudit.jury import AUTO
from dpaudit.mechanisms.function import Function
from dpaudit.protocols import Mechanism
from dpaudit.runs import Run
from dpaudit.types import Claim, Data, Known, Pair

Say = Callable[[str], None]
"""Told, in a few words, what a long silence is about to be spent on."""


def quiet(*told: object) -> None:
    """Shows nothing."""


@dataclass(frozen=True)
class Prepared:
    """A configuration that has been found to work, with its data, mechanism and claim."""

    config: Config
    data: Data
    mechanism: Mechanism
    claim: Claim

    @property
    def folder(self) -> Path:
        """Where the run goes unless said otherwise: the same configuration, the same folder."""
        return Path("runs") / self.config.digest()


def prepare(
    config: Config, say: Say = quiet, download: bool = False, out: Path | None = None
) -> Prepared:
    """Find out everything that is wrong with a configuration before anything is written.

    A run that lies in `out` goes on by the backend that it was begun with.
    """
    config.check()
    if out and config.backend == "auto" and Run(out).journal.exists():
        with Journal.read(Run(out).journal) as journal:
            config = replace(config, backend=journal.settings.get("backend", "auto"))
    choice = Choice.configured(vars(config))
    attacks = choice.make_attacks()
    if config.estimator != AUTO:
        registry.load("estimators", config.estimator)
    defences.make(config.defence)
    if not _is_own(config):
        registry.load("mechanisms", config.mechanism)
    own = own_settings.read(config.mechanism, config.set)
    config = replace(config, set=own_settings.written(own))
    registry.load("canaries", config.canary)
    try:
        config.data.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the path {config.data!a} is not text; rename the file", "not-text", option="data"
        ) from error
    loaded = records(config, download)
    found = data.fingerprint(loaded)
    if config.fingerprint not in (None, found):
        raise BadInput(
            f"{config.data} does not hold the data that this configuration was made for",
            "data-changed",
            option="data",
            value=config.data,
        )
    config = replace(config, fingerprint=found)
    say(f"preparing {config.mechanism}")
    mechanism = _mechanism(config, own, loaded)
    if isinstance(mechanism, Function):
        if config.code not in (None, mechanism.code):
            raise BadInput(
                f"{config.mechanism} is not the code that this configuration was made for",
                "code-changed",
                option="mechanism",
                value=config.mechanism,
            )
        config = replace(config, code=mechanism.code)
    _refuse_alone(config, mechanism)
    if models := getattr(mechanism, "models", None):
        config = replace(config, models=models)
    if recipe := getattr(mechanism, "recipe", None):
        # Chosen by now, and part of the run: config.toml plays it again by the same one.
        config = replace(config, backend=recipe.backend)
    if config.one_run:
        one_run.refuse_choosing(attacks)
    if hasattr(mechanism, "example"):
        choice.refuse_blind(mechanism.example)
    claim = _claim(config, mechanism)
    _refuse_gradient(config, mechanism)
    if config.one_run:
        r = config.guesses or plan.most_telling(claim, config.canaries, config.confidence)
        config = replace(config, guesses=r)
    elif config.until_decided:
        sequential.refuse_hopeless(attacks, claim, config.confidence, config.models)
    else:
        choice.juries(attacks, claim, config.seed)
    return Prepared(config, loaded, mechanism, claim)


def records(config: Config, download: bool = False) -> Data:
    """The data set that a configuration names."""
    return data.load(
        config.data,
        config.seed,
        size=config.size,
        root=config.data_root,
        download=download,
        label=config.label,
        bounds=config.bounds,
        ignore=config.ignore,
    )


def neighbouring(prepared: Prepared, pool: Executor, say: Say) -> Pair:
    """The neighbouring data sets that the configured canary makes."""
    config, mechanism = prepared.config, prepared.mechanism
    say(f"making the canary ({config.canary})")
    given: Known = {}
    if hasattr(mechanism, "craft"):
        given = mechanism.craft(prepared.data, config.seed)
    builder = planting.builder(config, mechanism, pool, given)
    made = planting.pair(builder, config.canary, prepared.data, mechanism, config.seed)
    return planting.foreseen(mechanism, replace(made, given={**given, **made.given}))


def _refuse_gradient(config: Config, mechanism: Mechanism) -> None:
    """Refuse a canary that is no record, where gradients cannot be put in or are not looked at."""
    crafted = ADVERSARIES[config.adversary].crafts and not isinstance(mechanism, Function)
    asks = ADVERSARIES[config.adversary].asks or isinstance(mechanism, Function)
    gradient = getattr(registry.load("canaries", config.canary), "gradient", False)
    if asks and gradient:
        able = " or ".join(a.name for a in ADVERSARIES.values() if not a.asks)
        raise BadInput(
            f"{config.canary} is a gradient, not a record; it takes --adversary {able}",
            "needs-record",
            option="canary",
            value=config.canary,
        )
    if config.adversary == PER_STEP.name and not gradient:
        raise BadInput(
            f"per-step puts a gradient into every step, and {config.canary} is none; take --canary "
            "dirac or random-direction",
            "needs-gradient-canary",
            option="canary",
            value=config.canary,
        )
    planting.builder(config, mechanism, None, {"initial": np.zeros(0)} if crafted else {})


def _refuse_alone(config: Config, mechanism: Mechanism) -> None:
    """Refuse many canaries where only one can be put in, or made."""
    if not config.one_run:
        return
    if getattr(mechanism, "canaries", 1) != config.canaries:
        raise BadInput(
            f"{config.mechanism} cannot be given many canaries in one training",
            "one-canary-only",
            option="mechanism",
            value=config.mechanism,
        )
    builder = registry.load("canaries", config.canary)
    if not getattr(builder, "gradient", False) or "canaries" not in registry.asked(builder):
        raise BadInput(
            f"{config.canary} is one canary; many take --canary dirac, for example",
            "one-canary-only",
            option="canary",
            value=config.canary,
        )


def _is_own(config: Config) -> bool:
    """Whether the mechanism is a user's function, MODULE:FUNCTION, and not a plug-in's name."""
    return ":" in config.mechanism or config.mechanism == OWN


def _mechanism(config: Config, own: Mapping[str, Any], loaded: Data) -> Mechanism:
    if not _is_own(config):
        made: Mechanism = registry.make(
            "mechanisms", config.mechanism, **{**vars(config), **own, "data": loaded}
        )
        return made
    if config.mechanism == OWN:
        raise BadInput(
            "name your own function instead: --mechanism MODULE:FUNCTION",
            "needs-function",
            option="mechanism",
            value=config.mechanism,
        )
    if config.claim is None:
        raise BadInput(
            f"state what {config.mechanism} claims: --claim EPS,DELTA, such as 8,1e-5",
            "needs-claim",
            option="claim",
            value=config.mechanism,
        )
    return Function(
        config.mechanism, config.claim, loaded, config.outputs, config.samples, config.seed
    )


def _claim(config: Config, mechanism: Mechanism) -> Claim:
    """The mechanism's own claim, or the bare one that the user put in its place."""
    own = mechanism.claim
    if not isinstance(own, Claim):
        raise BadInput(
            f"the claim of {config.mechanism} must be a Claim, not {own!r:.60}",
            "wrong-type",
            option="claim",
            value=type(own).__name__,
        )
    if config.claim in (None, (own.epsilon, own.delta)):
        return own
    if own.by_step:
        raise BadInput(
            "single steps show nothing of a claim that is not about how they make up the training; "
            "leave --claim out",
            "single-steps",
            option="claim",
        )
    epsilon, delta = config.claim
    return Claim(
        epsilon,
        delta,
        unit=own.unit,
        adjacency=own.adjacency,
        beside={own.source: own.epsilon},
        trials=own.trials,
    )
