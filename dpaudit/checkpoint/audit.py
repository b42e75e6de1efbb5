"""The claim of a user's own model, and how the guesses on its canaries are to be judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import binom

from dpaudit import checks
from dpaudit.accounting.curves import DPSGD, Family, stated
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
    fixed,
    risk,
    split,
)
from dpaudit.data.fingerprints import fingerprint
from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run import called
from dpaudit.estimators.power.truth import located
from dpaudit.estimators.selections import GuessNumbers
from dpaudit.judging.advice import after_checkpoint
from dpaudit.judging.judge import deciding, verdict
from dpaudit.results import Bound, Report, Verdict
from dpaudit.types import Array, Claim, Curve, DPSGDCurve, GaussianCurve
from dpaudit.versions import versions


@dataclass(frozen=True)
class CheckpointRequest:
    """A claim, if there is one, and how the guesses are to be judged.

    `curve` is that which the claim states, 'gaussian', 'dpsgd:Q,T' or 'none'; left empty, a
    Gaussian one is assumed beside what assumes nothing, and decides nothing. `guesses` is their
    number, where it is fixed; else the best of a few is paid for. `score` is fixed here too.
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
        """The kind of curve that is stated, or assumed where none is; None: none."""
        return stated(self.curve)

    @cached_property
    def claim(self) -> Claim:
        """What is promised, with its curve if one is stated; an infinite epsilon if nothing is."""
        if self.claimed is None:
            return Claim(math.inf, self.delta)
        epsilon, delta = self.claimed
        return Claim(epsilon, delta, curve=self._curve(epsilon, delta))

    def _curve(self, epsilon: float, delta: float) -> Curve | None:
        family = self.family
        if not self.curve or family is None:
            return None
        parameter = located(family, epsilon, delta)
        if isinstance(family, DPSGD):
            return DPSGDCurve(family.sample_rate, family.rounds, parameter)
        return GaussianCurve(parameter)


# ----------------------------------------------------------------
# What speaks against a bound: no coins, scores that say nothing, references that know them.


CHANCE = 1e-6
"""With which a reference that knows nothing of the coins is taken for one that does."""


def doubted(candidates: Candidates, scores: Array) -> Iterator[str]:
    """What a reader should know of the records and of their scores."""
    n, inn = len(candidates.put_in), int(candidates.put_in.sum())
    if not candidates.fair:
        yield (
            f"{inn:,} of {n:,} records are members, which fair coins hardly ever give: no bound is "
            "computed"
        )
    elif candidates.coins != "kit" and 2 * inn == n:
        chance = 100 * float(binom.pmf(inn, n, 0.5))
        yield (
            f"exactly half of the {n:,} records are members, which fair coins give in {chance:.2g} "
            "% of splits; a split into two halves is no coin for each record, and its numbers are "
            "no bounds"
        )
    if candidates.shared:
        yield (
            f"{candidates.shared:,} records are among the members and among the others, too, which "
            "no score can tell apart"
        )
    same = len(scores) - len(np.unique(scores))
    if same > len(scores) // 10:
        yield (
            f"{same:,} of {len(scores):,} records have the score of another one; of equal scores "
            "the order decides who is guessed"
        )


def knowing(
    candidates: Candidates, target: Outputs, references: Sequence[tuple[str, Outputs]]
) -> Iterator[str]:
    """Refuse reference models that give the coins away: those would be guessed from them.

    One that was trained without the canaries, or on all of them, says nothing of which were in.
    Where nobody says that coins were tossed, that it does is told.
    """
    for name, reference in references:
        if np.array_equal(reference.log_odds, target.log_odds):
            said = f"{name} says what the model itself says; a reference is another model"
            raise BadInput(said, "same-model", option="reference", value=name)
        scores = split(reference.log_odds, candidates.put_in)
        u, n = auc(scores), min(len(scores.out), len(scores.inn))
        low, high = auc_interval(u, n, 1 - CHANCE)
        if low <= 0.5 <= high:
            continue
        if candidates.coins == "supposed":
            yield (
                f"{name} tells members from others by itself (AUC {u:.3f}): it was trained on some "
                "of them, or no fair coin chose them"
            )
            continue
        raise BadInput(
            f"{name} knows which records were in (AUC {u:.3f}), so that it was trained on them, or "
            "no fair coin chose them; a reference is trained without them",
            "reference-knows",
            option="reference",
            value=name,
        )


# ----------------------------------------------------------------
# Judge what a model said of its canaries: scores, guesses, bounds, figures of risk, a verdict.


OfGuesses = OneRun | OneRunFDP

SIZES = [digit * 10**power for power in (1, 2, 3, 4) for digit in (1, 2, 5)] + [100_000]
"""Of kits that are thought of where one was too small."""


