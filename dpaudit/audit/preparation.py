"""The pair of neighbouring data sets that a canary makes, found to be what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpaudit import data, registry
from dpaudit.audit import trials
from dpaudit.audit.folder import Run
from dpaudit.config import OWN, Config, mechanism_settings, unused_settings
from dpaudit.config.adversaries import ADVERSARIES, OBSERVER, PER_STEP
from dpaudit.config.settings import Planting, Source, Target
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.journal import Journal
from dpaudit.judging import one_run, plan, until_decided
from dpaudit.judging.choice import Choice
from dpaudit.judging.panel import AUTO
from dpaudit.mechanisms.function import Function
from dpaudit.protocols import CanaryBuilder, Mechanism
from dpaudit.types import Claim, Data, Known, Pair

OFFERED = frozenset({"clip", "executor", "canaries", "adjacency"})
"""What any canary may ask for."""


def make_builder(
    planting: Planting, mechanism: Mechanism, pool: Executor, given: Known
) -> CanaryBuilder:
    """What makes the configured canary, `given` what the adversary has crafted."""
    made: CanaryBuilder = registry.make(
        "canaries",
        planting.canary,
        recipe=mechanism.recipe,
        clip=planting.clip_canary or mechanism.bounded_canary,
        executor=pool,
        canaries=mechanism.canaries,
        adjacency=mechanism.claim.adjacency,
        **given,
    )
    return made


def make_pair(
    made_by: CanaryBuilder, name: str, data: Data, mechanism: Mechanism, seed: int
) -> Pair:
    """What a builder makes of the data; what a mechanism could not be played on is refused."""
    with wrap_errors(f"the canary {name}"):
        made = made_by.build(data, seed)
        if not isinstance(made, Pair):
            raise TypeError(f"it gave back {type(made).__name__}, not a Pair")
        if made.canary.x.shape != data.shape:
            raise ValueError(f"its record has the shape {made.canary.x.shape}")
    trials.refuse_other_adjacency(mechanism, made)
    mechanism.refuse(made)
    return made


def with_known(mechanism: Mechanism, pair: Pair) -> Pair:
    """Return the pair with what the adversary knows of it; kept with the run, sent to workers."""
    return replace(pair, given={**pair.given, **mechanism.known(pair)})


# ----------------------------------------------------------------
# A configuration with all that it names: everything that can be wrong is found out here.


Say = Callable[[str], None]
"""Told, in a few words, what a long silence is about to be spent on."""


def quiet(*told: object) -> None:
    """Shows nothing."""


@dataclass(frozen=True)
class Prepared:
    """A configuration that has been found to work, with what it names."""

    config: Config
    data: Data
    mechanism: Mechanism
    claim: Claim
    choice: Choice
    """How the run is judged as it is configured."""

    @property
    def folder(self) -> Path:
        """Where the run goes unless said otherwise: the same configuration, the same folder."""
        return Path("runs") / self.config.digest()


def prepare(
    config: Config,
    say: Say = quiet,
    download: bool = False,
    out: Path | None = None,
    build: bool = True,
) -> Prepared:
    """Find out everything that is wrong with a configuration before anything is written.

    A run that lies in `out` goes on by the backend that it was begun with. Without `build`, what
    trains is neither compiled nor checked: enough to plan a run, not to play it.
    """
    if out and config.training.backend == "auto" and Run(out).journal.exists():
        with Journal.read(Run(out).journal) as journal:
            config = config.changed(backend=journal.settings.get("backend", "auto"))
    choice = Choice.configured(config.flat())
    attacks, _ = choice.attack_plugins, choice.defence_plugin
    if choice.estimator != AUTO:
        registry.load("estimators", choice.estimator)
    if not _is_own(config.target):
        registry.load("mechanisms", config.target.mechanism)
    own = mechanism_settings.read(config.target.mechanism, config.target.set)
    settled: dict[str, Any] = {"set": mechanism_settings.written(own)}
    registry.load("canaries", config.planting.canary)
    loaded = records(config, download)
    settled["fingerprint"] = _unchanged_data(config.source, loaded)
    say(f"preparing {config.target.mechanism}")
    mechanism = _mechanism(config, own, loaded)
    if build:
        mechanism = mechanism.build_backend()
    settled["code"] = _unchanged_code(config.target, mechanism)
    _refuse_alone(config, mechanism)
    if mechanism.models is not None:
        settled["models"] = mechanism.models
    if recipe := mechanism.recipe:
        # Chosen by now, and part of the run: config.toml plays it again by the same one.
        settled["backend"] = recipe.training.backend
    if config.attacker.one_run:
        one_run.refuse_choosing(attacks)
    if (example := mechanism.example()) is not None:
        choice.refuse_blind(example)
    claim = _claim(config.target, mechanism)
    _refuse_canary(config, mechanism)
    if config.attacker.one_run:
        m, sure = config.attacker.canaries, config.judging.confidence
        r = config.attacker.guesses or plan.most_telling(claim, m, sure)
        settled["guesses"] = r
    elif config.volume.until_decided:
        until_decided.refuse_hopeless(attacks, claim, choice.confidence, config.volume.models)
    else:
        choice.panels(attacks, claim, config.seed)
    return Prepared(config.changed(**settled), loaded, mechanism, claim, choice)


def _unchanged_data(source: Source, loaded: Data) -> str:
    """Return the records' fingerprint; refuse others than the configuration was made for."""
    found = data.fingerprint(loaded)
    if source.fingerprint not in (None, found):
        raise BadInput(
            f"{source.data} does not hold the data that this configuration was made for",
            "data-changed",
            option="data",
            value=source.data,
        )
    return found


