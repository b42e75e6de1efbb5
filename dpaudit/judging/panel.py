"""Choose the estimators of an attack: the one that may decide, and those beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache, partial

import numpy as np
from scipy.special import ndtri

from dpaudit import registry
from dpaudit.accounting import gaussian_epsilon
from dpaudit.accounting.curves import Family
from dpaudit.errors import BadInput
from dpaudit.estimators import FREE
from dpaudit.estimators.base import CheckedEstimator
from dpaudit.estimators.claim_curves import known_curve, refuse_other_curve
from dpaudit.estimators.hold_out import FixedRule, HoldOut, criterion
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack, Criterion, Estimator
from dpaudit.rates import lower_rate
from dpaudit.results import Bound, Counts, Guesses, Scores
from dpaudit.types import Adjacency, Claim, Curve

AUTO = "auto"
"""The strongest estimator that the attack and the claim allow."""

RANKING = "rank-test"
"""Shows most of scores, by the claim's curve; its trials must be independent."""

BY_STEP = "paired-auc"
"""Judges single steps: those of one training depend on each other, and pairs of them may."""

BY_STEP_COUNTED = "pld"
"""Counts errors on single steps: Clopper and Pearson's limits, composed as claimed."""


@dataclass(frozen=True)
class EstimatorPanel:
    """The estimators of one attack, all of one kind of outcome; the first decides, if any does.

    Those that need a curve are given that of the claim, or `curves`, which may be fewer of its
    kind. An estimator whose bound would not be about the claim is refused.
    """

    names: tuple[str, ...]
    claim: Claim
    seed: int
    curves: Family | None = None

    @classmethod
    def of(cls, named: str, attack: Attack, claim: Claim, seed: int) -> EstimatorPanel:
        """Return the named estimator, or the strongest, with the assumption-free one beside it.

        The exact tests take scores that were fixed or learned beforehand as they are, without a
        threshold. Rules on several statistics are more than their margins, and are counted.
        No assumption-free estimator judges single steps: their own leak is not claimed.
        """
        if named != AUTO:
            return cls((named,), claim, seed)._with_free()
        if claim.by_step:
            return cls((BY_STEP,), claim, seed)
        if attack.scoring == "margins":
            return cls((FREE[Counts],), claim, seed)
        panel = cls((FREE[Scores],), claim, seed)
        return panel if panel._curve == "pure" else replace(panel, names=(RANKING, *panel.names))

    def _with_free(self) -> EstimatorPanel:
        (name,), free = self.names, FREE[self.takes]
        assumption = self._make(name).assumption
        if self.claim.by_step or assumption == "none" or free == name:
            return self
        # A credible bound refutes nothing, and so does not decide.
        return replace(self, names=(free, name) if assumption == "prior" else (name, free))

    def counts_panel(self) -> EstimatorPanel | None:
        """Return the panel that counts decisions, as most tools do, if this one judges scores."""
        if self.takes is Counts:
            return None
        return replace(self, names=(BY_STEP_COUNTED if self.claim.by_step else FREE[Counts],))

    def why(self, named: str) -> str:
        """Explain why the first estimator decides; `named` is the configured one."""
        first = self.names[0]
        if named not in (AUTO, first):
            because = f"{named}, which was named, is credible only"
        elif named != AUTO:
            because = "it was named (--estimator)"
        elif self.claim.by_step:
            because = (
                "the steps of a training follow from one another, but their pairs may be judged"
            )
        elif self.takes is Counts:
            because = "rules on several statistics give decisions to count, and no score to rank"
        elif self._curve == "pure":
            because = (
                "the claim states no curve that can be computed; of the estimators that assume "
                "nothing it shows most of a score"
            )
        else:
            because = (
                "the claim states its curve, and the score was fixed without the judging trials; "
                "an exact test of the order of all scores then shows most"
            )
        return f"{first} decides because {because}."

    @property
    def takes(self) -> type:
        """The kind of outcome that these estimators judge."""
        return outcome_kind(self.names[0])

    def estimators(self, confidence: float) -> list[Estimator]:
        """Return the estimators; refuse those that cannot judge this claim at this confidence."""
        return [self._make(name, confidence) for name in self.names]

    def fix(self, attack: Attack, trials: Trials, always: bool) -> FixedRule:
        """Return the attack's rule, with the trials that judge it."""
        return HoldOut(always=always).fix(attack, trials, self.criterion, self.takes)

    @property
    def criterion(self) -> Criterion:
        """The criterion that rules are chosen by: that of the first estimator."""
        return criterion(self._make(self.names[0]), self.claim.delta)

    def bounds(self, fixed: FixedRule, first: float, others: float) -> list[Bound]:
        """Return the bound of each estimator: of the first at its own confidence."""

        def checked(place: int, confidence: float) -> CheckedEstimator:
            made = self.estimators(confidence)[place]
            return CheckedEstimator(self.names[place], made, confidence)

        return [
            fixed.bound(partial(checked, i), self.claim.delta, others if i else first)
            for i in range(len(self.names))
        ]

    def _make(self, name: str, confidence: float = 0.95) -> Estimator:
        wanted, curve = (
            registry.parameters(registry.load("estimators", name)).get("curve"),
            self._curve,
        )
        code = ""
        if outcome_kind(name) is Guesses:
            code = "wrong-outcome"
            why = "needs guesses of one run; choose an estimator of decisions or scores"
        elif self.claim.by_step and name == RANKING:
            code = "needs-independence"
            why = f"needs independent trials, and steps of a training are not; choose {BY_STEP}"
        elif wanted and wanted.default is wanted.empty and curve == "pure":
            code = "needs-curve"
            why = (
                "assumes a curve, and the claim has none that can be computed; choose an "
                "estimator that assumes nothing, such as clopper-pearson"
            )
        if code:
            raise BadInput(f"{name} {why}", code, option="estimator", value=name)
        made = _estimator(name, confidence, self.seed, curve, self.claim.adjacency)
        if self.curves is None:
            refuse_other_curve(made, self.claim)
        return made

    @property
    def _curve(self) -> Curve | Family | str:
        """The claim's curve, or that of (epsilon, delta) itself."""
        return self.curves or known_curve(self.claim) or "pure"

    def estimated_power(self, attack: Attack, choosing: Trials) -> tuple[float, bool, float]:
        """Estimate the bound of an attack from the choosing half alone, as a sort key.

        Each quarter judges the rules of the other, so that an attack with more parameters does
        not look better for that alone. Where nothing would be certified a score comes first,
        whose ceiling is higher.
        """
        quarters, scored = choosing.halves(), self.takes is Scores
        if not all(map(len, quarters)):
            return 0.0, scored, 0.0
        best = self.criterion
        crossed = [(b, a.fit(attack, best)) for a, b in (quarters, quarters[::-1])]
        if scored and self.names[0] != FREE[Scores] and self.claim.delta > 0:
            shown = _epsilon_by_auc([b.scores(rule) for b, rule in crossed], self.claim.delta)
        else:
            fp, out, fn, inn = np.sum([astuple(b.count(rule)) for b, rule in crossed], axis=0)
            shown = float(best(fp, out, fn, inn))
        return max(0.0, shown), scored, shown


