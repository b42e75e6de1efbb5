"""Plug-ins by name. Built-ins come through the same entry points as third parties'."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dpaudit.errors import BadInput, blamed

PARTS = {
    "data": ("load",),
    "canaries": ("build",),
    "mechanisms": ("claim", "play"),
    "attacks": ("needs", "fitted", "features", "fit"),
    "estimators": ("bound",),
    "defences": ("protect",),
}
"""What a plug-in of each kind must have; `protocols.py` says what it means."""

KINDS = tuple(PARTS)


@cache
def _entries(kind: str) -> dict[str, EntryPoint]:
    found = entry_points(group=f"dpaudit.{kind}")
    # Built-ins last: a third party's plug-in never takes the place of one.
    ordered = sorted(found, key=lambda entry: entry.value.startswith("dpaudit."))
    return {entry.name: entry for entry in ordered}


def names(kind: str) -> list[str]:
    """The names of every plug-in of a kind."""
    return sorted(_entries(kind))


def load(kind: str, name: str) -> Callable[..., Any]:
    """The class behind a name; an unknown name is refused with the nearest known one."""
    entry = _entries(kind).get(name)
    if entry is None:
        raise BadInput(unknown(kind, name, names(kind)), "unknown-name", option=kind, value=name)
    about = f"the plug-in {entry.value} ({kind}: {name})"
    try:
        loaded: Callable[..., Any] = entry.load()
    except Exception as error:
        raise BadInput(
            f"{about} does not load: {' '.join(str(error).split())}",
            "plug-in-broken",
            option=kind,
            value=name,
        ) from error
    if not callable(loaded):
        raise BadInput(f"{about} is no class", "not-a-class", option=kind, value=name)
    return loaded


def unknown(kind: str, name: str, known: list[str]) -> str:
    """The sentence for a name that is not there."""
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known) or 'none'}"
    return f"no '{name}' among the {kind}; {hint}"


@cache
def asked(plugin: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """What a plug-in asks for, by name."""
    # Not *args and **kwargs, which a class has for being derived from a Protocol.
    return {
        p.name: p
        for p in inspect.signature(plugin).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def make(kind: str, name: str, **offered: Any) -> Any:
    """An instance of a plug-in, given those of the offered arguments that it asks for."""
    plugin = load(kind, name)
    wanted = asked(plugin)
    missing = [
        p.name for p in wanted.values() if p.default is p.empty and offered.get(p.name) is None
    ]
    if missing:
        raise BadInput(
            f"{name} needs {', '.join(missing)}, which this run does not have; take another of the "
            f"{kind} (dpaudit list)",
            "needs-option",
            option=name,
            value=missing[0],
        )
    with blamed(f"{name} ({kind})", "cannot be made"):
        made = plugin(**{key: value for key, value in offered.items() if key in wanted})
    lacking = [part for part in PARTS[kind] if not _has(made, part)]
    if lacking:
        raise BadInput(
            f"{name} cannot be one of the {kind}: it has no {', no '.join(lacking)}",
            "plug-in-incomplete",
            option=name,
            value=lacking,
        )
    return made


def _has(made: Any, part: str) -> bool:
    """Whether an attribute is there, without computing it if it is a property."""
    return inspect.getattr_static(made, part, None) is not None or hasattr(made, part)


def summary(kind: str, name: str) -> str:
    """The first line of a plug-in's docstring."""
    return description(kind, name).split("\n", 1)[0]


def description(kind: str, name: str) -> str:
    """A plug-in's whole docstring."""
    return inspect.getdoc(load(kind, name)) or "(no description)"
