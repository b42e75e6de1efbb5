"""Words for each kind of trial: models, steps, users' reports, releases, guesses, or no canary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.types import Claim, Guesses, Report

EPSILON = "Epsilon measures this leak: 0 is none, more is worse."


@dataclass(frozen=True)
class Kind:
    """Words for trials of one kind: the game, how a trial is made, and the canary's caption."""

    game: str
    made: str = "trained"
    canary: str = "The planted record, as the models were trained on it"
    trained: bool = True


MODELS = Kind(
    "Models were trained with and without one planted {planted}, the canary{start}. Attacks then "
    "guess from {shown} whether it had the canary: the better they guess, the more {gives} away "
    f"about one record. {EPSILON}"
)
REPORTS = Kind(
    "One user reported again and again, in half of the trials with one value and in half with "
    "another, the canary. Attacks then guess from the report which value it was: the better "
    f"they guess, the more a report gives away about one user. {EPSILON}",
    "given",
    "The record whose class stands for the user's value; no model was trained on it",
    trained=False,
)
RELEASES = Kind(
    "Numbers were released again and again, in half of the trials from data with the canary and in "
    "half from data with another record in its place. Attacks then guess from the numbers "
    "which it was: the better they guess, the more a release gives away about one record. "
    f"{EPSILON}",
    "made",
    "The planted record, as the numbers were released from it",
    trained=False,
)
STEPS = Kind(
    "Two trainings were watched step by step: at every step of one a gradient was planted, the "
    "canary, and at none of the other. Attacks then guess from a step whether it had the canary: "
    "the better they guess, the less noise there is in a step, and the more a training gives away "
    f"about one record. {EPSILON}",
    "scored",
)
KINDS = {"steps": STEPS, "reports": REPORTS, "users": REPORTS, "releases": RELEASES}

ONE_RUN = (
    "One model was trained with many planted gradients, the canaries, each of them put in or left "
    "out by a fair coin. An attack then guesses from the training which of them were in: the "
    f"better it guesses, the more a training gives away about one record. {EPSILON}"
)
NULL = (
    "Nothing was planted: {units} came in two groups, both from the same records. Attacks then "
    "guess which are of which group, and nothing can tell them. What they seem to find is chance, "
    "and what selection makes of it. Epsilon measures a leak: 0 is none, more is worse."
)
ASKED_RECORD = "The record that was asked about; all {units} had it"


@dataclass(frozen=True)
class Worlds:
    """Names of both worlds, as second mentions too, and of what attacks guess."""

    out: str
    inn: str
    then_out: str
    then_inn: str
    guessed: str


PLANTED = Worlds(
    *("without the canary", "with the canary", "without it", "with it"), guessed="had the canary"
)
ALIKE = Worlds(*("of group 2", "of group 1") * 2, guessed="are of which group")


def is_null(canary: Mapping[str, Any]) -> bool:
    """Return whether nothing was planted."""
    return canary.get("name") == "none"


def is_record(report: Report) -> bool:
    """Return whether the canary is a record, and no gradient: only records have a label."""
    return "label" in report.canary


def worlds(canary: Mapping[str, Any]) -> Worlds:
    """Return the names of the worlds that suit a canary."""
    return ALIKE if is_null(canary) else PLANTED


def claim_unit(claim: Claim) -> str:
    """Return the plural of a trial: models, steps, reports, users or releases."""
    return "steps" if claim.by_step else claim.trials


def unit(report: Report) -> str:
    """Return the plural of what limits the bound by its number: trials, or guesses."""
    return "guesses" if report.guesses is not None else claim_unit(report.claim)


def kind(claim: Claim) -> Kind:
    """Return the words for a claim's trials."""
    return KINDS.get(claim_unit(claim), MODELS)


def game(report: Report) -> str:
    """Tell what the trials were, and what epsilon is."""
    if is_null(report.canary):
        return NULL.format(units=unit(report))
    if report.guesses is not None:
        return ONE_RUN
    adversary = ADVERSARIES.get(report.attacker)
    outsider = adversary is None or (adversary.asks and not adversary.crafts)
    crafted = adversary is not None and adversary.crafts
    return kind(report.claim).game.format(
        planted="record" if is_record(report) else "gradient",
        start=", all of them from parameters that the attacker had chosen" if crafted else "",
        shown="a model" if adversary is None else adversary.guesses_from,
        gives="a model gives" if outsider else "is given",
    )


def beyond(report: Report) -> str:
    """Say what may find more than was found."""
    if is_null(report.canary):
        return "nothing was planted, so that there was no leak to find"
    if report.guesses is not None:
        return "more canaries, or many models with one canary, may show more"
    adversary = ADVERSARIES.get(report.attacker)
    if adversary is None:
        return "a stronger attack or another canary may find more"
    return adversary.beyond


def right_guesses(guesses: Guesses) -> str:
    """Say how many guesses there were, and how many were right."""
    return (
        f"{guesses.correct:,} of {guesses.guesses:,} guesses on {guesses.canaries:,} canaries "
        "were right"
    )


def record_caption(report: Report) -> str:
    """Say what the drawn record is."""
    if is_null(report.canary):
        return ASKED_RECORD.format(units=unit(report))
    return kind(report.claim).canary
