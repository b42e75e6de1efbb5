"""A defence under the name that it is reported by, held to what a defence must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput, wrap_errors
from dpaudit.protocols import Defence
from dpaudit.types import OWN, Array, Observations


class Nothing(Defence):
    """No defence: everything is released as it is."""

    def protect(self, seen: Observations) -> Observations:
        return seen


@dataclass(frozen=True)
class Named(Defence):
    """Any defence, a third party's too: what it does wrong is told in one sentence.

    It is shown arrays that it cannot write into, so that the undefended outputs stay as they are;
    and rows' own numbers only if it is random, and then nobody else is.
    """

    name: str
    defence: Defence

    def protect(self, seen: Observations) -> Observations:
        given = {name: a for name, a in seen.items() if self.defence.random or name != OWN}
        shown = {name: _read_only(a) for name, a in given.items()}
        with wrap_errors(f"the defence {self.name}"):
            kept = self.defence.protect(shown)
            if not isinstance(kept, Mapping):
                raise TypeError(f"it gave back {type(kept).__name__}, not named arrays")
            return {name: _usable(name, a, seen) for name, a in kept.items() if name != OWN}

    def __str__(self) -> str:
        return self.name


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


# ----------------------------------------------------------------
# Defences one after the other: each sees what the one before lets out.


class Composable(Defence):
    """Lets `MeanStd() + Quantize(0.01)` be the one and then the other."""

    def __add__(self, other: Defence) -> Chain:
        if not isinstance(other, Defence):
            return NotImplemented
        return Chain((*_parts(self), *_parts(other)))


@dataclass(frozen=True, repr=False)
class Chain(Composable):
    """Several defences from left to right; its text is 'mean-std + quantize:0.01'."""

    parts: tuple[Defence, ...]

    random = True
    """A part may be: it is given rows' own numbers, and shows them to those that are."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise BadInput("a chain of defences needs one at least", "none-given", option="parts")

    def protect(self, seen: Observations) -> Observations:
        for step, part in enumerate(self.parts):
            # Two random parts must not draw the same: the second's numbers are others.
            own = {OWN: seen[OWN] + np.uint64(step > 0)} if OWN in seen else {}
            seen = {**Named(str(part), part).protect({**seen, **own}), **own}
        return seen

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


def _parts(defence: Defence) -> tuple[Defence, ...]:
    return defence.parts if isinstance(defence, Chain) else (defence,)
