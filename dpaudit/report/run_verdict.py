"""The outcome of a run: its label and sentence, its numbers on one scale, and its summary."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.report.document import Bar, Block, Column, Conclusion, Facts, Row, Table, words
from dpaudit.report.formats import NOTHING, at_least, nearest, percent, shorten
from dpaudit.report.run_attacks import AttackRow, attack_rows, published_cells
from dpaudit.report.wording import (
    ASSUMPTIONS,
    SLOTS,
    claimed_epsilon,
    digits_needed,
    is_null,
    right_guesses,
    unit,
    worlds,
)
from dpaudit.results import Report
from dpaudit.types import Claim

NO_EVIDENCE = "A weak test is no evidence of privacy."


def in_one_line(report: Report) -> str:
    """Return the outcome in one line."""
    return Conclusion(report.strength, sentence(report, digits_needed(report))).line


def sentence(report: Report, digits: int) -> str:
    """Say what is certified of the claim, and what follows."""
    claim, bound = report.claim, report.bounds[report.primary]
    shown, claimed = at_least(bound.epsilon, digits), nearest(claim.epsilon, digits)
    sure, error = percent(bound.confidence), percent(round(1 - bound.confidence, 9))
    match report.strength:
        case "refuted":
            return (
                f"the claim of epsilon {claimed} does not hold; the leak is at least {shown} "
                f"({sure} confidence)."
            )
        case "strong":
            half = at_least(claim.epsilon / 2, digits)
            return (
                f"{shown} of the claimed epsilon {claimed} is certified ({sure} confidence); "
                f"these {unit(report)} refute a claim of half as much, {half}."
            )
        case "null-passed":
            return "no canary was planted, and the bound that decides is 0, as it should be."
        case "null-failed":
            return (
                f"no canary was planted, but a leak of at least {shown} is certified. Chance does "
                f"this in at most {error} of audits; repeat it with another --seed."
            )
        case "not-claimed":
            return (
                f"the leak is at least {shown} ({sure} confidence). Nothing is claimed for "
                f"{shorten(claim.unit, 30)}, so nothing is refuted."
            )
        case "weak":
            return f"{weakness(report, shown, claimed)} {NO_EVIDENCE}"


def weakness(report: Report, shown: str, claimed: str) -> str:
    """Say how much a weak test certifies, or why it cannot certify more."""
    bound, units = report.bounds[report.primary], unit(report)
    certified = f"{shown} of the claimed epsilon {claimed} is certified"
    if report.untested:
        return f"{shorten(report.untested)}. The audit had nothing to find."
    if report.growth is not None and not report.models["judging"]:
        return f"the run stopped before any of its {units} was judged."
    if bound.epsilon > report.claim.epsilon:
        return (
            f"the bound of {shown} {ASSUMPTIONS[bound.assumption]}, which the claim of {claimed} "
            "does not promise, so it cannot decide."
        )
    if report.reach < report.claim.epsilon:
        most = nearest(report.reach, max(2, len(shown.partition(".")[2])))
        return (
            f"{certified}; this number of {units} can certify at most {most}, so it can never "
            "refute the claim."
        )
    return f"only {certified} ({percent(bound.confidence)} confidence)."


def bars(claim: Claim, certified: float, digits: int = 2) -> Bar:
    """Build what is claimed, if anything is, and what is certified, on one scale."""
    claimed = [("claimed", claimed_epsilon(claim, digits), claim.epsilon)]
    found = ("certified", at_least(certified, digits), certified)
    return Bar([*(claimed if claim.guarantees else []), found])


def summary(report: Report, digits: int, where: str = "") -> list[Block]:
    """Build what a person reads first; `where` says where the report lies."""
    attacked = "" if is_null(report.canary) else attacker(report)
    null = report.strength.startswith("null-")
    scale = bars(report.claim, report.bounds[report.primary].epsilon, digits)
    return [
        Conclusion(report.strength, sentence(report, digits)),
        *([] if null else [scale]),
        Facts([("Attacker", attacked), ("Judged", judged(report))]),
        attack_table(report, digits),
        ending(report.next_steps, where, report.warnings),
    ]


def ending(next_steps: Sequence[str], where: str, warnings: Sequence[str] = ()) -> Facts:
    """Build the end of a summary: first warning, first step, and the place of the report."""
    more = f" ({len(warnings) - 1} more: --verbose)" if len(warnings) > 1 else ""
    warning = [shorten(warning, 120) + more for warning in warnings[:1]]
    step = [shorten(step) for step in next_steps[:1]]
    return Facts([("Warning", warning), ("Next", step), ("Report", where)])


def attacker(report: Report) -> str:
    """Name the adversary, with what it may do and see."""
    if report.guesses is not None:
        return "puts many gradients into one training by fair coins, and sees every noisy update"
    adversary = ADVERSARIES.get(report.attacker)
    return f"{adversary.name}: {adversary.short}" if adversary else shorten(report.adversary)


def judged(report: Report) -> str:
    """Say how many trials or guesses there were, and how accurate the models were."""
    if report.guesses is not None:
        return right_guesses(report.guesses)
    total, names = report.models["in"] + report.models["out"], worlds(report.canary)
    text = f"{total:,} {unit(report)}: {report.models['in']:,} {names.inn}"
    if is_null(report.canary):
        text = f"{total:,} {unit(report)} in two groups of the same data"
    accuracy = report.utility.get("accuracy", math.nan)
    if math.isfinite(accuracy):
        text += f"; accuracy {percent(round(accuracy, 3))}"
    if report.defence != "none":
        text += f"; defended by {shorten(report.defence, 30)}"
    return text


def attack_table(report: Report, digits: int) -> Table:
    """Build a row for each attack, the one that decides first, with at most five columns."""
    rows = sorted(attack_rows(report), key=lambda row: not row.deciding)
    # With the estimates there is room for two columns of bounds.
    slots = [slot for slot in SLOTS_SHOWN if any(slot in row.bounds for row in rows)][:2]
    titles = [SLOTS_SHOWN[slot] for slot in slots]
    if estimates := any(row.published for row in rows):
        titles += ["in-sample (no bound)", "shuffled labels"]
    cells = ([shorten(row.attack, 20), *_cells(row, slots, estimates, digits)] for row in rows)
    return Table(
        [*words("attack"), *map(Column, titles)],
        [Row(line, marked=bool(row.deciding)) for row, line in zip(rows, cells, strict=True)],
    )


SLOTS_SHOWN = {
    SLOTS["accountant"]: "by curve",
    SLOTS["none"]: "no assumptions",
    SLOTS["prior"]: "credible",
}
"""The title of each column of bounds in the summary."""


def _cells(row: AttackRow, slots: Sequence[str], estimates: bool, digits: int) -> list[str]:
    bounds = [row.bounds.get(slot) for slot in slots]
    cells = [NOTHING if bound is None else at_least(bound.epsilon, digits) for bound in bounds]
    if not estimates:
        return cells
    published = published_cells(row.published)
    return [*cells, *(text.partition(" ")[0] for text in published)]
