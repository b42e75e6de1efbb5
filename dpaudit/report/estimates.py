"""Estimators side by side, as a document and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dpaudit.judging.estimates import EstimateRequest, Estimates
from dpaudit.report import machine
from dpaudit.report.document import (
    Block,
    Column,
    Document,
    Facts,
    Heading,
    Legend,
    Row,
    Table,
    Text,
)
from dpaudit.report.formats import NOTHING, at_least, at_most, nearest, percent, power
from dpaudit.report.wording import stands_on
from dpaudit.results import Bound, Counts, Guesses, Scores
from dpaudit.versions import versions

DIGITS = 3


def document(estimates: Estimates) -> Document:
    """Build the document: table, sentences, how to read them and, last, the claim."""
    machine.check_numbers(estimates.bounds)
    question = estimates.request
    assumed = any(bound.assumption == "gaussian" for bound in estimates.shown)
    curve = question.curve or "not stated" + ("; Gaussian where one is assumed" if assumed else "")
    at = f"delta {power(question.delta)}, {percent(question.confidence)} confidence each"
    beside = _beside(estimates)
    blocks: list[Block] = [
        Facts([("Given", [outcome_line(question)]), ("Asked", [at]), ("Curve", [curve])]),
        _table(estimates),
        *([Text(beside, mark="")] if beside else []),
        Legend([(bound.estimator, bound.sentence) for bound in estimates.shown]),
        Text([reading(estimates)]),
        *_against_claim(estimates),
    ]
    return Document(blocks)


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
    columns = [
        Column("estimator", words=True),
        Column("epsilon\nat least"),
        *([Column("two-sided\ninterval")] if intervals else []),
        Column("ceiling"),
        Column("assumes", words=True),
    ]
    rows = []
    for bound in estimates.shown:
        ceiling = "no limit" if math.isinf(bound.ceiling) else nearest(bound.ceiling, DIGITS)
        cells = [bound.estimator, at_least(bound.epsilon, DIGITS)]
        interval = [_interval(bound.interval)] if intervals else []
        rows.append(Row([*cells, *interval, ceiling, stands_on(bound, estimates.request.family)]))
    return Table(columns, rows)


def _interval(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return NOTHING
    low, high = interval
    return f"{at_least(low, DIGITS)} … {at_most(high, DIGITS)}"


def _beside(estimates: Estimates) -> list[str]:
    """Tell the point estimate, and which estimators were left out."""
    lines = []
    o = estimates.request.outcome
    if estimates.point is not None and isinstance(o, Counts):
        skipped = " A direction without an error is skipped." if min(o.fp, o.fn) == 0 else ""
        lines.append(
            f"Point estimate {nearest(estimates.point, DIGITS)}: the formula on the observed rates "
            f"themselves. It describes them, and bounds nothing.{skipped}"
        )
    for left in estimates.left_out:
        named = left.estimator in left.reason.lower()
        lines.append(f"Left out: {left.reason if named else f'{left.estimator}: {left.reason}'}.")
    hidden = [bound for bound in estimates.bounds if bound not in estimates.shown]
    for assumption, when in (
        ("prior", "unless named (--estimator)"),
        ("gaussian", "without --curve"),
    ):
        if names := [bound.estimator for bound in hidden if bound.assumption == assumption]:
            lines.append(f"Not shown {when}: {_and(names)}.")
    return lines


FIXED: dict[type, str] = {
    Counts: "All of them need decisions by a rule that was fixed beforehand: a threshold chosen on "
    "these same trials would make every number here too large (then give --scores).",
    Guesses: "They need canaries that were put in by independent fair coins, all of them counted, "
    "and a number of guesses that was fixed before their scores were seen.",
    Scores: "The score must have been fixed without these trials, larger meaning in. A threshold "
    "chosen on these same scores is covered by no bound on counts; exact-scan allows for the "
    "choice, rank-test and paired-auc need none. paired-auc pairs trials by their order in the "
    "file.",
}
"""Conditions on each kind of outcome."""


def reading(estimates: Estimates) -> str:
    """Say which bounds hold on what, and what would invalidate them."""
    question, assumed = estimates.request, {bound.assumption for bound in estimates.shown}
    free = list(dict.fromkeys(b.estimator for b in estimates.shown if b.assumption == "none"))
    unnamed = [b.estimator for b in estimates.shown if not estimates.named(b)]
    sure = percent(question.confidence)
    parts = {
        f"How to read it. Each row alone says with {sure} confidence that the leak is at least so "
        "large.": True,
        f"Bounds that assume nothing hold for any mechanism ({_and(free)}).": free,
        "A bound that assumes a curve holds only for a mechanism that has it; for another it may "
        "be far above the truth.": assumed & {"gaussian", "accountant"},
        "One that assumes a prior may exceed the truth more often than its percentage "
        "says.": "prior" in assumed,
        FIXED[type(question.outcome)]: True,
        "An interval's upper end limits what this decision rule shows, not what the mechanism "
        "leaks.": any(b.interval for b in estimates.shown),
        "The ceiling is the most that so many could show without any error; an epsilon of 0 means "
        "that nothing was shown, not that nothing leaks.": True,
        f"{_and(unnamed)} was not asked for; it is shown as it assumes nothing.": unnamed,
        "To take the largest of these after seeing them is itself a selection, which no row "
        "allows for: name one beforehand (--estimator "
        "NAME).": len(estimates.shown) - len(unnamed) > 1,
    }
    return " ".join(part for part, applies in parts.items() if applies)


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _against_claim(estimates: Estimates) -> list[Block]:
    claim = estimates.request.claim
    if claim is None:
        return []
    compared = []
    for bound in estimates.shown:
        assumed, *_ = stands_on(bound, estimates.request.family).split(":")
        compared.append(
            (f"{bound.estimator}, assuming {assumed}", _compare(estimates, bound, claim))
        )
    blocks: list[Block] = [
        Heading(f"Claim: epsilon {claim:.12g} at delta {power(estimates.request.delta)}"),
        Legend(compared),
    ]
    if estimates.deciding is None and any(estimates.may_refute(bound) for bound in estimates.shown):
        named = "Only one bound decides: the one that was named before the outcome was seen"
        blocks.append(Text([f"{named} (--estimator NAME)."]))
    return blocks


def _compare(estimates: Estimates, bound: Bound, claim: float) -> str:
    """Compare a bound with the claim in words."""
    limit, value = f"{claim:.12g}", _on_its_side(bound.epsilon, claim)
    match estimates.standing(bound):
        case "above" if bound is estimates.deciding:
            return f"{value} is above {limit}, which refutes the claim."
        case "above" if estimates.may_refute(bound):
            return f"{value} is above {limit}, which would refute it, had it alone been named."
        case "above" if bound.assumption == "prior":
            return f"{value} is above {limit}, but a credible bound refutes nothing."
        case "above":
            unstated = "the claim states no such curve (--curve), so it is not refuted"
            return f"{value} is above {limit}, but {unstated}."
        case "out_of_reach":
            most = nearest(bound.ceiling, DIGITS)
            return f"{value} is below {limit}; so many could show at most {most}: undecided."
        case "not_above":
            return f"{value} is not above {limit}, which does not refute the claim."


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
    machine.check_numbers(estimates.bounds)
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
            "left_out": [
                {"estimator": left.estimator, "reason": left.reason} for left in estimates.left_out
            ],
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
        numbers = {"canaries": o.canaries, "guesses": o.guesses, "correct": o.correct}
        return {"kind": "guesses", **numbers}
    return {"kind": "scores", "out": len(o.out), "in": len(o.inn)}


def _bound(estimates: Estimates, bound: Bound) -> dict[str, Any]:
    whole = machine.bound_values(bound)
    names = ("estimator", "assumption", "selection", "epsilon", "confidence", "interval")
    return {
        **{name: whole[name] for name in (*names, "ceiling", "sentence")},
        "may_refute": estimates.may_refute(bound),
        "against_claim": None if estimates.request.claim is None else estimates.standing(bound),
    }
