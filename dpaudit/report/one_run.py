"""What a report says where one training held many canaries, and guesses on them are judged."""

from __future__ import annotations

from dpaudit.report import by_step
from dpaudit.results import Bound, Guesses, Report

GAME = (
    "One model was trained with many planted gradients, the canaries, each of them put in or left "
    "out by a fair coin. An attack then guesses from the training which of them were in: the "
    "better it guesses, the more a training gives away about one record. Epsilon measures this "
    "leak: 0 is none, more is worse."
)

BEYOND = "more canaries, or many models with one canary, may show more"

FIXED = "the score and the number of guesses were fixed before the training"


def unit(report: Report) -> str:
    """What there is a number of, that limits what can be certified."""
    return "guesses" if report.guesses is not None else by_step.unit(report.claim)


def training_lines(guesses: Guesses, bound: Bound) -> list[str]:
    """What the one model held, and how well that was guessed."""
    out, inn = bound.trials or (0, 0)
    return [
        f"1 model with {guesses.canaries:,} canaries: coins put {inn:,} in and left {out:,} out",
        right(guesses),
    ]


def right(guesses: Guesses) -> str:
    """How many guesses there were, and how many were right."""
    return (
        f"{guesses.correct:,} of {guesses.guesses:,} guesses on {guesses.canaries:,} canaries "
        "were right"
    )
