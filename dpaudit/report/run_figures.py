"""The figures of a run, each with its caption and its numbers in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpaudit.accounting.curves import within_reach
from dpaudit.report import figure_bounds, figure_records, figure_roc, figure_scores
from dpaudit.report.document import Figure
from dpaudit.report.figure_scores import HUGE, AttackScores, attack_scores
from dpaudit.report.formats import at_least, nearest, percent, power, printable, shorten, value
from dpaudit.report.wording import is_null, promise, record_caption, right_guesses, unit, worlds
from dpaudit.results import Growth, Guesses, Report
from dpaudit.types import Array

NAMES = ("bounds", "evidence", "scores", "roc", "canary")
"""All figures that a report may have, in the order of reading."""


def figures(report: Report, digits: int) -> Iterator[Figure]:
    """Draw all figures that a report has evidence for; without any, the bounds alone."""
    yield _bounds(report, digits)
    if report.growth is not None:
        yield _evidence(report.growth, report)
    attacks = attack_scores(report)
    if attacks and report.guesses is not None:
        yield _guesses(attacks[0], report.guesses)
    elif attacks:
        yield _scores(attacks, report)
        yield _roc(attacks, report)
    if report.evidence is not None and report.evidence.canary is not None:
        yield _canary(report.evidence.canary, report.evidence.original, report)


def _bounds(report: Report, digits: int) -> Figure:
    rows = "; ".join(
        f"{bound.attack}{' (decides)' if i == report.primary else ''}: by {bound.estimator} "
        f"{at_least(bound.epsilon, digits)}, ceiling {nearest(bound.ceiling, digits)}"
        for i, bound in enumerate(report.bounds)
    )
    caption = (
        "A certified epsilon to the right of the claim refutes it, if it is the one that decides. "
        f"A ceiling to the left means that so few {unit(report)} could not have refuted it."
    )
    if not report.claim.guarantees:
        caption = "How much is certified to leak; nothing was promised that it could refute."
    alt = f"Claim: {promise(report.claim, digits)}. {rows}."
    title, drawing = "What was found, against the claim", figure_bounds.draw(report, digits)
    return Figure("bounds", title, caption, alt, drawing)


def _evidence(growth: Growth, report: Report) -> Figure:
    ends = [course[-1] for course in (growth.wealth, growth.beside) if course]
    named = (f"{b.estimator} {end:.3g}" for b, end in zip(report.bounds, ends, strict=False))
    trials = f"{2 * len(growth.wealth):,} {unit(report)}"
    return Figure(
        "evidence",
        "Evidence against the claim",
        "The value of a stake of 1 that was bet against the claim. If the claim holds, it "
        f"reaches {growth.needed:.3g} at any time with a probability of at most "
        f"{1 / growth.needed:.3g}; as soon as what decides is there, the claim is refuted.",
        f"After {trials}: {', '.join(named)}; the most by what decides "
        f"was {max(growth.wealth):.3g} of {growth.needed:.3g}.",
        figure_bounds.draw_evidence(growth, report.bounds, unit(report)),
    )


def _scores(attacks: list[AttackScores], report: Report) -> Figure:
    units, named = unit(report), worlds(report.canary)
    return Figure(
        "scores",
        f"Can the attacks tell the {units} apart?",
        f"How the attacks score the {units} that judge them. Where the two colours overlap, the "
        f"attack cannot tell which {units} {named.guessed}.",
        f"Median score {named.out} and {named.then_inn}. "
        + " ".join(f"{a.attack}: {_medians(a, units)}." for a in attacks),
        figure_scores.draw(attacks, units, named),
    )


def _guesses(attack: AttackScores, guesses: Guesses) -> Figure:
    low, high = figure_scores.ends(attack, guesses)
    return Figure(
        "scores",
        "Can the attack tell the canaries apart?",
        "How the attack scores the canaries of the one training. Those to the right of the right "
        "line are guessed to be in, those to the left of the left one to be out.",
        f"Median score of canaries that were left out and put in: {_medians(attack, 'canaries')}; "
        f"called out up to {_number(low)}, called in from {_number(high)}; "
        f"{right_guesses(guesses)}.",
        figure_scores.draw_guesses(attack, guesses),
    )


def _medians(attack: AttackScores, units: str) -> str:
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
    if abs(x) > HUGE:
        return "infinity" if x > 0 else "minus infinity"
    return f"{x:.4g}"


def _roc(attacks: list[AttackScores], report: Report) -> Figure:
    claim, bound, named = report.claim, attacks[0].bound, worlds(report.canary)
    caption = "Each curve is one attack; each of its points is one place to cut its scores. "
    if claim.by_step:
        caption += "They are of single steps, of which epsilon and delta say nothing. "
    elif claim.guarantees:
        allowed = f"epsilon {nearest(claim.epsilon)} and delta {power(claim.delta)}"
        caption += f"The shaded area is what {allowed} allow. "
    caption += "The curves are measured, not proved: they may leave the area by chance."
    if claim.curve is not None and within_reach(claim.curve):
        caption += " Dash-dotted: the best that any attack can do under the claim's curve."
    alt = f"Curves of {', '.join(a.attack for a in attacks)}."
    limits = figure_roc.corner(bound)
    if bound.counts is not None and limits is not None:
        c, sure, units = bound.counts, percent(bound.confidence), unit(report)
        if bound.estimator == "clopper-pearson":
            caption += (
                " Dashed: where the true rates of the deciding rule are; the claim is refuted "
                "only if all of that lies outside the shaded area."
            )
        most = percent(math.ceil(1000 * limits[0]) / 1000)
        least = percent(math.floor(1000 * limits[1]) / 1000)
        alt += (
            f" The deciding rule finds {c.inn - c.fn:,} of {c.inn:,} {units} {named.inn} and "
            f"accuses {c.fp:,} of {c.out:,} {named.then_out}; with {sure} confidence its true "
            f"rates are at least {least} and at most {most}."
        )
    null = is_null(report.canary)
    title = "Telling the groups apart" if null else "Finding the canary against false alarms"
    return Figure("roc", title, caption, alt, figure_roc.draw(attacks, claim, named))


def _canary(canary: Array, original: Array | None, report: Report) -> Figure:
    label = report.canary.get("label")
    labelled = "" if label is None else f", label {printable(value(label))}"
    null, replaced = is_null(report.canary), report.claim.adjacency == "replace"
    caption = record_caption(report)
    shape = " x ".join(map(str, canary.shape))
    alt = f"The {'record' if null else 'canary'}{labelled}: a record of {shape} values"
    if original is not None:
        noise = figure_records.numbers(canary) - figure_records.numbers(original)
        largest = f"{np.abs(noise).max():.3g}"
        other = "that D has in its place" if replaced else "that it was made from"
        caption += f", and the record {other}; they differ by at most {largest}"
        alt += f", at most {largest} from the record {other}"
    if not figure_records.is_flat(canary):
        caption += ". Values are clipped to 0 (black) and 1 (white) for display"
        if len(canary) == 4:
            caption += ", and the fourth channel is left out"
    drawing = figure_records.draw(canary, original, shorten(labelled, 16), replaced)
    title = "The record that was asked about" if null else "The canary"
    return Figure("canary", title, f"{caption}.", f"{alt}.", drawing)
