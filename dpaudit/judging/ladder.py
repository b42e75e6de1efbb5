"""The result of a ladder: one claim against several adversaries, and the verdict of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpaudit.results import Bound, Report, Result, Strength, Verdict
from dpaudit.types import Claim

WEIGHT: Sequence[Verdict] = (
    "VIOLATION",
    "NO_VIOLATION_FOUND",
    "INCONCLUSIVE",
    "NO_GUARANTEE_CLAIMED",
)
"""Verdicts of single adversaries; the first of them that occurs is the verdict of all."""


@dataclass(frozen=True)
class Rung:
    """One adversary against the claim: its report, or the reason why it was left out."""

    name: str
    adversary: str
    chose: str
    sees: str
    powers: str
    """Its powers and its view in a few words."""
    report: Report | None = None
    left_out: str = ""

    @property
    def folder(self) -> str:
        """The name of its run's folder."""
        return self.name.replace(" ", "-")

    @property
    def deciding(self) -> Bound | None:
        """The bound that decides."""
        return self.report.bounds[self.report.primary] if self.report else None

    @property
    def by_curve(self) -> Bound | None:
        """The bound of the deciding attack that assumes the claim's kind of curve."""
        return self._bound(assumes_nothing=False)

    @property
    def without_assumptions(self) -> Bound | None:
        """The bound of the deciding attack that assumes nothing."""
        return self._bound(assumes_nothing=True)

    def _bound(self, assumes_nothing: bool) -> Bound | None:
        """Return the bound that decides if it is of this kind, else the attack's first one."""
        if self.report is None or self.deciding is None:
            return None
        bounds = [self.deciding, *self.report.bounds]
        fitting = (b for b in bounds if (b.assumption == "none") == assumes_nothing)
        return next((b for b in fitting if b.attack == self.deciding.attack), None)


@dataclass(frozen=True)
class Ladder(Result):
    """Several adversaries against one claim; all deciding bounds hold together at `confidence`."""

    claim: Claim
    confidence: float
    rungs: Sequence[Rung]

    @property
    def played(self) -> Sequence[tuple[Rung, Report, Bound]]:
        """The rungs that were not left out, each with its report and the bound that decides."""
        return [(r, r.report, r.deciding) for r in self.rungs if r.report and r.deciding]

    @property
    def strongest(self) -> tuple[Rung, Report, Bound]:
        """The rung that certifies most: of those that refute, else of strong tests, else of all."""
        order: Sequence[Strength] = ("refuted", "strong")
        return max(
            self.played,
            key=lambda one: (*(one[1].strength == kind for kind in order), one[2].epsilon),
        )

    @property
    def verdict(self) -> Verdict:
        """The weightiest verdict of a rung: one that refutes the claim is enough."""
        return min((report.verdict for _, report, _ in self.played), key=WEIGHT.index)

    @property
    def strength(self) -> Strength:
        """The strength of the strongest rung."""
        _, report, _ = self.strongest
        return report.strength
