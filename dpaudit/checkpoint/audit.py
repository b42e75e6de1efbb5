"""Judge what a model said of its canaries: scores, guesses, bounds, figures of risk, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dpaudit.advice import after_checkpoint
from dpaudit.checkpoint.audited import Audited, Question
from dpaudit.checkpoint.outputs import Outputs
from dpaudit.checkpoint.risk import risk, split
from dpaudit.checkpoint.scoring import fixed
from dpaudit.checkpoint.subject import Subject
from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.guessing import called
from dpaudit.judge import verdict
from dpaudit.selections import GuessNumbers
from dpaudit.types import Array, Bound, Guesses, Verdict

OfGuesses = OneRun | OneRunFDP


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
        raise BadInput(f"there are {n:,} canaries to guess, not {question.guesses:,} (--guesses)")
    score = fixed(question.score, len(references), bool(outputs.statistics))
    scores = score.of(outputs, [reference for _, reference in references])
    numbers = GuessNumbers.of(n) if question.guesses is None else GuessNumbers([question.guesses])
    judged = _judged(question, subject, score.name, scores, numbers) if subject.fair else []
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
        references=[name for name, _ in references],
        warnings=[*warnings, *_doubts(subject, scores)],
        next_steps=after_checkpoint(question.claim, bounds, n),
    )


def _judged(
    question: Question, subject: Subject, score: str, scores: Array, numbers: GuessNumbers
) -> list[tuple[Bound, Guesses]]:
    """By what decides, then by what stands beside it."""
    found = (
        numbers.bound(scores, subject.put_in, maker, question.at, question.confidence)
        for maker in _makers(question)
    )
    return [(replace(bound, attack=score), guesses) for bound, guesses in found]


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


def _doubts(subject: Subject, scores: Array) -> list[str]:
    found = []
    if not subject.fair:
        inn, n = int(subject.put_in.sum()), len(subject.put_in)
        found.append(
            f"{inn:,} of {n:,} records are members, which fair coins hardly ever give: no bound is "
            "computed"
        )
    same = len(scores) - len(np.unique(scores))
    if same > len(scores) // 10:
        found.append(
            f"{same:,} of {len(scores):,} records have the score of another one; of equal scores "
            "the order decides who is guessed"
        )
    return found
