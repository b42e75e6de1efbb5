"""Judge what a model said of its canaries: scores, guesses, bounds, figures of risk, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checkpoint.doubts import doubted, knowing
from dpaudit.checkpoint.kits.looks import Looks
from dpaudit.checkpoint.outputs import Outputs
from dpaudit.checkpoint.request import CheckpointRequest
from dpaudit.checkpoint.risk import Risk, risk, split
from dpaudit.checkpoint.scoring import Score, fixed
from dpaudit.data.fingerprints import fingerprint
from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.guesses import called
from dpaudit.estimators.selections import GuessNumbers
from dpaudit.judging.advice import after_checkpoint
from dpaudit.judging.judge import deciding, verdict
from dpaudit.types import Array, Bound, Claim, Report, Verdict
from dpaudit.versions import versions

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
