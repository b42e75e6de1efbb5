"""Who judges an attack: the estimator that may decide, and what stands beside it."""

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
from dpaudit.estimators.inputs import Checked
from dpaudit.estimators.selections import Fixed, HoldOut, criterion, known_curve, refuse_other_curve
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack, Criterion, Estimator
from dpaudit.rates import lower_rate
from dpaudit.results import Bound, Counts, Guesses, Scores
from dpaudit.types import Adjacency, Claim, Curve

AUTO = "auto"
"""The strongest estimator that the attack and the claim allow."""

RANKING = "rank-test"
"""What shows most of scores, by the claim's curve; of trials that are independent."""

BY_STEP = "paired-auc"
"""What judges single steps: those of a training follow from one another, and pairs of them may."""

BY_STEP_COUNTED = "pld"
"""What counts the errors on them: Clopper and Pearson's limits, composed as claimed."""


@dataclass(frozen=True)
class EstimatorPanel:
    """The estimators of one attack, all of one kind of outcome; the first decides, if any does.

    Named by their plug-ins. Those that know curves are given that of the claim, or `curves`, which
    may be fewer of its kind. None is ever made whose bound would be about something else than the
    claim.
    """

    names: tuple[str, ...]
    claim: Claim
    seed: int
    curves: Family | None = None

    @classmethod
    def of(cls, named: str, attack: Attack, claim: Claim, seed: int) -> EstimatorPanel:
        """The estimator that was named, or the strongest; with what assumes nothing beside it.

        Scores that were fixed or learned beforehand need no threshold: the exact tests take
        them as they are. Rules on several statistics are more than their margins, and counted.
        Beside what judges single steps none of that stands: what they leak outright is not claimed.
        """
        if named != AUTO:
            return cls((named,), claim, seed)._with_free()
        if claim.by_step:
            return cls((BY_STEP,), claim, seed)
        if attack.scoring == "margins":
            return cls((FREE[Counts],), claim, seed)
        panel = cls((FREE[Scores],), claim, seed)
        return panel if panel._curve == "pure" else replace(panel, names=(RANKING,))._with_free()

    def _with_free(self) -> EstimatorPanel:
        (name,), beside = self.names, FREE[self.takes]
        assumption = self._make(name).assumption
        if self.claim.by_step or assumption == "none" or beside == name:
            return self
        # A credible bound refutes nothing, and so does not decide.
        names = (beside, name) if assumption == "prior" else (name, beside)
        return replace(self, names=names)

    def counts_panel(self) -> EstimatorPanel | None:
        """Who counts decisions where these judge scores: what most others report, beside it."""
        if self.takes is Counts:
            return None
        return replace(self, names=(BY_STEP_COUNTED if self.claim.by_step else FREE[Counts],))

    def why(self, named: str) -> str:
        """Why the first of them decides, where this estimator, or none, was named."""
        first = self.names[0]
        if named not in (AUTO, first):
            return f"{first} decides because {named}, which was named, is credible only."
        if named != AUTO:
            return f"{first} decides because it was named (--estimator)."
        if self.claim.by_step:
            because = (
                "the steps of a training follow from one another: pairs of them, one of each "
                "training, may be judged all the same"
            )
        elif self.takes is Counts:
            because = (
                "rules on several statistics give decisions, which are counted, and no single "
                "score that could be ranked"
            )
        elif self._curve == "pure":
            because = (
                "the claim states no curve that can be computed: of what assumes nothing it shows "
                "most of a score, at all thresholds at once"
            )
        else:
            because = (
                "the claim states its curve, and the score was fixed without those that judge it: "
                "the order of all scores is then tested exactly, which shows most"
            )
        return f"{first} decides because {because}."

    @property
    def takes(self) -> type:
        """The kind of outcome that they judge by."""
        return takes(self.names[0])

    def refuse(self, confidence: float) -> None:
        """Refuse what cannot judge this claim so surely, before anything is judged."""
        for name in self.names:
            self._make(name, confidence)

    def fix(self, attack: Attack, trials: Trials, always: bool) -> Fixed:
        """The attack's rule, and the trials that judge it."""
        return HoldOut(always=always).fix(attack, trials, self.criterion, self.takes)

    @property
    def criterion(self) -> Criterion:
        """By which rules are chosen for the first of them."""
        return criterion(self._make(self.names[0]), self.claim.delta)

    def bounds(self, fixed: Fixed, first: float, others: float) -> list[Bound]:
        """The bound of each, at the confidence of the first and at that of the others."""
        levels = [first, *(others for _ in self.names[1:])]
        return [
            fixed.bound(partial(self._checked, name), self.claim.delta, level)
            for name, level in zip(self.names, levels, strict=True)
        ]

    def _checked(self, name: str, confidence: float) -> Checked:
        return Checked(name, self._make(name, confidence), confidence)

    def _make(self, name: str, confidence: float = 0.95) -> Estimator:
        if takes(name) is Guesses:
            raise BadInput(
                f"{name} needs guesses of one run, and two worlds of trials give decisions or "
                "scores; choose another estimator",
                "wrong-outcome",
                option="estimator",
                value=name,
            )
        if self.claim.by_step and name == RANKING:
            raise BadInput(
                f"{name} is exact for trials that know nothing of one another, and the steps of a "
                f"training follow from one another; choose {BY_STEP}",
                "needs-independence",
                option="estimator",
                value=name,
            )
        wanted, curve = (
            registry.parameters(registry.load("estimators", name)).get("curve"),
            self._curve,
        )
        if wanted and wanted.default is wanted.empty and curve == "pure":
            raise BadInput(
                f"{name} assumes a curve, and the claim has none that can be computed; choose an "
                "estimator that assumes nothing, such as clopper-pearson",
                "needs-curve",
                option="estimator",
                value=name,
            )
        made = _estimator(name, confidence, self.seed, curve, self.claim.adjacency)
        if self.curves is None:
            refuse_other_curve(made, self.claim)
        return made

    @property
    def _curve(self) -> Curve | Family | str:
        """The claim's, or that of (epsilon, delta) itself."""
        return self.curves or known_curve(self.claim) or "pure"

    def estimated_power(self, attack: Attack, choosing: Trials) -> tuple[float, bool, float]:
        """About how much an attack would certify, by rules and errors of the choosing half alone.

        Each quarter judges the rules of the other, so that an attack which can tune more does
        not look better for that alone. Where nothing would be certified a score comes first,
        whose ceiling is the higher one.
        """
        quarters, scored = choosing.halves(), self.takes is Scores
        if not all(map(len, quarters)):
            return 0.0, scored, 0.0
        best = self.criterion
        crossed = [(b, a.fit(attack, best)) for a, b in (quarters, quarters[::-1])]
        if scored and self.names[0] != FREE[Scores] and self.claim.delta > 0:
            shown = _by_auc([b.scores(rule) for b, rule in crossed], self.claim.delta)
        else:
            fp, out, fn, inn = np.sum([astuple(b.count(rule)) for b, rule in crossed], axis=0)
            shown = float(best(fp, out, fn, inn))
        return max(0.0, shown), scored, shown


