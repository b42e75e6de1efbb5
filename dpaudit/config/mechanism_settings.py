"""Settings that only one mechanism has: what its constructor asks for, and no run has by itself.

Given as `--set NAME=VALUE`, or as a list of such texts in TOML. A value is read as the type that
the constructor states: str, int, float or bool, or one of them or None.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpaudit import checks, registry
from dpaudit.config import DEFAULT
from dpaudit.errors import BadInput

GIVEN = frozenset({"data", *DEFAULT})
"""What a run has to offer to any mechanism."""

SWITCH = {"true": True, "false": False}


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


READ: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": _finite,
    "bool": SWITCH.__getitem__,
}
"""How a text becomes a value of a type."""


def known(mechanism: str) -> Mapping[str, inspect.Parameter]:
    """The settings of a mechanism's own, by name."""
    if ":" in mechanism:
        return {}
    asked = registry.parameters(registry.load("mechanisms", mechanism))
    return {n: p for n, p in asked.items() if n not in GIVEN and _kind(p) in READ}


def read(mechanism: str, texts: Iterable[str]) -> dict[str, Any]:
    """The values of all settings of a mechanism's own: those given and, of the rest, the defaults.

    What it does not have, or cannot be read, is refused; all of it together.
    """
    there, values = known(mechanism), {}
    problems: list[BadInput | None] = []
    for name, text in _parted(texts).items():
        if name not in there:
            problems.append(_unknown(mechanism, name, there))
            continue
        kind = _kind(there[name])
        try:
            values[name] = READ[kind](text)
        except (KeyError, ValueError):
            wanted = {"int": "a whole number", "float": "a number", "bool": "true or false"}[kind]
            said = f"{name} of {mechanism} must be {wanted}, not {checks.format_value(text)}"
            problems.append(BadInput(said, "wrong-type", option=name, value=text))
        else:
            problems.append(checks.not_above(name, values[name]))
    checks.refuse(problems)
    defaults = {n: p.default for n, p in there.items() if p.default is not p.empty}
    return {**defaults, **values}


def written(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that give the same values again, in one order: equal settings, equal hashes."""
    said = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in values.items()}
    return tuple(f"{n}={said[n]}" for n in sorted(said) if values[n] is not None)


def merged(first: Iterable[str], then: Iterable[str]) -> tuple[str, ...]:
    """Texts of which the later take the place of the earlier of their name."""
    both = {**_parted(first), **_parted(then)}
    return tuple(f"{name}={text}" for name, text in both.items())


def describe(mechanism: str) -> list[str]:
    """A line for each setting, with its default, as `dpaudit explain` shows them."""
    lines = []
    for name, p in known(mechanism).items():
        (default,) = written({"": p.default}) or ("=(left out)",)
        lines.append(f"--set {name}={'(needed)' if p.default is p.empty else default[1:]}")
    return lines


def _parted(texts: Iterable[str]) -> dict[str, str]:
    parted: dict[str, str] = {}
    for given in texts:
        name, equals, text = given.partition("=")
        if not (name and equals):
            raise BadInput(
                f"'{given}' sets nothing; write NAME=VALUE, such as reports=2",
                "not-a-setting",
                option="set",
                value=given,
            )
        if name in parted:
            raise BadInput(
                f"{name} is set twice, to {parted[name]} and to {text}; set it once",
                "stated-twice",
                option=name,
                value=text,
            )
        parted[name] = text
    return parted


def _unknown(mechanism: str, name: str, there: Mapping[str, Any]) -> BadInput:
    if ":" not in mechanism and name in registry.parameters(registry.load("mechanisms", mechanism)):
        return BadInput(
            f"{name} is no setting of {mechanism} alone; give it as --{name.replace('_', '-')}",
            "not-its-own",
            option=name,
            value=mechanism,
        )
    if not there:
        return BadInput(
            f"{mechanism} has no settings of its own; leave --set {name} out",
            "no-settings",
            option=name,
            value=mechanism,
        )
    said = registry.unknown(f"settings of {mechanism}", name, list(there))
    return BadInput(said, "unknown-name", option="set", value=name)


def _kind(parameter: inspect.Parameter) -> str:
    """The name of the type that is asked for; of one or None, the one."""
    stated = parameter.annotation
    text = stated if isinstance(stated, str) else getattr(stated, "__name__", str(stated))
    return text.removesuffix(" | None")
