"""Plug-ins by name. Built-ins come through the same entry points as third parties'."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dpaudit.checks import refuse
from dpaudit.errors import BadInput, DpauditError, wrap_errors
from dpaudit.protocols import Attack, CanaryBuilder, Defence, Estimator, Loader, Mechanism

BASES: dict[str, type] = {
    "data": Loader,
    "canaries": CanaryBuilder,
    "mechanisms": Mechanism,
    "attacks": Attack,
    "estimators": Estimator,
    "defences": Defence,
}
"""The class that a plug-in of each kind derives from."""

KINDS = tuple(BASES)


@cache
def _entries(kind: str) -> dict[str, EntryPoint]:
    found = entry_points(group=f"dpaudit.{kind}")
    # Built-ins last: a third party's plug-in never takes the place of one.
    ordered = sorted(found, key=lambda entry: entry.value.startswith("dpaudit."))
    return {entry.name: entry for entry in ordered}


def names(kind: str) -> list[str]:
    """The names of every plug-in of a kind."""
    return sorted(_entries(kind))


def load(kind: str, name: str) -> Any:
    """The class behind a name; an unknown name is refused with the nearest known one."""
    entry = _entries(kind).get(name)
    if entry is None:
        raise BadInput(unknown(kind, name, names(kind)), "unknown-name", option=kind, value=name)
    about = f"the plug-in {entry.value} ({kind}: {name})"
    try:
        loaded = entry.load()
    except Exception as error:
        raise BadInput(
            f"{about} does not load: {' '.join(str(error).split())}",
            "plug-in-broken",
            option=kind,
            value=name,
        ) from error
    base = BASES[kind]
    if not isinstance(loaded, type) or not issubclass(loaded, base):
        raise BadInput(
            f"{about} is no class that derives from dpaudit.protocols.{base.__name__}",
            "not-a-plug-in",
            option=kind,
            value=name,
        )
    if lacking := sorted(vars(loaded).get("__abstractmethods__", ())):
        raise BadInput(
            f"{about} does not define {', '.join(lacking)}",
            "plug-in-incomplete",
            option=kind,
            value=lacking,
        )
    return loaded


def unknown(kind: str, name: str, known: list[str]) -> str:
    """Return the message for an unknown name; it suggests the nearest known one."""
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known) or 'none'}"
    return f"no '{name}' among the {kind}; {hint}"


@cache
def _parameters(plugin: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    """Return the parameters of a plug-in, without *args and **kwargs."""
    there = inspect.signature(plugin).parameters.values()
    return [p for p in there if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _is_group(parameter: inspect.Parameter) -> bool:
    """Tell whether a parameter is a group of settings: its default is a dataclass."""
    return is_dataclass(parameter.default) and not isinstance(parameter.default, type)


@cache
def parameters(plugin: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return what a plug-in asks for, by name: its parameters and the settings of its groups."""
    found: dict[str, inspect.Parameter] = {}
    for p in _parameters(plugin):
        if _is_group(p):
            here = [
                p.replace(
                    name=f.name,
                    kind=p.KEYWORD_ONLY,
                    default=getattr(p.default, f.name),
                    annotation=f.type,
                )
                for f in fields(p.default)
                if f.init
            ]
        else:
            here = [p]
        for one in here:
            if one.name in found:
                raise BadInput(
                    f"{plugin.__name__} has two settings with the name {one.name}",
                    "plug-in-broken",
                    option=one.name,
                )
            found[one.name] = one
    return found


def arguments(plugin: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the offered values that a plug-in asks for, in its groups of settings."""
    found: dict[str, Any] = {}
    problems: list[DpauditError] = []
    for p in _parameters(plugin):
        if not _is_group(p):
            found |= {p.name: offered[p.name]} if p.name in offered else {}
            continue
        values = {f.name: getattr(p.default, f.name) for f in fields(p.default) if f.init}
        values |= {n: offered[n] for n in values if n in offered}
        try:
            found[p.name] = type(p.default)(**values)
        except BadInput as error:
            problems += error.problems or [error]
    refuse(problems)
    return found


def make(kind: str, name: str, /, **offered: Any) -> Any:
    """An instance of a plug-in, given those of the offered arguments that it asks for."""
    refuse_needs(kind, name, {n for n, value in offered.items() if value is not None})
    plugin = load(kind, name)
    with wrap_errors(f"{name} ({kind})", "cannot be made"):
        made = plugin(**arguments(plugin, offered))
    return made


@cache
def attack(name: str) -> Attack:
    """Return the attack of a name, made once: it has no settings and stores nothing of a run."""
    made: Attack = make("attacks", name)
    return made


def refuse_needs(kind: str, name: str, offered: Collection[str]) -> None:
    """Refuse a plug-in that needs more than is offered."""
    wanted = parameters(load(kind, name)).values()
    missing = [p.name for p in wanted if p.default is p.empty and p.name not in offered]
    if missing:
        raise BadInput(
            f"{name} needs {', '.join(missing)}, which this run does not have; take another of the "
            f"{kind} (dpaudit list)",
            "unfit-plug-in",
            option=kind,
            value=name,
        )


def summary(kind: str, name: str) -> str:
    """The first line of a plug-in's docstring."""
    return description(kind, name).split("\n", 1)[0]


def description(kind: str, name: str) -> str:
    """A plug-in's whole docstring."""
    # Its own, not the one of its base class.
    return inspect.cleandoc(load(kind, name).__doc__ or "(no description)")
