"""The options of a judgement, with the plug-ins that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from dpaudit import defences, registry
from dpaudit.attacks.classifier import parse
from dpaudit.config.settings import ALL, Judging
from dpaudit.errors import BadInput
from dpaudit.estimators.trials import Trials
from dpaudit.judging.panel import EstimatorPanel
from dpaudit.judging.run_data import RunData, refuse_lacking
from dpaudit.outputs import with_statistics
from dpaudit.protocols import Attack, Defence, lacking
from dpaudit.seeds import row_seeds
from dpaudit.types import OWN, Claim, Observation, Observations


@dataclass(frozen=True)
class Choice(Judging):
    """The options of a judgement; each plug-in is made once, when it is needed."""

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> Choice:
        """Return the choice of a run's settings; what they lack has its default."""
        return cls(**{f.name: settings.get(f.name, f.default) for f in fields(cls)})

    def flat(self) -> dict[str, Any]:
        """Return the options by name."""
        return asdict(self)

    def refuse_other(self, settings: Mapping[str, Any], kind: str) -> None:
        """Refuse any choice but the configured one, for a kind of run that fixes it beforehand."""
        if self != Choice.of_settings(settings):
            raise BadInput(
                f"{kind} is judged only as it was configured; leave the choice of attacks, "
                "estimator, primary, defence and confidence out",
                "fixed-choice",
            )

    @cached_property
    def attack_plugins(self) -> Mapping[str, Attack]:
        """The attacks by name; a name may be an expression such as 'mean & inv_std'."""
        made = {
            name: parse(name) if set(name) & set("&|") else registry.attack(name)
            for name in self.attacks
        }
        if not self.raw_scores:
            return made
        able = {name: raw for name, attack in made.items() if (raw := attack.raw()) is not None}
        unable = [name for name in made if name not in able]
        if unable and (self._named or not able):
            text = f"without raw scores: {', '.join(unable)}; leave --raw-scores out"
            raise BadInput(text, "no-raw-scores", option="raw_scores", value=unable)
        return able

    @cached_property
    def defence_plugin(self) -> Defence:
        """The defence that observations pass before they are judged."""
        return defences.make(self.defence)

    @property
    def _named(self) -> bool:
        """True if attacks were named, instead of the default ones that fit."""
        return self.attacks != Judging.attacks

    def fitting(self, seen: Observations) -> Mapping[str, Attack]:
        """Return the attacks that take part in judging these observations; a named one must."""
        attacks = self.attack_plugins
        for name in attacks:
            if self._named or name == self.primary:
                refuse_lacking(name, attacks[name], seen)
        fitting = {n: a for n, a in attacks.items() if not lacking(a, seen)}
        if not fitting:
            there = ", ".join(sorted(seen)) or "nothing"
            text = f"no attack fits the released observations ({there}); name one with --attack"
            raise BadInput(text, "no-attack-fits", option="attacks", value=sorted(seen))
        return fitting

    def refuse_blind(self, observation: Observation) -> None:
        """Refuse observations that no attack can judge, by one trial or an example."""
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
            panel.estimators(1 - (1 - self.confidence) / share)
        return panels

    def candidates(
        self, data: RunData, attacks: Mapping[str, Attack] | None = None
    ) -> DecidingAttacks:
        """Return the attacks that may decide on these data; those that fit if none are given."""
        attacks = self.fitting(data.seen) if attacks is None else attacks
        panels = self.panels(attacks, data.claim, data.seed)
        trials = {name: data.trials(name, attack) for name, attack in attacks.items()}
        return DecidingAttacks(attacks, panels, trials)


@dataclass(frozen=True)
class DecidingAttacks:
    """The attacks that may decide, each with its panel and its trials."""

    attacks: Mapping[str, Attack]
    panels: Mapping[str, EstimatorPanel]
    trials: Mapping[str, Trials]
