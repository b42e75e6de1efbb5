"""Words that all reports share: for verdicts, claims, and each kind of trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpaudit.accounting.curves import DPSGD, Family
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.report.formats import at_least, nearest, power, value
from dpaudit.results import Bound, Guesses, Report, Strength
from dpaudit.types import Claim, GaussianCurve

LABELS: Mapping[Strength, str] = {
    "refuted": "REFUTED",
    "strong": "HELD AGAINST A STRONG TEST",
    "weak": "WEAK TEST",
    "null-passed": "NULL CHECK PASSED",
    "null-failed": "NULL CHECK FAILED",
    "not-claimed": "NO CLAIM",
}
"""The outcome of an audit, as people read it."""

SLOTS = {
    "accountant": "by curve",
    "gaussian": "by curve",
    "none": "no assumptions",
    "prior": "by prior",
}
"""The column of a bound, by its assumption; in the order of columns."""

ASSUMPTIONS = {
    "none": "assumes nothing about the mechanism",
    "gaussian": "assumes a Gaussian trade-off curve",
    "accountant": "assumes the accountant's curve",
    "prior": "assumes a prior: credible, not certified",
}
STEPS_ASSUME = "assumes that steps like those scored make up a training as claimed"


def assumes(bound: Bound, claim: Claim) -> str:
    """Say what a bound assumes."""
    return STEPS_ASSUME if claim.by_step else ASSUMPTIONS[bound.assumption]


def stands_on(bound: Bound, curves: Family | None) -> str:
    """Say in a few words what a bound stands on, if a family of curves is stated or assumed."""
    if bound.assumption == "accountant" and isinstance(curves, DPSGD):
        return f"DP-SGD's curve: sample rate {curves.sample_rate:g}, {curves.rounds:,} steps"
    return {
        "none": "nothing",
        "gaussian": "a Gaussian trade-off curve",
        "accountant": "the accountant's curve",
        "prior": "a prior: credible, not certified",
    }[bound.assumption]


def digits_needed(report: Report) -> int:
    """Decimals, at least two, at which bound and ceiling print on their own side of the claim."""
    claimed, epsilon = report.claim.epsilon, report.bounds[report.primary].epsilon
    reach = report.reach
    for digits in range(2, 9):
        claim = float(nearest(claimed, digits))
        above = float(at_least(epsilon, digits)) > claim
        below = float(nearest(reach, digits)) < claim
        shown = claim > 0 or claimed == 0
        if shown and (above, below) == (epsilon > claimed, reach < claimed):
            return digits
    return 9


def question(claim: Claim, digits: int) -> str:
    """Return the question that an audit answers."""
    if not claim.guarantees:
        return "how much leaks where no guarantee is claimed?"
    return f"is the leak within the claimed epsilon of {nearest(claim.epsilon, digits)}?"


def claimed_epsilon(claim: Claim, digits: int = 2) -> str:
    """Return the most that may leak."""
    return nearest(claim.epsilon, digits) if claim.guarantees else "no guarantee"


def promise(claim: Claim, digits: int = 2) -> str:
    """Return the most that may leak, with its delta."""
    limit = claimed_epsilon(claim, digits)
    return f"epsilon {limit}, delta {power(claim.delta)}" if claim.guarantees else limit


def claim_lines(claim: Claim, digits: int) -> list[str]:
    """Say what is claimed, by whom, and for which unit."""
    limit, source = f"{promise(claim, digits)}, for: {claim.unit}", f"Source: {claim.source}"
    if not claim.guarantees:
        return [limit, source]
    difference = "adding or removing" if claim.adjacency == "add-remove" else "replacing"
    lines = [
        limit,
        f"It limits how much {difference} one record may change what is released, "
        "up to a slack of delta.",
        source,
    ]
    if isinstance(claim.curve, GaussianCurve):
        lines.append(f"Curve: Gaussian, mu {value(claim.curve.mu)}")
    elif claim.curve is not None:
        scored = ", scored step by step" if claim.by_step else ""
        lines.append(
            f"Curve: DP-SGD{scored}, sample rate {value(claim.curve.sample_rate)}, "
            f"{value(claim.curve.steps)} steps, "
            f"noise multiplier {value(claim.curve.noise_multiplier)}"
        )
    if claim.beside:
        others = ", ".join(f"{name} {nearest(e)}" for name, e in claim.beside.items())
        lines.append(f"Other accountants, for comparison: {others}")
    return lines


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
