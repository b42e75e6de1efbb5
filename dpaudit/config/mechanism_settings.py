"""Settings of one mechanism only: the parameters of its constructor that are no run's settings.

They are given as `--set NAME=VALUE`, or as a list of such texts in TOML. A value is read as the
type that the constructor states: str, int, float or bool, or one of them or None.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpaudit import checks, registry
from dpaudit.config import DEFAULT
from dpaudit.errors import BadInput


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


READ: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": _finite,
    "bool": {"true": True, "false": False}.__getitem__,
}
"""The reader of each type's values."""

KIND = {"int": "a whole number", "float": "a number", "bool": "true or false"}


def named_settings(mechanism: str) -> Mapping[str, inspect.Parameter]:
    """Return the settings of a mechanism's own, by name."""
    if ":" in mechanism:
        return {}
    parameters = registry.parameters(registry.load("mechanisms", mechanism))
    return {
        name: parameter
        for name, parameter in parameters.items()
        if name != "data" and name not in DEFAULT and _kind(parameter) in READ
    }


def read(mechanism: str, texts: Iterable[str]) -> dict[str, Any]:
    """Return all settings of a mechanism's own: those given, and the defaults of the rest.

    Unknown ones and unreadable values are refused together.
    """
    there, values = named_settings(mechanism), {}
    problems: list[BadInput | None] = []
    for name, text in _parted(texts).items():
        if name not in there:
            problems.append(_unknown(mechanism, name, there))
            continue
        kind = _kind(there[name])
        try:
            values[name] = READ[kind](text)
        except (KeyError, ValueError):
            shown = checks.format_value(text)
            sentence = f"{name} of {mechanism} must be {KIND[kind]}, not {shown}"
            problems.append(BadInput(sentence, "wrong-type", option=name, value=text))
        else:
            problems.append(checks.not_above(name, values[name]))
    checks.refuse(problems)
    defaults = {n: p.default for n, p in there.items() if p.default is not p.empty}
    return {**defaults, **values}


def as_texts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of values, sorted, so that equal settings have equal hashes."""
    texts = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in values.items()}
    return tuple(f"{n}={texts[n]}" for n in sorted(texts) if values[n] is not None)


def merge_texts(first: Iterable[str], then: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of both; the later replace the earlier of the same name."""
    both = {**_parted(first), **_parted(then)}
    return tuple(f"{name}={text}" for name, text in both.items())


def describe(mechanism: str) -> list[str]:
    """Return a line a setting, with its default, for `dpaudit explain`."""
    lines = []
    for name, p in named_settings(mechanism).items():
        (default,) = as_texts({"": p.default}) or ("=(left out)",)
        lines.append(f"--set {name}={'(needed)' if p.default is p.empty else default[1:]}")
    return lines


def _parted(texts: Iterable[str]) -> dict[str, str]:
    """Split texts into names and values."""
    parted: dict[str, str] = {}
    for given in texts:
        name, equals, text = given.partition("=")
        if not (name and equals):
            sentence = f"'{given}' sets nothing; write NAME=VALUE, such as reports=2"
            raise BadInput(sentence, "not-a-setting", option="set", value=given)
        if name in parted:
            sentence = f"{name} is set twice, to {parted[name]} and to {text}; set it once"
            raise BadInput(sentence, "stated-twice", option=name, value=text)
        parted[name] = text
    return parted


def _unknown(mechanism: str, name: str, there: Mapping[str, Any]) -> BadInput:
    if ":" not in mechanism and name in registry.parameters(registry.load("mechanisms", mechanism)):
        flag = f"--{name.replace('_', '-')}"
        sentence = f"{name} is not a setting of {mechanism} alone; give it as {flag}"
        return BadInput(sentence, "not-its-own", option=name, value=mechanism)
    if not there:
        sentence = f"{mechanism} has no settings of its own; leave --set {name} out"
        return BadInput(sentence, "no-settings", option=name, value=mechanism)
    sentence = registry.unknown(f"settings of {mechanism}", name, list(there))
    return BadInput(sentence, "unknown-name", option="set", value=name)


def _kind(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter's type, without `| None`."""
    stated = parameter.annotation
    text = stated if isinstance(stated, str) else getattr(stated, "__name__", str(stated))
    return text.removesuffix(" | None")
