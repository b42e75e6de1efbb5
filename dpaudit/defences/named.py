"""A defence under the name that it is reported by, held to what a defence must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpaudit import registry
from dpaudit.errors import BadInput, blamed
from dpaudit.protocols import Defence
from dpaudit.types import Array, Observations

NONE = "none"


class Nothing:
    """No defence: everything is released as it is."""

    def protect(self, seen: Observations) -> Observations:
        return seen


@dataclass(frozen=True)
class Named:
    """Any defence, a third party's too: what it does wrong is told in one sentence.

    It is shown arrays that it cannot write into, so that the undefended outputs stay as they are.
    """

    name: str
    defence: Defence

    def protect(self, seen: Observations) -> Observations:
        with blamed(f"the defence {self.name}"):
            kept = self.defence.protect({name: _read_only(a) for name, a in seen.items()})
            if not isinstance(kept, Mapping):
                raise TypeError(f"it gave back {type(kept).__name__}, not named arrays")
            return {name: _usable(name, array, seen) for name, array in kept.items()}

    def __str__(self) -> str:
        return self.name


def named(given: str | Defence) -> Named:
    """The defence that a text describes, or one that was made already."""
    if isinstance(given, str):
        return make(given)
    if isinstance(given, Named):
        return given
    if not callable(getattr(given, "protect", None)):
        raise BadInput(f"{given!r} is no defence: it has no method protect")
    return Named(NONE if isinstance(given, Nothing) else str(given), given)


def make(text: str) -> Named:
    """The defence that 'NAME' or 'NAME:NUMBER' describes, such as quantize:0.01; or 'none'."""
    if text == NONE:
        return Named(NONE, Nothing())
    name, colon, given = text.partition(":")
    plugin = registry.load("defences", name)
    taken = registry.asked(plugin).values()
    needed = [p.name for p in taken if p.default is p.empty]
    if needed and not colon:
        raise BadInput(
            f"the defence '{name}' needs its {needed[0]}, as {name}:{needed[0].upper()}; "
            f"see dpaudit explain {name}"
        )
    if colon and not taken:
        raise BadInput(f"the defence '{name}' takes no number; name it without ':{given}'")
    try:
        numbers = [float(given)] if colon else []
    except ValueError as error:
        raise BadInput(f"'{given}' in the defence '{text}' is not a number") from error
    with blamed(f"the defence '{text}'", "cannot be made"):
        made = plugin(*numbers)
    if not callable(getattr(made, "protect", None)):
        raise BadInput(f"the plug-in '{name}' is no defence: it has no method protect")
    return Named(text, made)


def _read_only(array: Array) -> Array:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _usable(name: str, given: Array, seen: Observations) -> Array:
    """An array of numbers, one row for each that was seen."""
    array = np.asarray(given)
    rows = len(next(iter(seen.values()), ()))
    axes = np.ndim(seen[name]) if name in seen else max(1, array.ndim)
    if array.dtype.kind not in "biuf" or array.shape[:1] != (rows,) or array.ndim != axes:
        raise ValueError(
            f"its '{name}' must be {rows} rows of numbers on {axes} axes, "
            f"not {array.dtype} of shape {array.shape}"
        )
    return array