@dataclass(frozen=True, kw_only=True)
class CheckpointReport(Report):
    """The report of a user's own model: the bound that decides comes first.

    Without a bound no fair coin can have chosen the records.
    """

    request: CheckpointRequest
    candidates: Candidates
    model: str
    score: Score
    scores: Array
    outputs: Outputs
    calls: Array
    """What was guessed of each record by the first bound: 1 in, -1 out, 0 nothing."""
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
    """The report of one model; nothing in it was chosen by the coins but what is paid for."""
    n = len(candidates.records)
    if request.guesses is not None and request.guesses > n:
        said = f"there are {n:,} canaries to guess, not {request.guesses:,} (--guesses)"
        raise BadInput(said, "too-large", option="guesses", value=request.guesses)
    score = fixed(request.score, len(references), bool(outputs.statistics))
    scores = score.of(outputs, [reference for _, reference in references])
    doubts = [*warnings, *doubted(candidates, scores), *knowing(candidates, outputs, references)]
    numbers = GuessNumbers.of(n) if request.guesses is None else GuessNumbers([request.guesses])
    looks = 1
    if candidates.looks is not None:
        looks = _looks(request, candidates.looks, f"{score.name} of {model}", scores, numbers)
    sure = deciding(request.confidence, looks)
    bounds = (
        _bounds(request, candidates, score.name, scores, numbers, sure) if candidates.fair else []
    )
    # Without a bound nothing is judged, and half of the records are enough to look at.
    shown = bounds[0].guesses if bounds else None
    return CheckpointReport(
        claim=request.claim,
        verdict=_verdict(request.claim, candidates, bounds),
        bounds=bounds,
        looks=looks,
        versions=versions(),
        seed=request.seed,
        warnings=doubts,
        next_steps=after_checkpoint(request.claim, bounds, n, _needed(request, bounds)),
        request=request,
        candidates=candidates,
        model=model,
        score=score,
        scores=scores,
        outputs=outputs,
        calls=called(scores, shown.guesses if shown else max(1, n // 2)),
        risk=risk(split(scores, candidates.put_in), request.confidence),
        references=[name for name, _ in references],
    )


def _looks(
    request: CheckpointRequest, kept: Looks, words: str, scores: Array, numbers: GuessNumbers
) -> int:
    """The number of this look at a kit's coins.

    A look is all that is guessed, and what decides: the same guesses are the same look, whatever
    the claim. Another model is another look too, because nobody can tell it from another moment of
    the same training.
    """
    decides = _makers(request)[0]
    guessed = np.stack([called(scores, r) for r in numbers.numbers])
    what = fingerprint(f"look {decides(request.confidence)!r}", guesses=guessed)
    number = kept.upcoming(what)
    try:
        decides(numbers.each(deciding(request.confidence, number)))
    except BadInput as error:
        raise BadInput(
            f"look {number} at one kit cannot decide any more ({error}); train with a fresh one",
            "no-looks-left",
            value=number,
        ) from error
    return kept.take(what, words)


def _bounds(
    request: CheckpointRequest,
    candidates: Candidates,
    score: str,
    scores: Array,
    numbers: GuessNumbers,
    confidence: float,
) -> list[Bound]:
    """By what decides, then by what stands beside it."""
    delta = request.claim.delta
    found = (
        numbers.bound(scores, candidates.put_in, maker, delta, confidence)
        for maker in _makers(request)
    )
    return [replace(bound, attack=score) for bound in found]


def _needed(request: CheckpointRequest, bounds: Sequence[Bound]) -> int | None:
    """How many canaries could decide on the claim where these could not; None: none could."""
    claim = request.claim
    if not claim.guarantees or not bounds or bounds[0].ceiling >= claim.epsilon:
        return None
    decides = _makers(request)[0]
    for count in SIZES:
        numbers = GuessNumbers.of(count)
        judge = decides(numbers.each(request.confidence))
        if numbers.ceiling(judge, count, claim.delta) > claim.epsilon:
            return count
    return None


def _makers(request: CheckpointRequest) -> list[Callable[[float], OfGuesses]]:
    """A stated curve decides; one that is only assumed stands beside what assumes nothing."""
    curves = request.family
    if curves is None or request.claim.delta == 0:
        return [OneRun]

    def by_curve(confidence: float) -> OfGuesses:
        return OneRunFDP(confidence, curves)

    return [by_curve, OneRun] if request.curve else [OneRun, by_curve]


def _verdict(claim: Claim, candidates: Candidates, bounds: Sequence[Bound]) -> Verdict:
    """What the first bound says of the claim, unless nobody says that coins were tossed."""
    if bounds and candidates.coins != "supposed":
        return verdict(claim, bounds[0])
    return "INCONCLUSIVE" if claim.guarantees else "NO_GUARANTEE_CLAIMED"
