"""Prepare a configuration for a run: make what it names, and find everything that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpaudit import data, registry
from dpaudit.audit.folder import Run
from dpaudit.audit.trials import refuse_other_adjacency
from dpaudit.config import OWN, Config, mechanism_settings, unused_settings
from dpaudit.config.adversaries import ADVERSARIES, OBSERVER, PER_STEP
from dpaudit.config.settings import Planting, Target
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.estimators.hold_out import chooses
from dpaudit.estimators.power.prospect import LIMITED
from dpaudit.journal import Journal
from dpaudit.judging import one_run, plan, until_decided
from dpaudit.judging.choice import Choice
from dpaudit.judging.expectation import too_few
from dpaudit.judging.panel import AUTO, RANKING
from dpaudit.protocols import CanaryBuilder, Mechanism
from dpaudit.types import Canary, Claim, Data, Known, Pair, neighbours

OFFERED = frozenset({"clip", "executor", "canaries", "adjacency"})
"""The parameters that any canary is given."""

Say = Callable[[str], None]
"""Shows, in a few words, which long step begins."""


def quiet(*values: object) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class PreparedAudit:
    """A configuration that was found to work, with what it names."""

    config: Config
    data: Data
    mechanism: Mechanism
    claim: Claim
    choice: Choice
    """The configured choice of how to judge."""

    @property
    def folder(self) -> Path:
        """The default folder of the run: the same configuration, the same folder."""
        return Path("runs") / self.config.digest()

    @property
    def too_few(self) -> str:
        """A warning that this number of models can never decide on the claim; empty if it can."""
        config, choice = self.config, self.choice
        if config.attacker.one_run or config.volume.until_decided or choice.raw_scores:
            return ""
        attacks = choice.attack_plugins
        panels = choice.panels(attacks, self.claim, config.seed)
        firsts = {panel.names[0] for panel in panels.values()}
        if not firsts <= {RANKING, *LIMITED}:
            return ""
        chosen = len(attacks) > 1 or any(chooses(a, panels[n].takes) for n, a in attacks.items())
        each, ranked = 4 if chosen else 2, RANKING in firsts
        return too_few(self.claim, ranked, choice.confidence, config.volume.models, each)

    def any_pair(self, say: Say) -> Pair:
        """Return a pair on which the mechanism can be rehearsed, at no cost."""
        say(f"rehearsing {self.config.target.mechanism}")
        x, y = self.data.pool.x[0], int(self.data.pool.y[0])
        return neighbours(self.data, Canary(x, y, "any", "", kind="nothing"))

    def restored_pair(self, canary: Canary, given: Known) -> Pair:
        """Return the pair of a run that was begun, from what its journal stores."""
        return replace(neighbours(self.data, canary), given=given)


def prepare(
    config: Config,
    say: Say = quiet,
    download: bool = False,
    out: Path | None = None,
    build: bool = True,
) -> PreparedAudit:
    """Make what a configuration names, and refuse what is wrong before anything is written.

    A run in `out` is resumed with the backend that it was begun with. Without `build`, the
    training code is neither compiled nor checked: enough to plan a run, not to play it.
    """
    if out and config.training.backend == "auto" and Run(out).journal.exists():
        with Journal.read(Run(out).journal) as journal:
            config = config.changed(backend=journal.settings.get("backend", "auto"))
    target, judging = config.target, config.judging
    choice = Choice.of_settings(config.flat())
    attacks, _ = choice.attack_plugins, choice.defence_plugin
    if choice.estimator != AUTO:
        registry.load("estimators", choice.estimator)
    _refuse_incomplete(target)
    own = mechanism_settings.read(target.mechanism, target.set)
    registry.load("canaries", config.planting.canary)
    loaded = load_records(config, download)
    found = data.fingerprint(loaded)
    settled: dict[str, Any] = {"set": mechanism_settings.as_texts(own), "fingerprint": found}
    _refuse_changed("data", config.source.data, config.source.fingerprint, found)
    say(f"preparing {target.mechanism}")
    mechanism = _mechanism(config, own, loaded)
    if build:
        mechanism = mechanism.build_backend()
    settled["code"] = mechanism.code or target.code
    _refuse_changed("code", target.mechanism, target.code, settled["code"])
    if mechanism.models is not None:
        settled["models"] = mechanism.models
    if recipe := mechanism.recipe:
        # Part of the run from now on: its config.toml names the backend that was chosen.
        settled["backend"] = recipe.training.backend
    _refuse_canary(config, mechanism)
    if config.attacker.one_run:
        one_run.refuse_choosing(attacks)
    if (example := mechanism.example()) is not None:
        choice.refuse_blind(example)
    claim = _claim(target, mechanism)
    if config.attacker.one_run:
        m, r = config.attacker.canaries, config.attacker.guesses
        settled["guesses"] = r or plan.best_guess_count(claim, m, judging.confidence)
    elif config.volume.until_decided:
        until_decided.refuse_undecidable(attacks, claim, choice.confidence, config.volume.models)
    else:
        choice.panels(attacks, claim, config.seed)
    return PreparedAudit(config.changed(**settled), loaded, mechanism, claim, choice)


def load_records(config: Config, download: bool = False) -> Data:
    """Load the data set that a configuration names."""
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


def _is_own(target: Target) -> bool:
    """Tell whether the mechanism is a user's function, MODULE:FUNCTION, and not a plug-in."""
    return ":" in target.mechanism or target.mechanism == OWN


