"""What a judgement is free to choose, and the plug-ins that it chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dpaudit import checks, defences, registry
from dpaudit.attacks.expressions import parse
from dpaudit.config import Config
from dpaudit.errors import BadInput
from dpaudit.jury import Jury
from dpaudit.played import refuse_lacking
from dpaudit.protocols import Attack, lacking
from dpaudit.seeds import own
from dpaudit.summaries import summarised
from dpaudit.types import OWN, Claim, Observation, Observations

ALL = "all"
"""As a primary: every attack decides, at its share of the error probability."""


@dataclass(frozen=True)
class Choice:
    """What a judgement is free to choose: attacks, which of them decides, how, how surely.

    Of the default attacks those take part that fit what is released; named ones must.
    """

    attacks: Sequence[str] = Config.attacks
    primary: str = "auto"
    defence: str = "none"
    estimator: str = Config.estimator
    confidence: float = 0.95
    raw_scores: bool = False

    @classmethod
    def configured(cls, settings: Mapping[str, Any]) -> Choice:
        """What a run's settings choose; the defaults where they are silent."""
        return cls(**{f.name: settings.get(f.name, f.default) for f in fields(cls)})

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.one_of("primary", self.primary, ("auto", ALL, *self.attacks)),
                checks.in_range("confidence", self.confidence, 0.5, 1, ends="()"),
            ]
        )

    def refuse_other(self, settings: Mapping[str, Any], because: str) -> None:
        """Refuse any choice but that of a run's settings, where it had to be fixed beforehand."""
        own = Choice.configured(settings)
        if replace(self, attacks=list(self.attacks)) != replace(own, attacks=list(own.attacks)):
            raise BadInput(
                f"{because} is judged only as it was configured; leave the choice of attacks, "
                "estimator, primary, defence and confidence out",
                "fixed-choice",
            )

    def make_attacks(self) -> dict[str, Attack]:
        """The attacks by name; an expression such as 'mean & inv_std' is one too."""
        made = {
            name: parse(name) if set(name) & set("&|") else registry.make("attacks", name)
            for name in self.attacks
        }
        return _raw(made, named=self._named) if self.raw_scores else made

    @property
    def _named(self) -> bool:
        """Whether attacks were chosen, instead of those that fit of all the default ones."""
        return tuple(self.attacks) != Config.attacks

    def fitting(self, seen: Observations) -> dict[str, Attack]:
        """The attacks that take part in judging what is released."""
        attacks = self.make_attacks()
        if self.primary in attacks:
            refuse_lacking(self.primary, attacks[self.primary], seen)
        if self._named:
            for name, attack in attacks.items():
                refuse_lacking(name, attack, seen)
            return attacks
        fitting = {n: a for n, a in attacks.items() if not lacking(a, seen)}
        if not fitting:
            there = ", ".join(sorted(seen)) or "nothing"
            raise BadInput(
                f"no attack fits what is released ({there}); name one with --attack",
                "no-attack-fits",
                option="attacks",
                value=sorted(seen),
            )
        return fitting

    def refuse_blind(self, observation: Observation) -> None:
        """Refuse, by one trial or its example, what no attack will be able to judge."""
        seen = summarised({name: np.asarray(a)[None] for name, a in observation.items()})
        self.fitting(seen)
        left = defences.make(self.defence).protect({**seen, OWN: own(0, [()])})
        try:
            self.fitting(left)
        except BadInput as error:
            raise error.retold(f"behind the defence {self.defence}, {error}") from error

    def juries(self, attacks: Mapping[str, Attack], claim: Claim, seed: int) -> dict[str, Jury]:
        """Who judges each attack; estimators that cannot judge this claim are refused."""
        juries = {n: Jury.of(self.estimator, a, claim, seed) for n, a in attacks.items()}
        share = len(attacks) if self.primary == ALL else 1
        for jury in juries.values():
            jury.refuse(1 - (1 - self.confidence) / share)
        return juries


def _raw(attacks: Mapping[str, Attack], named: bool) -> dict[str, Attack]:
    """The attacks on scores that are not rounded; one that was named and has none is refused."""
    able = {name: attack.raw() for name, attack in attacks.items() if hasattr(attack, "raw")}
    if unable := [name for name in attacks if name not in able and (named or not able)]:
        verb = "has" if len(unable) == 1 else "have"
        raise BadInput(
            f"{', '.join(unable)} {verb} no raw scores; leave --raw-scores out",
            "no-raw-scores",
            option="raw_scores",
            value=unable,
        )
    return able
