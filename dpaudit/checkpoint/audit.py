"""The audit of a user's own model: its claim, the guesses on its canaries, warnings, a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.stats import binom

from dpaudit import checks
from dpaudit.accounting.curves import DPSGDFamily, Family, parse_family
from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checkpoint.kits.kit import Looks
from dpaudit.checkpoint.predictions import Outputs
from dpaudit.checkpoint.scoring import (
    AUTO,
    SCORES,
    Risk,
    Score,
    auc,
    auc_interval,
    choose_score,
    risk,
    split,
)
from dpaudit.data.arrays import hash_arrays
from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run import GuessNumbers, assign_guesses
from dpaudit.estimators.power.prospect import least_parameter_above
from dpaudit.judging.advice import after_checkpoint
from dpaudit.judging.judge import deciding_confidence, verdict
from dpaudit.judging.outcome import strength
from dpaudit.results import Bound, Report, Verdict
from dpaudit.types import Array, Claim, Curve, DPSGDCurve, GaussianCurve
from dpaudit.versions import versions

OfGuesses = OneRun | OneRunFDP

SIZES = [digit * 10**power for power in (1, 2, 3, 4) for digit in (1, 2, 5)] + [100_000]
"""Sizes of larger kits that advice considers."""

CHANCE = 1e-6
"""The probability that a reference which does not know the coins is taken for one that does."""


@dataclass(frozen=True)
class CheckpointRequest:
    """A claim, if there is one, and the way to judge the guesses.

    `curve` is the claim's, 'gaussian', 'dpsgd:Q,T' or 'none'; if it is empty, a Gaussian one is
    assumed for a second bound that does not decide. `guesses` is their number, if it is fixed;
    else the best of a few is taken and paid for.
    """

    claimed: tuple[float, float] | None = None
    delta: float = 1e-5
    confidence: float = 0.95
    curve: str = ""
    guesses: int | None = None
    score: str = AUTO
    seed: int = 0

    def __post_init__(self) -> None:
        epsilon, delta = self.claimed or (1.0, self.delta)
        checks.refuse(
            [
                checks.of("claim", checks.positive("the claimed epsilon", epsilon)),
                checks.in_range("delta", delta, 0, 1, ends="[)"),
                checks.in_range("confidence", self.confidence, 0.5, 1, ends="()"),
                checks.one_of("score", self.score, (AUTO, *SCORES)),
                None if self.guesses is None else checks.at_least("guesses", self.guesses, 1),
                checks.at_least("seed", self.seed, 0),
            ]
        )
        _ = self.family

    @property
    def family(self) -> Family | None:
        """The kind of curve that is stated or assumed; None if neither."""
        return parse_family(self.curve)

    @cached_property
    def claim(self) -> Claim:
        """The claim, with its curve if one is stated; its epsilon is infinite if there is none."""
        if self.claimed is None:
            return Claim(math.inf, self.delta)
        epsilon, delta = self.claimed
        return Claim(epsilon, delta, curve=self._curve(epsilon, delta))

    def _curve(self, epsilon: float, delta: float) -> Curve | None:
        family = self.family
        if not self.curve or family is None:
            return None
        parameter = least_parameter_above(family, epsilon, delta)
        if isinstance(family, DPSGDFamily):
            return DPSGDCurve(family.sample_rate, family.rounds, parameter)
        return GaussianCurve(parameter)

    @property
    def estimators(self) -> list[Callable[[float], OfGuesses]]:
        """Makers of the estimators by confidence; the first decides: that of a stated curve."""
        if self.family is None or self.claim.delta == 0:
            return [OneRun]
        by_curve = partial(OneRunFDP, curve=self.family)
        return [by_curve, OneRun] if self.curve else [OneRun, by_curve]


@dataclass(frozen=True, kw_only=True)
class CheckpointReport(Report):
    """The report of a user's own model: the bound that decides comes first.

    There is no bound if no fair coin can have chosen the records.
    """

    request: CheckpointRequest
    candidates: Candidates
    model: str
    score: Score
    scores: Array
    outputs: Outputs
    calls: Array
    """The guess on each record by the first bound: 1 in, -1 out, 0 none."""
    risk: Risk
    references: Sequence[str]
    """The reference models."""


def audit(
    request: CheckpointRequest,
    candidates: Candidates,
    model: str,
    outputs: Outputs,
    references: Sequence[tuple[str, Outputs]] = (),
    warnings: Sequence[str] = (),
) -> CheckpointReport:
    """Judge one model; nothing is chosen by the coins unless it is paid for."""
    n = len(candidates.records)
    if request.guesses is not None and request.guesses > n:
        text = f"there are {n:,} canaries to guess, not {request.guesses:,} (--guesses)"
        raise BadInput(text, "too-large", option="guesses", value=request.guesses)
    score = choose_score(request.score, len(references), bool(outputs.statistics))
    scores = score.of(outputs, [reference for _, reference in references])
    found = [
        *warnings,
        *_record_warnings(candidates, scores),
        *_reference_warnings(candidates, outputs, references),
    ]
    numbers = GuessNumbers.of(n) if request.guesses is None else GuessNumbers([request.guesses])
    looks, bounds = 1, list[Bound]()
    if candidates.looks is not None:
        looks = _take_look(request, candidates.looks, f"{score.name} of {model}", scores, numbers)
    if candidates.fair:
        sure, delta = deciding_confidence(request.confidence, looks), request.claim.delta
        for maker in request.estimators:
            bound = numbers.bound(scores, candidates.put_in, maker, delta, sure)
            bounds.append(replace(bound, attack=score.name))
    # Without a bound, half of the records are guessed, to be looked at only.
    guesses = bounds[0].guesses if bounds else None
    reached = _verdict(request.claim, candidates, bounds)
    return CheckpointReport(
        claim=request.claim,
        verdict=reached,
        strength=strength(request.claim, reached, bounds[0] if bounds else None, False),
        bounds=bounds,
        looks=looks,
        versions=versions(),
        seed=request.seed,
        warnings=found,
        next_steps=after_checkpoint(
            *(request.claim, bounds, n, _needed(request, bounds)),
            fair=candidates.coins != "supposed",
        ),
        request=request,
        candidates=candidates,
        model=model,
        score=score,
        scores=scores,
        outputs=outputs,
        calls=assign_guesses(scores, guesses.guesses if guesses else max(1, n // 2)),
        risk=risk(split(scores, candidates.put_in), request.confidence),
        references=[name for name, _ in references],
    )


def _take_look(
    request: CheckpointRequest, kept: Looks, words: str, scores: Array, numbers: GuessNumbers
) -> int:
    """Count a look at a kit's coins; return its number.

    A look is all guesses and the estimator that decides: the same guesses are the same look,
    whatever the claim. Another model is another look too, because it could be the same training
    at another moment.
    """
    decides = request.estimators[0]
    guesses = np.stack([assign_guesses(scores, r) for r in numbers.numbers])
    look = hash_arrays(f"look {decides(request.confidence)!r}", guesses=guesses)
    number = kept.upcoming(look)
    level = numbers.each(deciding_confidence(request.confidence, number))
    if problem := checks.in_range("confidence", level, 0, 1, ends="()"):
        text = (
            f"look {number} at one kit cannot decide any more ({problem}); train with a fresh one"
        )
        raise BadInput(text, "no-looks-left", value=number)
    return kept.take(look, words)


def _needed(request: CheckpointRequest, bounds: Sequence[Bound]) -> int | None:
    """The number of canaries that could decide on the claim, if these could not and others can."""
    claim = request.claim
    if not claim.guarantees or not bounds or bounds[0].ceiling >= claim.epsilon:
        return None
    for count in SIZES:
        numbers = GuessNumbers.of(count)
        judge = request.estimators[0](numbers.each(request.confidence))
        if numbers.ceiling(judge, count, claim.delta) > claim.epsilon:
            return count
    return None


def _verdict(claim: Claim, candidates: Candidates, bounds: Sequence[Bound]) -> Verdict:
    """The verdict of the first bound; None if the records were not chosen by coins."""
    if bounds and candidates.coins != "supposed":
        return verdict(claim, bounds[0])
    return "INCONCLUSIVE" if claim.guarantees else "NO_GUARANTEE_CLAIMED"


def _record_warnings(candidates: Candidates, scores: Array) -> Iterator[str]:
    """Warn of coins that cannot be fair, of records on both sides, and of equal scores."""
    n, inn = len(candidates.put_in), int(candidates.put_in.sum())
    if not candidates.fair:
        yield (
            f"{inn:,} of {n:,} records are members, which fair coins almost never give: no bound "
            "is computed"
        )
    elif candidates.coins != "kit" and 2 * inn == n:
        chance = 100 * float(binom.pmf(inn, n, 0.5))
        yield (
            f"exactly half of the {n:,} records are members, which fair coins give in {chance:.2g} "
            "% of splits; a split into two halves is not a coin for each record, and its numbers "
            "are no bounds"
        )
    if candidates.shared:
        yield (
            f"{candidates.shared:,} records are among the members and among the others, too, which "
            "no score can tell apart"
        )
    same = len(scores) - len(np.unique(scores))
    if same > len(scores) // 10:
        yield (
            f"{same:,} of {len(scores):,} records have the score of another one; the order of "
            "equal scores decides which are guessed"
        )


def _reference_warnings(
    candidates: Candidates, target: Outputs, references: Sequence[tuple[str, Outputs]]
) -> Iterator[str]:
    """Refuse reference models that reveal the coins, since guesses would then follow them.

    A reference that was trained without the canaries, or on all of them, does not know the coins.
    If the records were not chosen by coins, such a reference only causes a warning.
    """
    for name, reference in references:
        if np.array_equal(reference.log_odds, target.log_odds):
            text = f"{name} has the outputs of the model itself; a reference is another model"
            raise BadInput(text, "same-model", option="reference", value=name)
        scores = split(reference.log_odds, candidates.put_in)
        u, n = auc(scores), min(len(scores.out), len(scores.inn))
        low, high = auc_interval(u, n, 1 - CHANCE)
        if low <= 0.5 <= high:
            continue
        cause = "it was trained on some of them, or no fair coin chose them"
        if candidates.coins != "supposed":
            text = f"{name} knows the coins (AUC {u:.3f}): {cause}; use another"
            raise BadInput(text, "reference-knows", option="reference", value=name)
        yield f"{name} separates members from others by itself (AUC {u:.3f}): {cause}"
