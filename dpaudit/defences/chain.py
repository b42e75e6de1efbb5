"""Defences one after the other: each sees what the one before lets out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.defences.named import Named
from dpaudit.errors import BadInput
from dpaudit.protocols import Defence
from dpaudit.types import OWN, Observations


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
