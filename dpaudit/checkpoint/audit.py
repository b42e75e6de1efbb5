"""Judge what a model said of its canaries: scores, guesses, bounds, figures of risk, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dpaudit.advice import after_checkpoint
from dpaudit.checkpoint.audited import Audited, Question
from dpaudit.checkpoint.doubts import doubted, knowing
from dpaudit.checkpoint.outputs import Outputs
from dpaudit.checkpoint.risk import risk, split
from dpaudit.checkpoint.scoring import fixed
from dpaudit.checkpoint.subject import Subject
from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.fingerprints import fingerprint
from dpaudit.guessing import called
from dpaudit.judge import deciding, verdict
from dpaudit.kits.looks import Looks
from dpaudit.selections import GuessNumbers
from dpaudit.types import Array, Bound, Guesses, Verdict

OfGuesses = OneRun | OneRunFDP

SIZES = [digit * 10**power for power in (1, 2, 3, 4) for digit in (1, 2, 5)] + [100_000]
"""Of kits that are thought of where one was too small."""


def audit(
    question: Question,
    subject: Subject,
    model: str,
    outputs: Outputs,
    references: Sequence[tuple[str, Outputs]] = (),
    warnings: Sequence[str] = (),
) -> Audited:
    """The report of one model; nothing in it was chosen by the coins but what is paid for."""
    n = len(subject.records)
    if question.guesses is not None and question.guesses > n:
        said = f"there are {n:,} canaries to guess, not {question.guesses:,} (--guesses)"
        raise BadInput(said, "too-large", option="guesses", value=question.guesses)
    score = fixed(question.score, len(references), bool(outputs.statistics))
    scores = score.of(outputs, [reference for _, reference in references])
    doubts = [*warnings, *doubted(subject, scores), *knowing(subject, outputs, references)]
    numbers = GuessNumbers.of(n) if question.guesses is None else GuessNumbers([question.guesses])
    looks = 1
    if subject.looks is not None:
        looks = _looks(question, subject.looks, f"{score.name} of {model}", scores, numbers)
    sure = deciding(question.confidence, looks)
    judged = _judged(question, subject, score.name, scores, numbers, sure) if subject.fair else []
    bounds, guesses = [bound for bound, _ in judged], [guess for _, guess in judged]
    decided = _verdict(question, subject, bounds)
    # Without a bound nothing is judged, and half of the records are enough to look at.
    shown = guesses[0].guesses if guesses else max(1, n // 2)
    return Audited(
        question=question,
        subject=subject,
        model=model,
        score=score,
        scores=scores,
        outputs=outputs,
        calls=called(scores, shown),
        bounds=bounds,
        guesses=guesses,
        verdict=decided,
        risk=risk(split(scores, subject.put_in), question.confidence),
        looks=looks,
        references=[name for name, _ in references],
        warnings=doubts,
        next_steps=after_checkpoint(question.claim, bounds, n, _needed(question, bounds)),
    )


def _looks(
    question: Question, kept: Looks, words: str, scores: Array, numbers: GuessNumbers
) -> int:
    """The number of this look at a kit's coins.

    A look is all that is guessed, and what decides: the same guesses are the same look, whatever
    the claim. Another model is another look too, because nobody can tell it from another moment of
    the same training.
    """
    decides = _makers(question)[0]
    guessed = np.stack([called(scores, r) for r in numbers.numbers])
    what = fingerprint(f"look {decides(question.confidence)!r}", guesses=guessed)
    number = kept.upcoming(what)
    try:
        decides(numbers.each(deciding(question.confidence, number)))
    except BadInput as error:
        raise BadInput(
            f"look {number} at one kit cannot decide any more ({error}); train with a fresh one",
            "no-looks-left",
            value=number,
        ) from error
    return kept.take(what, words)


def _judged(
    question: Question,
    subject: Subject,
    score: str,
    scores: Array,
    numbers: GuessNumbers,
    confidence: float,
) -> list[tuple[Bound, Guesses]]:
    """By what decides, then by what stands beside it."""
    found = (
        numbers.bound(scores, subject.put_in, maker, question.at, confidence)
        for maker in _makers(question)
    )
    return [(replace(bound, attack=score), guesses) for bound, guesses in found]


def _needed(question: Question, bounds: Sequence[Bound]) -> int | None:
    """How many canaries could decide on the claim where these could not; None: none could."""
    if question.claim is None or not bounds or bounds[0].ceiling >= question.claim.epsilon:
        return None
    decides = _makers(question)[0]
    for count in SIZES:
        numbers = GuessNumbers.of(count)
        judge = decides(numbers.each(question.confidence))
        if numbers.ceiling(judge, count, question.at) > question.claim.epsilon:
            return count
    return None


def _makers(question: Question) -> list[Callable[[float], OfGuesses]]:
    """A stated curve decides; one that is only assumed stands beside what assumes nothing."""
    curves = question.family
    if curves is None or question.at == 0:
        return [OneRun]

    def by_curve(confidence: float) -> OfGuesses:
        return OneRunFDP(confidence, curves)

    return [by_curve, OneRun] if question.curve else [OneRun, by_curve]


def _verdict(question: Question, subject: Subject, bounds: Sequence[Bound]) -> Verdict | None:
    """What the first bound says of the claim, unless nobody says that coins were tossed."""
    if question.claim is None:
        return None
    if not bounds:
        return "INCONCLUSIVE"
    decided = verdict(question.claim, bounds[0])
    return "INCONCLUSIVE" if subject.coins == "supposed" else decided