def _refuse_incomplete(target: Target) -> None:
    """Refuse an unknown mechanism, and an own function without its name or its claim."""
    if not _is_own(target):
        registry.load("mechanisms", target.mechanism)
    elif target.mechanism == OWN:
        text = "name your own function instead: --mechanism MODULE:FUNCTION"
        raise BadInput(text, "needs-function", option="mechanism", value=target.mechanism)
    elif target.claim is None:
        text = f"state what {target.mechanism} claims: --claim EPS,DELTA, such as 8,1e-5"
        raise BadInput(text, "needs-claim", option="claim", value=target.mechanism)


def _refuse_changed(what: str, name: str, stated: str | None, found: str | None) -> None:
    """Refuse other data, or other code, than a configuration was made for."""
    if stated not in (None, found):
        raise BadInput(
            f"{name} is not the {what} that this configuration was made for",
            f"{what}-changed",
            option="data" if what == "data" else "mechanism",
            value=name,
        )


def _mechanism(config: Config, own: Mapping[str, Any], loaded: Data) -> Mechanism:
    target = config.target
    if target.claim is not None and _is_own(target):
        from dpaudit.mechanisms.function import Function  # plans import no torch

        return Function(
            *(target.mechanism, target.claim, loaded, target.outputs),
            *(config.attacker.samples, config.seed),
        )
    offered = {**config.flat(), **own, "data": loaded}
    made: Mechanism = registry.make("mechanisms", target.mechanism, **offered)
    return made


def _claim(target: Target, mechanism: Mechanism) -> Claim:
    """Return the mechanism's own claim, or the bare one that the user stated instead."""
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
            "single steps test only the mechanism's own claim; leave --claim out",
            "single-steps",
            option="claim",
        )
    return Claim(
        *target.claim,
        unit=own.unit,
        adjacency=own.adjacency,
        beside={own.source: own.epsilon},
        trials=own.trials,
    )


# ---------------------------------------------------------------- the canary and its pair


def _refuse_canary(config: Config, mechanism: Mechanism) -> None:
    """Refuse a canary, or a number of them, that adversary or mechanism cannot use."""
    name, target, attacker = config.planting.canary, config.target.mechanism, config.attacker
    builder = registry.load("canaries", name)
    many, gradient = attacker.one_run, builder.gradient
    adversary = (
        OBSERVER if "adversary" in unused_settings(target) else ADVERSARIES[attacker.adversary]
    )
    if many and mechanism.canaries != attacker.canaries:
        text = f"{target} does not support many canaries in one training"
        raise BadInput(text, "one-canary-only", option="mechanism", value=target)
    code = text = ""
    if many and not (gradient and "canaries" in registry.parameters(builder)):
        code = "one-canary-only"
        text = f"{name} is one canary; many canaries need another, such as --canary dirac"
    elif adversary.asks and gradient:
        able = " or ".join(a.name for a in ADVERSARIES.values() if not a.asks)
        code = "needs-record"
        text = f"{name} is a gradient, not a record; it takes --adversary {able}"
    elif adversary == PER_STEP and not gradient:
        code = "needs-gradient-canary"
        text = (
            f"per-step puts a gradient into every step, and {name} is a record; take --canary "
            "dirac or random-direction"
        )
    if code:
        raise BadInput(text, code, option="canary", value=name)
    there = {"recipe"} if mechanism.recipe else set()
    there |= {"initial"} if adversary.crafts else set()
    registry.refuse_needs("canaries", name, there | OFFERED)


def planted_pair(prepared: PreparedAudit, pool: Executor, say: Say) -> Pair:
    """Return the neighbouring data sets that the configured canary makes."""
    planting, mechanism = prepared.config.planting, prepared.mechanism
    say(f"making the canary ({planting.canary})")
    with wrap_errors(f"{type(mechanism).__name__}.craft"):
        given = dict(mechanism.craft(prepared.data, prepared.config.seed))
    builder = make_builder(planting, mechanism, pool, given)
    made = make_pair(builder, planting.canary, prepared.data, mechanism, prepared.config.seed)
    return with_known(mechanism, replace(made, given={**given, **made.given}))


def make_builder(
    planting: Planting, mechanism: Mechanism, pool: Executor, given: Known
) -> CanaryBuilder:
    """Return the builder of the configured canary, `given` what the adversary has crafted."""
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
    builder: CanaryBuilder, name: str, data: Data, mechanism: Mechanism, seed: int
) -> Pair:
    """Return the pair that a builder makes; refuse one that the mechanism cannot use."""
    with wrap_errors(f"the canary {name}"):
        made = builder.build(data, seed)
        if not isinstance(made, Pair):
            raise TypeError(f"it gave back {type(made).__name__}, not a Pair")
        if made.canary.x.shape != data.shape:
            raise ValueError(f"its record has the shape {made.canary.x.shape}")
    refuse_other_adjacency(mechanism, made)
    with wrap_errors(f"{type(mechanism).__name__}.refuse"):
        mechanism.refuse(made)
    return made


def with_known(mechanism: Mechanism, pair: Pair) -> Pair:
    """Return the pair with what the adversary knows of it; kept with the run, sent to workers."""
    with wrap_errors(f"{type(mechanism).__name__}.known"):
        known = dict(mechanism.known(pair))
    return replace(pair, given={**pair.given, **known})