def _unchanged_code(target: Target, mechanism: Mechanism) -> str | None:
    """Return the hash of the user's code; refuse another than the configuration was made for."""
    if mechanism.code is not None and target.code not in (None, mechanism.code):
        raise BadInput(
            f"{target.mechanism} is not the code that this configuration was made for",
            "code-changed",
            option="mechanism",
            value=target.mechanism,
        )
    return mechanism.code or target.code


def records(config: Config, download: bool = False) -> Data:
    """The data set that a configuration names."""
    source = config.source
    try:
        source.data.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the path {source.data!a} is not text; rename the file", "not-text", option="data"
        ) from error
    return data.load(
        source.data,
        config.seed,
        size=source.size,
        root=source.data_root,
        download=download,
        label=source.label,
        bounds=source.bounds,
        ignore=source.ignore,
    )


def neighbouring(prepared: Prepared, pool: Executor, say: Say) -> Pair:
    """The neighbouring data sets that the configured canary makes."""
    config, mechanism = prepared.config, prepared.mechanism
    name = config.planting.canary
    say(f"making the canary ({name})")
    given = mechanism.craft(prepared.data, config.seed)
    builder = make_builder(config.planting, mechanism, pool, given)
    made = make_pair(builder, name, prepared.data, mechanism, config.seed)
    return with_known(mechanism, replace(made, given={**given, **made.given}))


def _refuse_canary(config: Config, mechanism: Mechanism) -> None:
    """Refuse a canary that the adversary or the mechanism has no use for, or that lacks a need."""
    name, adversary = config.planting.canary, ADVERSARIES[config.attacker.adversary]
    if "adversary" in unused_settings(config.target.mechanism):
        adversary = OBSERVER
    gradient = registry.load("canaries", name).gradient
    if adversary.asks and gradient:
        able = " or ".join(a.name for a in ADVERSARIES.values() if not a.asks)
        raise BadInput(
            f"{name} is a gradient, not a record; it takes --adversary {able}",
            "needs-record",
            option="canary",
            value=name,
        )
    if adversary == PER_STEP and not gradient:
        raise BadInput(
            f"per-step puts a gradient into every step, and {name} is none; take --canary "
            "dirac or random-direction",
            "needs-gradient-canary",
            option="canary",
            value=name,
        )
    there = {"recipe"} if mechanism.recipe else set()
    there |= {"initial"} if adversary.crafts else set()
    registry.refuse_needs("canaries", name, there | OFFERED)


def _refuse_alone(config: Config, mechanism: Mechanism) -> None:
    """Refuse many canaries where only one can be put in, or made."""
    if not config.attacker.one_run:
        return
    if mechanism.canaries != config.attacker.canaries:
        raise BadInput(
            f"{config.target.mechanism} cannot be given many canaries in one training",
            "one-canary-only",
            option="mechanism",
            value=config.target.mechanism,
        )
    name = config.planting.canary
    builder = registry.load("canaries", name)
    if not builder.gradient or "canaries" not in registry.parameters(builder):
        raise BadInput(
            f"{name} is one canary; many take --canary dirac, for example",
            "one-canary-only",
            option="canary",
            value=name,
        )


def _is_own(target: Target) -> bool:
    """Whether the mechanism is a user's function, MODULE:FUNCTION, and not a plug-in's name."""
    return ":" in target.mechanism or target.mechanism == OWN


def _mechanism(config: Config, own: Mapping[str, Any], loaded: Data) -> Mechanism:
    target = config.target
    if not _is_own(target):
        made: Mechanism = registry.make(
            "mechanisms", target.mechanism, **{**config.flat(), **own, "data": loaded}
        )
        return made
    if target.mechanism == OWN:
        raise BadInput(
            "name your own function instead: --mechanism MODULE:FUNCTION",
            "needs-function",
            option="mechanism",
            value=target.mechanism,
        )
    if target.claim is None:
        raise BadInput(
            f"state what {target.mechanism} claims: --claim EPS,DELTA, such as 8,1e-5",
            "needs-claim",
            option="claim",
            value=target.mechanism,
        )
    return Function(
        *(target.mechanism, target.claim, loaded, target.outputs),
        *(config.attacker.samples, config.seed),
    )


def _claim(target: Target, mechanism: Mechanism) -> Claim:
    """The mechanism's own claim, or the bare one that the user put in its place."""
    own = mechanism.claim
    if not isinstance(own, Claim):
        raise BadInput(
            f"the claim of {target.mechanism} must be a Claim, not {own!r:.60}",
            "wrong-type",
            option="claim",
            value=type(own).__name__,
        )
    if target.claim in (None, (own.epsilon, own.delta)):
        return own
    if own.by_step:
        raise BadInput(
            "single steps show nothing of a claim that is not about how they make up the training; "
            "leave --claim out",
            "single-steps",
            option="claim",
        )
    epsilon, delta = target.claim
    return Claim(
        epsilon,
        delta,
        unit=own.unit,
        adjacency=own.adjacency,
        beside={own.source: own.epsilon},
        trials=own.trials,
    )
