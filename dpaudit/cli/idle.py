"""What would change nothing is refused: whoever says it would believe that it did."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dpaudit import registry
from dpaudit.cli.misuse import Misuse
from dpaudit.config import Config, mechanism_settings, unasked
from dpaudit.config.adversaries import ADVERSARIES, PER_STEP, Adversary

OWN_TRAINING = "dpsgd"
"""The mechanism that takes all settings of training."""


def refuse(config: Config, said: Mapping[str, Any]) -> None:
    """Refuse settings that were `said` for a configuration in which they have no effect."""
    for name, why in _without_effect(config, said):
        if name in said:
            raise Misuse(f"{_flags([name])} has no effect {why}", "no-effect")
    own = [text.partition("=")[0] for text in said.get("set", ())]
    for name, why in _by_own_settings(config):
        if name in own or name in said:
            flag = f"--set {name}" if name in own else _flags([name])
            raise Misuse(f"{flag} has no effect {why}; leave it out", "no-effect")
    if said.get("canaries") == 1:
        raise Misuse(
            "--canaries 1 is one canary, which every run has; give at least 2, or leave it out",
            "too-small",
        )


def refuse_unknown(mechanism: str, said: Mapping[str, Any]) -> None:
    """Refuse settings that a mechanism does not look at."""
    unused = [name for name in said if name in _unknown(mechanism)]
    if unused:
        verb = "has" if len(unused) == 1 else "have"
        raise Misuse(f"{_flags(unused)} {verb} no effect on {mechanism}", "no-effect")


def _unknown(mechanism: str) -> Collection[str]:
    # The pixels of a user's function are kept in [0, 1] anyway.
    return unasked(mechanism) | ({"clip_canary"} if ":" in mechanism else set())


def _without_effect(config: Config, said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Settings that others make idle, and why."""
    adversary = ADVERSARIES.get(config.attacker.adversary)
    if config.target.mechanism == OWN_TRAINING and adversary is not None:
        yield from _of_adversary(adversary, config)
        if config.training.batch == "full":
            yield "accountant", "on full batches, whose epsilon is computed exactly"
    if "clip_canary" in said and not _takes_noise(config.planting.canary):
        yield "clip_canary", f"on {config.planting.canary}, to which no adversarial noise is added"


def _by_own_settings(config: Config) -> Iterator[tuple[str, str]]:
    """Settings that those of a mechanism's own make idle, as it says itself, and why."""
    if config.target.mechanism in registry.names("mechanisms"):
        plugin = registry.load("mechanisms", config.target.mechanism)
        own = mechanism_settings.read(config.target.mechanism, config.target.set)
        yield from plugin.unused_settings(own).items()


def _of_adversary(adversary: Adversary, config: Config) -> Iterator[tuple[str, str]]:
    if adversary == PER_STEP:
        yield "models", "on single steps, of which all are trials"
    if not adversary.crafts:
        return
    yield "init", f"where the adversary chooses the initial parameters, as {adversary.name} does"
    if not adversary.asks:
        yield "samples", f"where the trained model is asked nothing, as by {adversary.name}"
    elif config.training.dropout == 0:
        yield "samples", "without dropout, which leaves nothing to sample (--dropout)"


def _takes_noise(canary: str) -> bool:
    """Whether a canary may leave the range of pixels; of an unknown one, others tell."""
    if canary not in registry.names("canaries"):
        return True
    return "clip" in registry.asked(registry.load("canaries", canary))


def _flags(names: Collection[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)
