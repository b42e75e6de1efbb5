"""Defences as they are run: under a name, checked, and one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from dpaudit.errors import BadInput, blamed
from dpaudit.protocols import Defence
from dpaudit.types import OWN, Array, Observations


class NoDefence(Defence):
    """No defence: everything is released as it is."""

    def protect(self, seen: Observations) -> Observations:
        return seen


@dataclass(frozen=True)
class NamedDefence(Defence):
    """A defence and the name that it is reported by; its faults are errors that name it.

    It is given arrays that it cannot write into, so that the undefended outputs stay as they are.
    Only a random defence is given rows' own numbers.
    """

    name: str
    defence: Defence

    def protect(self, seen: Observations) -> Observations:
        given = {name: a for name, a in seen.items() if self.defence.random or name != OWN}
        shown = {name: _read_only(a) for name, a in given.items()}
        with blamed(f"the defence {self.name}"):
            kept = self.defence.protect(shown)
            if not isinstance(kept, Mapping):
                raise TypeError(f"it returned {type(kept).__name__}, not named arrays")
            return {name: _usable(name, a, seen) for name, a in kept.items() if name != OWN}

    def __str__(self) -> str:
        return self.name


def _read_only(array: Array) -> Array:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _usable(name: str, given: Array, seen: Observations) -> Array:
    """An array of numbers, with as many rows as were given."""
    array = np.asarray(given)
    rows = len(next(iter(seen.values()), ()))
    axes = np.ndim(seen[name]) if name in seen else max(1, array.ndim)
    if array.dtype.kind not in "biuf" or array.shape[:1] != (rows,) or array.ndim != axes:
        raise ValueError(
            f"its '{name}' must be {rows} rows of numbers on {axes} axes, "
            f"not {array.dtype} of shape {array.shape}"
        )
    return array


class Composable(Defence):
    """A dataclass of at most one number whose text is 'NAME' or 'NAME:NUMBER'.

    `MeanStd() + Quantize(0.01)` is a chain of both.
    """

    name: ClassVar[str]

    def __add__(self, other: Defence) -> Chain:
        if not isinstance(other, Defence):
            return NotImplemented
        return Chain((*_parts(self), *_parts(other)))

    def __str__(self) -> str:
        numbers = [(f.type, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type]
        texts = [str(n) if kind == "int" else repr(float(n)) for kind, n in numbers]
        return ":".join([self.name, *texts])


@dataclass(frozen=True, repr=False)
class Chain(Composable):
    """Several defences from left to right; its text is 'mean-std + quantize:0.01'."""

    parts: tuple[Defence, ...]

    random = True
    """A part may be: the chain is given rows' own numbers, and shows them to random parts."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise BadInput("a chain of defences needs at least one", "none-given", option="parts")

    def protect(self, seen: Observations) -> Observations:
        for step, part in enumerate(self.parts):
            # Two random parts must not draw the same: the second's numbers are others.
            own = {OWN: seen[OWN] + np.uint64(step > 0)} if OWN in seen else {}
            seen = {**NamedDefence(str(part), part).protect({**seen, **own}), **own}
        return seen

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


def _parts(defence: Defence) -> tuple[Defence, ...]:
    return defence.parts if isinstance(defence, Chain) else (defence,)
