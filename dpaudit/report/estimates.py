"""Estimators side by side, as a document and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from dpaudit.judging import outcome
from dpaudit.judging.estimates import EstimateRequest, Estimates
from dpaudit.report import machine
from dpaudit.report.document import (
    Bar,
    Block,
    Column,
    Conclusion,
    Document,
    Facts,
    Heading,
    Row,
    Table,
    Text,
    words,
)
from dpaudit.report.formats import NOTHING, at_least, at_most, nearest, percent, power
from dpaudit.report.run_verdict import NO_EVIDENCE, ending
from dpaudit.report.wording import stands_on
from dpaudit.results import Bound, Counts, Guesses, Scores
from dpaudit.versions import versions

DIGITS = 3
NEXT = "--verbose explains each bound."


def document(estimates: Estimates, where: str = "") -> Document:
    """Build the document: table, sentences, how to read them and, last, the claim."""
    outcome.check_numbers(estimates.bounds)
    question = estimates.request
    assumed = any(bound.assumption == "gaussian" for bound in estimates.shown)
    curve = question.curve or "not stated" + ("; Gaussian where one is assumed" if assumed else "")
    at = f"delta {power(question.delta)}, {percent(question.confidence)} confidence each"
    details: list[Block] = [
        Facts([("Asked", at), ("Curve", curve)]),
        Text(_beside(estimates), mark=""),
        Facts([(bound.estimator, bound.sentence) for bound in estimates.shown]),
        Heading("How to read it"),
        Text(reading(estimates), mark="-"),
    ]
    first = estimates.bounds[0]  # not the largest: taking that would be a selection
    summary: list[Block] = [sentence(estimates, first)]
    if question.claim is not None and (decides := estimates.deciding):
        certified = _on_its_side(decides.epsilon, question.claim)
        claimed = ("claimed", f"{question.claim:.12g}", question.claim)
        summary.append(Bar([claimed, ("certified", certified, decides.epsilon)]))
    summary += [Facts([("Given", outcome_line(question))]), _table(estimates)]
    return Document([*summary, ending([NEXT], where)], details)


def sentence(estimates: Estimates, first: Bound) -> Conclusion | Text:
    """Say what follows for the claim, or how much leaks at least where none is stated."""
    question, bound = estimates.request, estimates.deciding
    sure = percent(question.confidence)
    if question.claim is None:
        leak = f"The leak is at least epsilon {at_least(first.epsilon, DIGITS)}"
        on = f"({first.estimator}, {sure} confidence, no assumptions)"
        return Text([f"{leak} {on}."], strong=True)
    limit = f"{question.claim:.12g}"
    if bound is None:
        why = "only one bound decides, and it must be named beforehand (--estimator NAME)"
        return Text([f"Nothing is decided about the claim of {limit}: {why}."], strong=True)
    shown = _on_its_side(bound.epsilon, question.claim)
    if bound.epsilon > question.claim:
        text = f"the claim of epsilon {limit} does not hold; the leak is at least {shown}"
        return Conclusion("refuted", f"{text} ({sure} confidence).")
    if bound.ceiling < question.claim:
        most = f"the largest bound that these trials can give is {nearest(bound.ceiling, DIGITS)}"
        text = f"{shown} of the claimed epsilon {limit} is certified; {most}."
        return Conclusion("weak", f"{text} {NO_EVIDENCE}")
    text = f"{shown} of the claimed epsilon {limit} is certified ({sure} confidence)."
    if bound.epsilon >= question.claim / 2:
        return Conclusion("strong", text)
    return Conclusion("weak", f"only {text} {NO_EVIDENCE}")


def outcome_line(question: EstimateRequest) -> str:
    """Say what the bounds are computed from."""
    o = question.outcome
    if isinstance(o, Counts):
        return f"{o.fp:,} of {o.out:,} out-trials called in, {o.fn:,} of {o.inn:,} in-trials out"
    if isinstance(o, Guesses):
        return f"{o.correct:,} right of {o.guesses:,} guesses on {o.canaries:,} canaries, one run"
    return f"scores of {len(o.out):,} out-trials and {len(o.inn):,} in-trials"


def _table(estimates: Estimates) -> Table:
    intervals = any(bound.interval for bound in estimates.shown)
    titles = ["epsilon\nat least", *(["two-sided\ninterval"] if intervals else []), "ceiling"]
    rows = []
    for bound in estimates.shown:
        interval = NOTHING
        if bound.interval is not None:
            low, high = bound.interval
            interval = f"{at_least(low, DIGITS)} … {at_most(high, DIGITS)}"
        ceiling = "no limit" if math.isinf(bound.ceiling) else nearest(bound.ceiling, DIGITS)
        numbers = [at_least(bound.epsilon, DIGITS), *([interval] if intervals else []), ceiling]
        rows.append(Row([bound.estimator, *numbers, stands_on(bound, estimates.request.family)]))
    return Table([*words("estimator"), *map(Column, titles), *words("assumes")], rows)


def _beside(estimates: Estimates) -> list[str]:
    """Tell the point estimate, and which estimators were left out."""
    lines = []
    o = estimates.request.outcome
    if estimates.point is not None and isinstance(o, Counts):
        skipped = " A direction without an error is skipped." if min(o.fp, o.fn) == 0 else ""
        point = nearest(estimates.point, DIGITS)
        lines.append(f"Point estimate {point}, of the observed rates; it is no bound.{skipped}")
    for left in estimates.left_out:
        named = left.estimator in left.reason.lower()
        lines.append(f"Left out: {left.reason if named else f'{left.estimator}: {left.reason}'}.")
    hidden = [bound for bound in estimates.bounds if bound not in estimates.shown]
    conditions = ("prior", "unless named (--estimator)"), ("gaussian", "without --curve")
    for assumption, when in conditions:
        if names := [bound.estimator for bound in hidden if bound.assumption == assumption]:
            lines.append(f"Not shown {when}: {', '.join(names)}.")
    return lines


FIXED: dict[type, str] = {
    Counts: "The decision rule must have been fixed beforehand. If a threshold was chosen on these "
    "trials, every number here is too large: give --scores instead.",
    Guesses: "All canaries must be counted, and the number of guesses fixed before the scores.",
    Scores: "The score must have been fixed without these trials; larger means in. exact-scan "
    "allows for the choice of a threshold; paired-auc pairs trials by their order in the file.",
}
"""Conditions on each kind of outcome."""


def reading(estimates: Estimates) -> list[str]:
    """Say what each bound holds for, and what would invalidate it."""
    assumed = {bound.assumption for bound in estimates.shown}
    unnamed = [b.estimator for b in estimates.shown if not estimates.named(b)]
    parts = {
        FIXED[type(estimates.request.outcome)]: True,
        "A bound that assumes a curve may be far above the truth for another mechanism.": assumed
        & {"gaussian", "accountant"},
        "A bound that assumes a prior refutes nothing.": "prior" in assumed,
        "The upper end of an interval limits this decision rule, not the mechanism.": any(
            b.interval for b in estimates.shown
        ),
        f"{', '.join(unnamed)} was not named; it is shown because it assumes nothing.": unnamed,
        "Taking the largest of these bounds after seeing them is a selection that no bound allows "
        "for: name one beforehand (--estimator NAME).": len(estimates.shown) - len(unnamed) > 1,
    }
    return [part for part, applies in parts.items() if applies]


def _on_its_side(epsilon: float, claim: float) -> str:
    """Round down, with as many digits as it takes to stay on the same side of the claim."""
    for digits in range(DIGITS, 13):
        shown = at_least(epsilon, digits)
        if (float(shown) > claim) == (epsilon > claim):
            return shown
    return repr(epsilon)


def to_dict(estimates: Estimates) -> dict[str, Any]:
    """Return all of it as plain values; infinite or missing values are None."""
    question, deciding = estimates.request, estimates.deciding
    outcome.check_numbers(estimates.bounds)
    return machine.contract(
        "estimates",
        {
            "outcome": _outcome(question),
            "delta": question.delta,
            "confidence": question.confidence,
            "curve": question.curve or None,
            "claim": question.claim,
            "seed": question.seed,
            "bounds": [_bound(estimates, bound) for bound in estimates.bounds],
            "left_out": [asdict(left) for left in estimates.left_out],
            "deciding": None if deciding is None else estimates.bounds.index(deciding),
            "point": estimates.point,
            "versions": versions(),
        },
    )


def _outcome(question: EstimateRequest) -> dict[str, Any]:
    o = question.outcome
    if isinstance(o, Counts):
        return {"kind": "counts", "fp": o.fp, "out": o.out, "fn": o.fn, "in": o.inn}
    if isinstance(o, Guesses):
        values = {"canaries": o.canaries, "guesses": o.guesses, "correct": o.correct}
        return {"kind": "guesses", **values}
    return {"kind": "scores", "out": len(o.out), "in": len(o.inn)}


def _bound(estimates: Estimates, bound: Bound) -> dict[str, Any]:
    whole = machine.bound_values(bound)
    names = ("estimator", "assumption", "selection", "epsilon", "confidence", "interval")
    return {
        **{name: whole[name] for name in (*names, "ceiling", "sentence")},
        "may_refute": estimates.may_refute(bound),
        "against_claim": None if estimates.request.claim is None else estimates.standing(bound),
    }