@lru_cache(maxsize=64)
def _estimator(
    name: str, confidence: float, seed: int, curve: Curve | Family | str, adjacency: Adjacency
) -> Estimator:
    """Return an estimator, made once for all attacks of a judgement."""
    made: Estimator = registry.make(
        "estimators",
        name,
        confidence=confidence,
        seed=seed,
        curve=curve,
        adjacency=adjacency,
    )
    return made


def takes(name: str) -> type:
    """The kind of outcome that an estimator of this name needs."""
    kind: type = registry.load("estimators", name).takes
    return kind


def pick(
    attacks: Mapping[str, Attack],
    panels: Mapping[str, EstimatorPanel],
    choosing: Mapping[str, Trials],
) -> str:
    """The attack that does best within the choosing half."""
    return max(
        attacks, key=lambda name: panels[name].estimated_power(attacks[name], choosing[name])
    )


def _by_auc(judged: Sequence[Scores], delta: float) -> float:
    """About what a test of scores would certify under a Gaussian curve; below 0 still an order."""
    pairs = sum(len(scores.inn) for scores in judged)
    won = sum(_won(scores) for scores in judged)
    mu = math.sqrt(2) * float(ndtri(lower_rate(won, pairs, 0.05)))
    return gaussian_epsilon(mu, delta) if mu > 0 else mu


def _won(scores: Scores) -> float:
    """How many in-trials outdo an out-trial; ties count half, which is enough for a choice."""
    out = np.sort(scores.out)
    below, upto = (np.searchsorted(out, scores.inn, side=side) for side in ("left", "right"))
    return float(np.sum(below + upto) / (2 * len(out)))
