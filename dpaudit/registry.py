"""Plug-ins by name; built-in ones use the same entry points as those of third parties."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
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

RENAMED: Mapping[str, Mapping[str, str]] = {"attacks": {"report": "reported-value"}}
"""New names of plug-ins by kind and old name. An old name works for one version."""


@cache
def _entries(kind: str) -> dict[str, EntryPoint]:
    found = entry_points(group=f"dpaudit.{kind}")
    # Built-ins last: a third party's plug-in never takes the place of one.
    ordered = sorted(found, key=lambda entry: entry.value.startswith("dpaudit."))
    return {entry.name: entry for entry in ordered}


@cache
def current_name(kind: str, name: str) -> str:
    """Return the name that a plug-in has now, with a notice on stderr if it was renamed."""
    new = RENAMED.get(kind, {}).get(name)
    if new is None or name in _entries(kind):
        return name
    notice = f"'{name}' of the {kind} is now '{new}'; the old name will be removed"
    print(f"Notice: {notice}", file=sys.stderr)
    return new


def names(kind: str) -> list[str]:
    """Return the names of every plug-in of a kind."""
    return sorted(_entries(kind))


def load(kind: str, name: str) -> Any:
    """Return the class of a name; refuse an unknown name with the nearest known one."""
    entry = _entries(kind).get(current_name(kind, name))
    if entry is None:
        raise BadInput(unknown(kind, name, names(kind)), "unknown-name", option=kind, value=name)
    about = f"the plug-in {entry.value} ({kind}: {name})"
    try:
        loaded = entry.load()
    except Exception as error:
        sentence = f"{about} does not load: {' '.join(str(error).split())}"
        raise BadInput(sentence, "plug-in-broken", option=kind, value=name) from error
    base = BASES[kind]
    if not isinstance(loaded, type) or not issubclass(loaded, base):
        sentence = f"{about} is not a class that derives from dpaudit.protocols.{base.__name__}"
        raise BadInput(sentence, "not-a-plug-in", option=kind, value=name)
    if lacking := sorted(vars(loaded).get("__abstractmethods__", ())):
        sentence = f"{about} does not define {', '.join(lacking)}"
        raise BadInput(sentence, "plug-in-incomplete", option=kind, value=lacking)
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
    """Return whether a parameter is a group of settings: its default is a dataclass."""
    return is_dataclass(parameter.default) and not isinstance(parameter.default, type)


@cache
def parameters(plugin: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a plug-in by name, and those of its groups of settings."""
    found: dict[str, inspect.Parameter] = {}
    for p in _parameters(plugin):
        group = fields(p.default) if _is_group(p) else ()
        settings = [
            p.replace(name=f.name, default=getattr(p.default, f.name), annotation=f.type)
            for f in group
            if f.init
        ]
        for one in settings or [p]:
            if one.name in found:
                sentence = f"{plugin.__name__} has two settings with the name {one.name}"
                raise BadInput(sentence, "plug-in-broken", option=one.name)
            found[one.name] = one
    return found


def _arguments(
    plugin: Callable[..., Any], offered: Mapping[str, Any]
) -> tuple[dict[str, Any], list[DpauditError]]:
    """Return those of the offered values that a plug-in takes, and the problems of its groups."""
    found: dict[str, Any] = {}
    problems: list[DpauditError] = []
    for p in _parameters(plugin):
        if not _is_group(p):
            found |= {p.name: offered[p.name]} if p.name in offered else {}
            continue
        own = {f.name for f in fields(p.default) if f.init}
        try:
            found[p.name] = replace(p.default, **{n: v for n, v in offered.items() if n in own})
        except BadInput as error:
            problems += error.problems or [error]
    return found, problems


def arguments(plugin: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the offered values that a plug-in takes, in its groups of settings."""
    found, problems = _arguments(plugin, offered)
    refuse(problems)
    return found


def make(kind: str, name: str, /, **offered: Any) -> Any:
    """Return an instance of a plug-in, made of those of the offered values that it takes."""
    refuse_needs(kind, name, {n for n, value in offered.items() if value is not None})
    plugin = load(kind, name)
    taken, problems = _arguments(plugin, offered)
    made = None
    with wrap_errors(f"{name} ({kind})", "cannot be made"):
        try:
            made = plugin(**taken)
        except BadInput as error:
            problems += error.problems or [error]
    refuse(problems)
    return made


@cache
def attack(name: str) -> Attack:
    """Return the attack of a name, made once: it has no settings and stores nothing of a run."""
    made: Attack = make("attacks", name)
    return made


def refuse_needs(kind: str, name: str, offered: Collection[str]) -> None:
    """Refuse a plug-in that needs a value which is not offered."""
    wanted = parameters(load(kind, name)).values()
    missing = [p.name for p in wanted if p.default is p.empty and p.name not in offered]
    if missing:
        sentence = f"{name} needs {', '.join(missing)}, which this run does not have"
        way_out = f"take another of the {kind} (dpaudit list)"
        raise BadInput(f"{sentence}; {way_out}", "unfit-plug-in", option=kind, value=name)


def summary(kind: str, name: str) -> str:
    """Return the first line of a plug-in's docstring; a built-in one is not imported for it."""
    module, _, plugin = _entries(kind)[name].value.partition(":")
    text = _docstrings(module).get(plugin) or description(kind, name)
    return text.split("\n", 1)[0]


@cache
def _docstrings(module: str) -> Mapping[str, str | None]:
    """Return the docstrings of the classes of a module of dpaudit, read from its source."""
    package, *path = module.split(".")
    source = Path(__file__).parent.joinpath(*path).with_suffix(".py")
    if package != __package__ or not source.is_file():
        return {}
    classes = ast.parse(source.read_bytes()).body
    return {c.name: ast.get_docstring(c) for c in classes if isinstance(c, ast.ClassDef)}


def description(kind: str, name: str) -> str:
    """Return a plug-in's own docstring, not that of its base class."""
    return inspect.cleandoc(load(kind, name).__doc__ or "(no description)")
