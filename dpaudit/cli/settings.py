"""The configuration that options make up; options that have no effect in it are rejected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpaudit import registry
from dpaudit.cli import Misuse
from dpaudit.cli.options import claim_with_delta, given_only
from dpaudit.config import Config, mechanism_settings, plugin_defaults, unused_settings
from dpaudit.config.adversaries import ADVERSARIES, PER_STEP
from dpaudit.config.settings import Target


def ladder_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that the options of a ladder change, which the observer's run takes."""
    configured(None, given)
    return _settings(Config(), given_only(given))


def configured(file: Path | None, given: Mapping[str, Any]) -> Config:
    """Return the saved configuration, or the default one, changed by the given options."""
    config = Config() if file is None else Config.from_toml(file)
    named = given_only(given)
    if "epochs" in named and "steps" in named:
        sentence = "--epochs and --steps both set the length of training; give either"
        raise Misuse(sentence, "excluded-options")
    mechanism = named.get("mechanism", config.target.mechanism)
    if "claim" in named:
        delta = named.get("delta")
        named["claim"] = claim_with_delta(named["claim"], delta, config.privacy.delta)
        if "delta" in unused_settings(mechanism):  # it is the claim's delta only
            named.pop("delta", None)
    settings = _settings(config, named)
    # The pixels of a user's function are kept in [0, 1] anyway.
    unused = unused_settings(mechanism) | ({"clip_canary"} if ":" in mechanism else set())
    reject_without_effect([name for name in named if name in unused], mechanism)
    if "models" in named and named.get("canaries", config.attacker.canaries) > 1:
        sentence = "--canaries (one training) and --models (many trainings) exclude each other"
        raise Misuse(sentence, "excluded-options")
    made = config.changed(**{**plugin_defaults(settings), **settings})
    _reject_combinations(made, named)
    return made


def _settings(config: Config, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that options change, with those that follow from them.

    Files are named by absolute paths, so that the configuration holds wherever it is read.
    """
    from dpaudit import data

    settings = {("attacks" if name == "attack" else name): value for name, value in named.items()}
    if "data_root" in named:
        settings["data_root"] = str(Path(named["data_root"]).expanduser().resolve())
    if "data" in named:
        settings |= {"fingerprint": None, "data": data.absolute(named["data"])}
    other = named.get("mechanism", config.target.mechanism) != config.target.mechanism
    if other or "set" in named:
        kept = () if other else config.target.set
        settings["set"] = mechanism_settings.merge_texts(kept, named.get("set", ()))
    if "mechanism" in named:
        settings["code"] = None
        where, _, function = named["mechanism"].rpartition(":")
        if where.endswith(".py"):
            settings["mechanism"] = f"{Path(where).expanduser().resolve()}:{function}"
    if "epochs" in named:
        settings["steps"] = None
    return settings


def reject_without_effect(names: Sequence[str], on: str) -> None:
    """Reject these options, if there are any, because they have no effect on something."""
    if names:
        verb = "has" if len(names) == 1 else "have"
        raise Misuse(f"{_flags(names)} {verb} no effect on {on}", "no-effect")


def _reject_combinations(config: Config, named: Mapping[str, Any]) -> None:
    """Reject options that have no effect in this configuration."""
    for name, why in _without_effect(config, named):
        if name in named:
            raise Misuse(f"{_flags([name])} has no effect {why}", "no-effect")
    own = [text.partition("=")[0] for text in named.get("set", ())]
    for name, why in _unused_by_plugin(config):
        if name in own or name in named:
            flag = f"--set {name}" if name in own else _flags([name])
            raise Misuse(f"{flag} has no effect {why}; leave it out", "no-effect")
    if named.get("canaries") == 1:
        sentence = "--canaries 1 is one canary, as every run has; give at least 2, or leave it out"
        raise Misuse(sentence, "too-small")


def _without_effect(config: Config, named: Collection[str]) -> Iterator[tuple[str, str]]:
    """Find settings that have no effect beside others, and why."""
    canary = config.planting.canary
    # An unknown name is refused later.
    known = "clip_canary" in named and canary in registry.names("canaries")
    if known and "clip" not in registry.parameters(registry.load("canaries", canary)):
        yield "clip_canary", f"on {canary}, to which no adversarial noise is added"
    if config.target.mechanism != Target.mechanism:  # which takes all settings of training
        return
    if config.training.batch == "full":
        yield "accountant", "on full batches, whose epsilon is computed exactly"
    adversary = ADVERSARIES[config.attacker.adversary]
    if adversary == PER_STEP:
        yield "models", "on single steps, of which all are trials"
    if not adversary.crafts:
        return
    yield "init", f"where the adversary chooses the initial parameters, as {adversary.name} does"
    if not adversary.asks:
        yield "samples", f"where the trained model is not queried, as by {adversary.name}"
    elif config.training.dropout == 0:
        yield "samples", "without dropout, which leaves nothing to sample (--dropout)"


def _unused_by_plugin(config: Config) -> Iterator[tuple[str, str]]:
    """Find settings that have no effect beside a mechanism's own ones, and why."""
    if config.target.mechanism in registry.names("mechanisms"):
        plugin = registry.load("mechanisms", config.target.mechanism)
        own = mechanism_settings.read(config.target.mechanism, config.target.set)
        yield from plugin.unused_settings(own).items()


def _flags(names: Collection[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)
