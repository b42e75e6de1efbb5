"""What a judgement is free to choose, and the plug-ins that it chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from dpaudit import defences, registry
from dpaudit.attacks.classifier import parse
from dpaudit.config.settings import ALL, Judging
from dpaudit.errors import BadInput
from dpaudit.judging.panel import EstimatorPanel
from dpaudit.judging.run_data import refuse_lacking
from dpaudit.outputs import with_statistics
from dpaudit.protocols import Attack, Defence, lacking
from dpaudit.seeds import row_seeds
from dpaudit.types import OWN, Claim, Observation, Observations


@dataclass(frozen=True)
class Choice(Judging):
    """What a judgement has chosen, with the plug-ins that it names."""

    @classmethod
    def configured(cls, settings: Mapping[str, Any]) -> Choice:
        """What a run's settings choose; the defaults where they are silent."""
        return cls(**{f.name: settings.get(f.name, f.default) for f in fields(cls)})

    def flat(self) -> dict[str, Any]:
        """Return what is chosen by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def refuse_other(self, settings: Mapping[str, Any], because: str) -> None:
        """Refuse any choice but that of a run's settings, where it had to be fixed beforehand."""
        own = Choice.configured(settings)
        if self != own:
            raise BadInput(
                f"{because} is judged only as it was configured; leave the choice of attacks, "
                "estimator, primary, defence and confidence out",
                "fixed-choice",
            )

    @cached_property
    def attack_plugins(self) -> Mapping[str, Attack]:
        """The attacks by name; an expression such as 'mean & inv_std' is one too."""
        made = {
            name: parse(name) if set(name) & set("&|") else registry.attack(name)
            for name in self.attacks
        }
        return _raw(made, named=self._named) if self.raw_scores else made

    @cached_property
    def defence_plugin(self) -> Defence:
        """The defence that observations pass before they are judged."""
        return defences.make(self.defence)

    @property
    def _named(self) -> bool:
        """Whether attacks were chosen, instead of those that fit of all the default ones."""
        return self.attacks != Judging.attacks

    def fitting(self, seen: Observations) -> Mapping[str, Attack]:
        """The attacks that take part in judging what is released."""
        attacks = self.attack_plugins
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
        seen = with_statistics({name: np.asarray(a)[None] for name, a in observation.items()})
        self.fitting(seen)
        left = self.defence_plugin.protect({**seen, OWN: row_seeds(0, [()])})
        try:
            self.fitting(left)
        except BadInput as error:
            raise error.with_sentence(f"behind the defence {self.defence}, {error}") from error

    def panels(
        self, attacks: Mapping[str, Attack], claim: Claim, seed: int
    ) -> dict[str, EstimatorPanel]:
        """Return the panel of each attack; refuse estimators that cannot judge this claim."""
        panels = {
            name: EstimatorPanel.of(self.estimator, attack, claim, seed)
            for name, attack in attacks.items()
        }
        share = len(attacks) if self.primary == ALL else 1
        for panel in panels.values():
            panel.refuse(1 - (1 - self.confidence) / share)
        return panels


def _raw(attacks: Mapping[str, Attack], named: bool) -> dict[str, Attack]:
    """The attacks on scores that are not rounded; one that was named and has none is refused."""
    able = {name: raw for name, attack in attacks.items() if (raw := attack.raw()) is not None}
    if unable := [name for name in attacks if name not in able and (named or not able)]:
        verb = "has" if len(unable) == 1 else "have"
        raise BadInput(
            f"{', '.join(unable)} {verb} no raw scores; leave --raw-scores out",
            "no-raw-scores",
            option="raw_scores",
            value=unable,
        )
    return able
