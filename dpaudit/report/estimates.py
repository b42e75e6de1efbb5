"""Estimators side by side, for a terminal."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from dpaudit.accounting.curves import DPSGD
from dpaudit.judging.estimates import Estimates, Question
from dpaudit.report.consistent import check_bound
from dpaudit.report.formats import at_least, at_most, nearest, percent, power, printable
from dpaudit.report.words import NOTHING
from dpaudit.report.wrapping import labelled, row, wrap
from dpaudit.results import Bound, Counts, Guesses

WIDTH, DIGITS = 79, 3
INTERVAL = ("two-sided", "interval")
TITLES = [("", "estimator"), ("epsilon", "at least"), INTERVAL, ("", "ceiling"), ("", "assumes")]


def render(found: Estimates) -> str:
    """Table, sentences, how to read them and, last, the claim; in lines of under 80 columns."""
    for bound in found.bounds:
        check_bound(bound)
    blocks = [
        _asked(found.question),
        _table(found),
        _beside(found),
        [line for b in found.bounds for line in _indented(f"{b.estimator}: {b.sentence}")],
        wrap(reading(found), WIDTH),
        _against_claim(found),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, indent="  ")


# ---------------------------------------------------------------- what was asked


def _asked(question: Question) -> list[str]:
    curve = question.curve or "not stated; Gaussian where one is assumed"
    at = f"delta {power(question.delta)}, {percent(question.confidence)} confidence each"
    return [
        *labelled("Given", [outcome_line(question)], WIDTH),
        *labelled("Asked", [at], WIDTH),
        *labelled("Curve", [curve], WIDTH),
    ]


def outcome_line(question: Question) -> str:
    """What the bounds are computed from."""
    o = question.outcome
    if isinstance(o, Counts):
        return f"{o.fp:,} of {o.out:,} out-trials called in, {o.fn:,} of {o.inn:,} in-trials out"
    if isinstance(o, Guesses):
        return f"{o.correct:,} right of {o.guesses:,} guesses on {o.canaries:,} canaries, one run"
    return f"scores of {len(o.out):,} out-trials and {len(o.inn):,} in-trials"


# ---------------------------------------------------------------- the table


def assumes(bound: Bound, question: Question) -> str:
    """What a bound stands on, in a few words."""
    curves = question.family
    if bound.assumption == "accountant" and isinstance(curves, DPSGD):
        return f"DP-SGD's curve: sample rate {curves.sample_rate:g}, {curves.rounds:,} steps"
    return {
        "none": "nothing",
        "gaussian": "a Gaussian trade-off curve",
        "accountant": "the accountant's curve",
        "prior": "a prior: credible, not certified",
    }[bound.assumption]


def _table(found: Estimates) -> list[str]:
    intervals = any(bound.interval for bound in found.bounds)
    titles = [title for title in TITLES if intervals or title is not INTERVAL]
    rows = [_cells(bound, found.question, intervals) for bound in found.bounds]
    widths = [max(map(len, (*top, *below))) for top, *below in zip(titles, *rows, strict=True)]
    room = WIDTH - 2 - sum(w + 2 for w in widths[:-1])
    widths[-1] = min(widths[-1], room)
    lines = [row([first for first, _ in titles], widths)]
    lines += [row([second for _, second in titles], widths)]
    lines.append("-" * (2 + sum(widths) + 2 * (len(widths) - 1)))
    for *numbers, words in rows:
        first, *more = textwrap.wrap(words, widths[-1])
        lines.append(row([*numbers, first], widths))
        lines += [row([""] * len(numbers) + [rest], widths) for rest in more]
    return lines


def _cells(bound: Bound, question: Question, intervals: bool) -> list[str]:
    ceiling = "no limit" if math.isinf(bound.ceiling) else nearest(bound.ceiling, DIGITS)
    return [
        printable(bound.estimator),
        at_least(bound.epsilon, DIGITS),
        *([_interval(bound.interval)] if intervals else []),
        ceiling,
        assumes(bound, question),
    ]


def _interval(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return NOTHING
    low, high = interval
    return f"{at_least(low, DIGITS)} … {at_most(high, DIGITS)}"


def _beside(found: Estimates) -> list[str]:
    lines = []
    o = found.question.outcome
    if found.point is not None and isinstance(o, Counts):
        skipped = " A direction without an error is skipped." if min(o.fp, o.fn) == 0 else ""
        lines += _indented(
            f"Point estimate {nearest(found.point, DIGITS)}: the formula on the observed rates "
            f"themselves. It describes them, and bounds nothing.{skipped}"
        )
    for left in found.left_out:
        named = left.estimator in left.reason.lower()
        lines += _indented(
            f"Left out: {left.reason if named else f'{left.estimator}: {left.reason}'}."
        )
    return lines


# ---------------------------------------------------------------- how to read it


def reading(found: Estimates) -> str:
    """Which bounds hold on what, and what would make them none."""
    question = found.question
    free = list(dict.fromkeys(b.estimator for b in found.bounds if b.assumption == "none"))
    curved = [b for b in found.bounds if b.assumption in ("gaussian", "accountant")]
    parts = [
        "How to read it. Each row says by itself that the leak is at least so large, with "
        f"{percent(question.confidence)} confidence."
    ]
    if free:
        parts.append(f"What assumes nothing holds for any mechanism ({_and(free)}).")
    if curved:
        parts.append(
            "A bound that assumes a curve is one only for a mechanism that has it; for another it "
            "may be far above the truth."
        )
    if any(b.assumption == "prior" for b in found.bounds):
        parts.append(
            "One that assumes a prior may exceed the truth more often than its percentage says."
        )
    parts.append(_fixed(question))
    if any(b.interval for b in found.bounds):
        parts.append(
            "An interval's upper end limits what this decision rule shows, not what the mechanism "
            "leaks."
        )
    parts.append(
        "The ceiling is the most that so many could show without any error; an epsilon of 0 "
        "means that nothing was shown, not that nothing leaks."
    )
    beside = [b.estimator for b in found.bounds if not found.named(b)]
    if beside:
        parts.append(f"{_and(beside)} was not asked for, and stands beside as it assumes nothing.")
    if len(found.bounds) - len(beside) > 1:
        parts.append(
            "To take the largest of these after seeing them is itself a selection, which no row "
            "allows for: name one beforehand (--estimator NAME)."
        )
    return " ".join(parts)


def _fixed(question: Question) -> str:
    if isinstance(question.outcome, Counts):
        return (
            "All of them need decisions by a rule that was fixed beforehand: a threshold chosen on "
            "these same trials would make every number here too large (then give the scores, "
            "--scores)."
        )
    if isinstance(question.outcome, Guesses):
        return (
            "They need canaries that were put in by independent fair coins, all of them counted, "
            "and a number of guesses that was fixed before their scores were seen."
        )
    return (
        "The score must have been fixed without these trials, larger meaning in. A threshold "
        "chosen on these same scores, and its errors counted, would be covered by no bound on "
        "counts; exact-scan looks at all thresholds and allows for the choice, rank-test and "
        "paired-auc have none to choose. paired-auc pairs trials by their order in the file."
    )


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# ---------------------------------------------------------------- the claim


def _against_claim(found: Estimates) -> list[str]:
    claim = found.question.claim
    if claim is None:
        return []
    shown = f"{claim:.12g}"
    lines = [f"Claim: epsilon {shown} at delta {power(found.question.delta)}"]
    for bound in found.bounds:
        lines += _indented(f"{bound.estimator}, assuming {_briefly(bound)}: {_said(found, bound)}")
    if found.deciding is None and any(found.may_refute(bound) for bound in found.bounds):
        lines += wrap(
            "Only one bound decides, that which was named before the outcome was seen: "
            "--estimator NAME.",
            WIDTH,
        )
    return lines


def _briefly(bound: Bound) -> str:
    return {
        "none": "nothing",
        "gaussian": "a Gaussian curve",
        "accountant": "DP-SGD's curve",
        "prior": "a prior",
    }[bound.assumption]


def _said(found: Estimates, bound: Bound) -> str:
    claim = found.question.claim or 0.0
    shown, value = f"{claim:.12g}", _beyond(bound.epsilon, claim)
    match found.standing(bound):
        case "above" if bound is found.deciding:
            return f"{value} is above {shown}, which refutes the claim."
        case "above" if found.may_refute(bound):
            return f"{value} is above {shown}, which would refute it, had it alone been named."
        case "above":
            return f"{value} is above {shown}, but {_powerless(bound)}."
        case "out_of_reach":
            most = nearest(bound.ceiling, DIGITS)
            return f"{value} is below {shown}; so many could show at most {most}: undecided."
        case "not_above":
            return f"{value} is not above {shown}, which does not refute the claim."


def _powerless(bound: Bound) -> str:
    if bound.assumption == "prior":
        return "a credible bound refutes nothing"
    return "the claim states no such curve (--curve), so it is not refuted"


def _beyond(epsilon: float, claim: float) -> str:
    """Rounded down, with as many digits as it takes to stay on its own side of the claim."""
    for digits in range(DIGITS, 13):
        shown = at_least(epsilon, digits)
        if (float(shown) > claim) == (epsilon > claim):
            return shown
    return repr(epsilon)
