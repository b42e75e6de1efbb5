"""Words that all reports share: for verdicts, claims, and each kind of trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpaudit.accounting.curves import DPSGDFamily, Family
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
    "none": "assumes nothing",
    "gaussian": "assumes a Gaussian curve",
    "accountant": "assumes the accountant's curve",
    "prior": "assumes a prior (credible)",
}
STEPS_ASSUME = "assumes that steps like those scored make up a training as claimed"


def assumes(bound: Bound, claim: Claim) -> str:
    """Say what a bound assumes."""
    return STEPS_ASSUME if claim.by_step else ASSUMPTIONS[bound.assumption]


def stands_on(bound: Bound, curves: Family | None = None) -> str:
    """Say in a few words what a bound stands on, if a family of curves is stated or assumed."""
    if bound.assumption == "accountant" and isinstance(curves, DPSGDFamily):
        return f"DP-SGD's curve: sample rate {curves.sample_rate:g}, {curves.rounds:,} steps"
    return ASSUMPTIONS[bound.assumption].removeprefix("assumes ")


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
        c, scored = claim.curve, ", scored step by step" if claim.by_step else ""
        lines.append(
            f"Curve: DP-SGD{scored}, sample rate {value(c.sample_rate)}, {value(c.steps)} steps, "
            f"noise multiplier {value(c.noise_multiplier)}"
        )
    if claim.beside:
        others = ", ".join(f"{name} {nearest(e)}" for name, e in claim.beside.items())
        lines.append(f"Other accountants, for comparison: {others}")
    return lines


EPSILON = "The better they guess, the larger is the leak, epsilon; 0 is no leak."


@dataclass(frozen=True)
class Kind:
    """Words for trials of one kind: the game, how a trial is made, and the canary's caption."""

    game: str
    made: str = "trained"
    canary: str = "The planted record, as the models were trained on it"
    trained: bool = True


MODELS = Kind(
    "Models were trained with and without one planted {planted}, the canary{start}. Attacks guess "
    "from {shown} whether it had the canary."
)
REPORTS = Kind(
    "One user reported many times: half of the reports are of one value, half of another, the "
    "canary. Attacks guess the value from the report.",
    "given",
    "The record whose class stands for the user's value; no model was trained on it",
    trained=False,
)
RELEASES = Kind(
    "Numbers were released many times: half of them from data with the canary, half from data "
    "with another record in its place. Attacks guess the data from the numbers.",
    "made",
    "The planted record, as the numbers were released from it",
    trained=False,
)
STEPS = Kind(
    "Two trainings were watched step by step. Every step of one had a planted gradient, the "
    "canary; no step of the other had. Attacks guess from a step whether it had the canary.",
    "scored",
)
KINDS = {"steps": STEPS, "reports": REPORTS, "users": REPORTS, "releases": RELEASES}

ONE_RUN = (
    "One model was trained with many planted gradients, the canaries, each put in or left out by a "
    "fair coin. An attack guesses from the training which were in."
)
NULL = (
    "No canary was planted: {units} came in two groups of the same records. Attacks guess the "
    "group. There is nothing to find, so what they find is chance."
)


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
        return f"{ONE_RUN} {EPSILON}"
    adversary = ADVERSARIES.get(report.attacker)
    crafted = adversary is not None and adversary.crafts
    text = kind(report.claim).game.format(
        planted="record" if is_record(report) else "gradient",
        start=", all from parameters that the attacker had chosen" if crafted else "",
        shown="a model" if adversary is None else adversary.guesses_from,
    )
    return f"{text} {EPSILON}"


def right_guesses(guesses: Guesses) -> str:
    """Say how many guesses there were, and how many were right."""
    right = f"{guesses.correct:,} of {guesses.guesses:,} guesses"
    return f"{right} on {guesses.canaries:,} canaries were right"


def record_caption(report: Report) -> str:
    """Say what the drawn record is."""
    if is_null(report.canary):
        return f"The record that was asked about; all {unit(report)} had it"
    return kind(report.claim).canary