@lru_cache(maxsize=64)
def _estimator(
    name: str, confidence: float, seed: int, curve: Curve | Family | str, adjacency: Adjacency
) -> Estimator:
    """Return an estimator, made once for all attacks of a judgement."""
    offered = {"confidence": confidence, "seed": seed, "curve": curve, "adjacency": adjacency}
    made: Estimator = registry.make("estimators", name, **offered)
    return made


def outcome_kind(name: str) -> type:
    """Return the kind of outcome that the estimator of this name needs."""
    kind: type = registry.load("estimators", name).takes
    return kind


def pick_attack(
    attacks: Mapping[str, Attack],
    panels: Mapping[str, EstimatorPanel],
    trials: Mapping[str, Trials],
) -> str:
    """Return the attack with the largest estimated power on the choosing half of the trials."""

    def power(name: str) -> tuple[float, bool, float]:
        return panels[name].estimated_power(attacks[name], trials[name].halves()[0])

    return max(attacks, key=power)


def _epsilon_by_auc(judged: Sequence[Scores], delta: float) -> float:
    """Estimate what a test of scores would certify for a Gaussian curve; below 0 only an order."""
    pairs = sum(len(scores.inn) for scores in judged)
    won = sum(_wins(scores) for scores in judged)
    mu = math.sqrt(2) * float(ndtri(lower_rate(won, pairs, 0.05)))
    return gaussian_epsilon(mu, delta) if mu > 0 else mu


def _wins(scores: Scores) -> float:
    """Return the mean number of in-trials above an out-trial; a tie counts half."""
    out = np.sort(scores.out)
    below, upto = (np.searchsorted(out, scores.inn, side=side) for side in ("left", "right"))
    return float(np.sum(below + upto) / (2 * len(out)))
