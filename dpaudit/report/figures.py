"""The figures of a report, each with the words that say what it shows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.accounting.curves import within_reach
from dpaudit.report import (
    figure_bounds,
    figure_canary,
    figure_evidence,
    figure_guesses,
    figure_roc,
    figure_scores,
    local,
    one_run,
    promises,
    releases,
    words,
)
from dpaudit.report.by_step import ALLOWED
from dpaudit.report.consistent import check
from dpaudit.report.drawing import short
from dpaudit.report.formats import nearest, percent, power, printable, value
from dpaudit.report.judged import Judged, judged
from dpaudit.report.one_run import unit
from dpaudit.report.table import cells, head, in_one_line, rows
from dpaudit.report.tradeoff import rectangle
from dpaudit.report.worlds import ASKED, Worlds, is_null, worlds
from dpaudit.results import Growth, Guesses, Report
from dpaudit.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("bounds", "evidence", "scores", "roc", "canary")
"""Of all figures that a report may have, in the order of reading."""


@dataclass(frozen=True)
class Picture:
    """A figure, its name as a file, its title, what it shows, and its numbers in words."""

    name: str
    title: str
    caption: str
    alt: str
    figure: Figure


def pictures(report: Report) -> Iterator[Picture]:
    """What can be drawn of a report: without evidence the bounds alone."""
    check(report)
    yield _bounds(report)
    if report.growth is not None:
        yield _evidence(report.growth, report)
    attacks = judged(report)
    if attacks and report.guesses is not None:
        yield _guesses(attacks[0], report.guesses)
    elif attacks:
        yield _scores(attacks, unit(report), worlds(report.canary))
        yield _roc(attacks, report)
    if report.evidence is not None and report.evidence.canary is not None:
        yield _canary(report.evidence.canary, report.evidence.original, report)


def _bounds(report: Report) -> Picture:
    digits = words.digits_needed(report)
    titles = [in_one_line(title) for title in head(report)]
    found = "; ".join(
        f"{row.attack}{' (decides)' if row.deciding else ''}: "
        + ", ".join(map(" ".join, zip(titles, cells(row, report, digits), strict=True)))
        for row in rows(report)
    )
    caption = (
        "A certified epsilon to the right of the claim would refute it, if it is the one that "
        f"decides. A ceiling to the left of the claim means that so few {unit(report)} could "
        "not have refuted it."
    )
    if not report.claim.guarantees:
        caption = "How much is certified to leak; nothing was promised that it could refute."
    return Picture(
        "bounds",
        "What was found, against the claim",
        caption,
        f"Claim: epsilon {promises.promised(report.claim, digits)}. {found}.",
        figure_bounds.draw(report, digits),
    )


def _evidence(growth: Growth, report: Report) -> Picture:
    ends = [course[-1] for course in (growth.wealth, growth.beside) if course]
    named = (
        f"{bound.estimator} {wealth:.3g}"
        for bound, wealth in zip(report.bounds, ends, strict=False)
    )
    models = f"{2 * len(growth.wealth):,} {unit(report)}"
    return Picture(
        "evidence",
        "Evidence against the claim",
        "What a stake of 1 that was bet against the claim has become. If the claim holds, it "
        f"reaches {growth.needed:.3g} at any time with a probability of at most "
        f"{1 / growth.needed:.3g}; as soon as what decides is there, the claim is refuted.",
        f"After {models}: {', '.join(named)}; the most by what decides "
        f"was {max(growth.wealth):.3g} of {growth.needed:.3g}.",
        figure_evidence.draw(growth, report.bounds, unit(report)),
    )


def _scores(attacks: list[Judged], units: str, named: Worlds) -> Picture:
    return Picture(
        "scores",
        f"Can the attacks tell the {units} apart?",
        f"How the attacks score the {units} that judge them. Where the two colours lie on top of "
        f"each other, the attack cannot tell which {units} {named.guessed}; the further they are "
        "apart, the larger the leak.",
        f"Median score {named.out} and {named.then_inn}. "
        + " ".join(f"{a.attack}: {_medians(a, units)}." for a in attacks),
        figure_scores.draw(attacks, units, named),
    )


def _guesses(attack: Judged, guesses: Guesses) -> Picture:
    low, high = figure_guesses.ends(attack, guesses)
    return Picture(
        "scores",
        "Can the attack tell the canaries apart?",
        "How the attack scores the canaries of the one training. Those to the right of the right "
        "line are guessed to be in, those to the left of the left one to be out; the further the "
        "two colours are apart, the larger the leak.",
        f"Median score of canaries that were left out and put in: {_medians(attack, 'canaries')}; "
        f"called out up to {_number(low)}, called in from {_number(high)}; "
        f"{one_run.right(guesses)}.",
        figure_guesses.draw(attack, guesses),
    )


def _medians(attack: Judged, units: str) -> str:
    out, inn = attack.scores.out, attack.scores.inn
    cut = "" if attack.cut is None else f", cut at {_number(attack.cut)}"
    return (
        f"{_number(_median(out))} ({out.size:,} {units}) and {_number(_median(inn))} "
        f"({inn.size:,} {units}){cut}"
    )


def _median(x: Array) -> float:
    # Not numpy's: the mean of two infinite scores is no number.
    return float(np.sort(x)[(x.size - 1) // 2])


def _number(x: float) -> str:
    if abs(x) > 1e100:
        return "infinity" if x > 0 else "minus infinity"
    return f"{x:.4g}"


def _roc(attacks: list[Judged], report: Report) -> Picture:
    claim, bound, named = report.claim, attacks[0].bound, worlds(report.canary)
    caption = (
        "Each curve is one attack; each of its points is one place to cut its scores. The shaded "
        f"area is what epsilon {nearest(claim.epsilon)} and delta {power(claim.delta)} allow. "
        "The curves are measured, not proved: they may leave the area by chance."
    )
    if not claim.guarantees:
        caption = (
            "Each curve is one attack; each of its points is one place to cut its scores. All of "
            "the area is allowed, because nothing was promised."
        )
    if claim.by_step:
        caption = ALLOWED
    if claim.curve is not None and within_reach(claim.curve):
        caption += (
            " Dash-dotted: the best that any attack can do if the mechanism is what it claims to "
            "be; a test by curve asks whether the scores are too good for that."
        )
    alt = f"Curves of {', '.join(a.attack for a in attacks)}."
    corner = rectangle(bound)
    if bound.counts is not None and corner is not None:
        c, sure, units = bound.counts, percent(bound.confidence), unit(report)
        if bound.estimator == "clopper-pearson":
            caption += (
                " Dashed: where the true rates of the deciding rule are; the claim is refuted "
                "only if all of that lies outside the shaded area."
            )
        alt += (
            f" The deciding rule finds {c.inn - c.fn:,} of {c.inn:,} {units} {named.inn} and "
            f"accuses {c.fp:,} of {c.out:,} {named.then_out}; with {sure} confidence its true "
            f"rates are at least {percent(_floor(corner.tpr))} and at most "
            f"{percent(-_floor(-corner.fpr))}."
        )
    title = "Finding the canary against false alarms"
    if is_null(report.canary):
        title = "Telling the groups apart"
    return Picture("roc", title, caption, alt, figure_roc.draw(attacks, claim, named))


def _floor(x: float) -> float:
    return math.floor(1000 * x) / 1000


def _canary(canary: Array, original: Array | None, report: Report) -> Picture:
    label = report.canary.get("label")
    told = "" if label is None else f", label {printable(value(label))}"
    shape = " x ".join(map(str, canary.shape))
    caption = "The planted record, as the models were trained on it"
    if null := is_null(report.canary):
        caption = ASKED.format(units=unit(report))
    elif local.reported(report.claim):
        caption = local.CANARY
    elif releases.released(report.claim):
        caption = releases.CANARY
    alt = f"The {'record' if null else 'canary'}{told}: a record of {shape} values"
    replaced = report.claim.adjacency == "replace"
    if original is not None:
        noise = figure_canary.numbers(canary) - figure_canary.numbers(original)
        largest = f"{np.abs(noise).max():.3g}"
        other = "that D has in its place" if replaced else "that it was made from"
        caption += f", and the record {other}; they differ by at most {largest}"
        alt += f", at most {largest} from the record {other}"
    if not figure_canary.is_flat(canary):
        caption += ". Values are clipped to 0 (black) and 1 (white) for display"
        if len(canary) == 4:
            caption += ", and the fourth channel is left out"
    figure = figure_canary.draw(canary, original, short(told, 16), replaced)
    title = "The record that was asked about" if null else "The canary"
    return Picture("canary", title, f"{caption}.", f"{alt}.", figure)
