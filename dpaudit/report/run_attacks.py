"""The attacks of a run in detail: all bounds, the in-sample estimates, and what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dpaudit.report.document import Block, Column, Facts, Row, Table, Text, words
from dpaudit.report.formats import NOTHING, at_least, nearest, percent
from dpaudit.report.wording import SLOTS, assumes, right_guesses, stands_on, unit, worlds
from dpaudit.results import Bound, Published, Report

STEPS_ALONE = (
    "There is no bound without assumptions: it would be about the leak of a single step, which "
    "says little about the leak of the training."
)
BOUNDS = [*words("attack", "estimator", "assumes"), Column("certified"), Column("ceiling")]
ESTIMATES = [
    *words("attack"),
    *map(Column, ("in-sample estimate (not a bound)", "on shuffled labels (95 %)")),
]


@dataclass(frozen=True)
class AttackRow:
    """One attack with its bounds, by what they assume, and its in-sample estimate."""

    attack: str
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    published: Published | None = None
    deciding: str = ""
    """The slot of the bound that decides, or was to decide, if it is here."""


def attacks(report: Report, digits: int) -> list[Block]:
    """Build the table of all bounds, what decides, and the in-sample estimates."""
    deciding = {report.primary, *report.deciders}
    rows = [
        Row([bound.attack, *bound_cells(bound, digits)], marked=i in deciding)
        for i, bound in enumerate(report.bounds)
    ]
    blocks: list[Block] = [
        Table(BOUNDS, rows),
        Text(deciding_lines(report), mark="-"),
        Facts(bound_legend(unit(report), _fixed(report))),
    ]
    if report.published:
        estimates = [Row([p.attack, *published_cells(p)]) for p in report.published]
        standing = standing_out({p.attack: p for p in report.published})
        blocks += [
            Table(ESTIMATES, estimates),
            Text([standing] if standing else []),
            Facts(published_legend(report.published, unit(report))),
        ]
    return blocks


def attack_rows(report: Report) -> list[AttackRow]:
    """Return the attacks in the order of their bounds, then those with an estimate alone.

    Of several bounds with one assumption an attack has the first, unless another decides.
    """
    published = {p.attack: p for p in report.published}
    filled: dict[str, dict[str, Bound]] = {}
    for bound in report.bounds:
        filled.setdefault(bound.attack, {}).setdefault(SLOTS[bound.assumption], bound)
    decided: dict[str, str] = {}
    for bound in (report.bounds[i] for i in (report.primary, *report.deciders)):
        filled[bound.attack][SLOTS[bound.assumption]] = bound
        decided.setdefault(bound.attack, SLOTS[bound.assumption])
    rows = [
        AttackRow(attack, bounds, published.pop(attack, None), decided.get(attack, ""))
        for attack, bounds in filled.items()
    ]
    return rows + [AttackRow(name, published=p) for name, p in published.items()]


def slots(bounds: Iterable[Bound]) -> list[str]:
    """Return what the bounds assume, in the order of columns."""
    there = {SLOTS[bound.assumption] for bound in bounds}
    return [slot for slot in dict.fromkeys(SLOTS.values()) if slot in there]


def bound_cells(bound: Bound, digits: int = 2) -> list[str]:
    """Return estimator and assumption of a bound, the bound, rounded down, and its ceiling."""
    ceiling = "no limit" if math.isinf(bound.ceiling) else nearest(bound.ceiling, digits)
    return [bound.estimator, stands_on(bound), at_least(bound.epsilon, digits), ceiling]


def published_cells(published: Published | None) -> list[str]:
    """Return an in-sample estimate with its spread, and the same on shuffled labels."""
    if published is None:
        return [NOTHING, NOTHING]
    estimate = _short(published.epsilon_in_sample)
    if published.chunks > 1:
        # One chunk has no spread; a 0.00 would pretend that it was measured.
        estimate += f" ± {_short(published.epsilon_in_sample_std)}"
    if published.permutations == 0:
        return [estimate, NOTHING]
    return [estimate, f"{_short(published.null_mean)} (< {_short(published.null_q95)})"]


def _short(x: float) -> str:
    return "infinite" if math.isinf(x) else nearest(x)


def _fixed(report: Report) -> str:
    """Say how the rules that the bounds judge were fixed."""
    units = unit(report)
    if report.guesses is not None:
        return "The score and the number of guesses were fixed before the training."
    if report.models["choosing"]:
        if judged_on_all(report)[1]:
            return f"The score was fixed beforehand, so that all {units} judge it."
        return f"Rules and learned scores were fixed on other {units} than those that judge them."
    return f"No rule was tuned on the {units} that judge it."


def bound_legend(units: str, fixed: str) -> list[tuple[str, str]]:
    """Explain the columns of bounds; `fixed` says how the rules that they judge were fixed."""
    zero = "0.00 means that nothing was found, not that nothing leaks."
    most = f"the largest bound that this number of {units} can give, if the attack makes no error."
    certified = f"a lower bound on epsilon, if what it assumes is true. {fixed} {zero}"
    return [("Certified", certified), ("Ceiling", most)]


def published_legend(published: Iterable[Published], units: str) -> list[tuple[str, str]]:
    """Explain the columns of in-sample estimates."""
    chunks = max(p.chunks for p in published)
    spread = f" Mean ± spread over {chunks:,} groups of {units}." if chunks > 1 else ""
    estimate = (
        f"not a bound: the rule is tuned on the {units} that it is scored on, so this is above 0 "
        f"even without a leak. Without any error it is infinite.{spread}"
    )
    null = "the same estimate where there is no leak: its mean, and its 95 % quantile."
    return [("In-sample estimate", estimate), ("On shuffled labels", null)]


def judged_on_all(report: Report) -> tuple[bool, bool]:
    """Return whether some of the bounds used all models, and whether all of them did."""
    total = report.models["in"] + report.models["out"]
    judging = ((b.counts.out, b.counts.inn) if b.counts else b.trials for b in report.bounds)
    whole = [sum(trials or ()) == total for trials in judging]
    return any(whole), all(whole)


def deciding_lines(report: Report) -> list[str]:
    """Say which row decides, why it may, and what the others are for."""
    bound = report.bounds[report.primary]
    lines = [f"The bound that decides (>): {bound.attack}, {decision(bound, report)}."]
    lines += [sentence for sentence in (bound.sentence, report.why) if sentence]
    if report.deciders:
        each = percent(bound.confidence)
        lines.append(
            f"All {len(report.deciders)} attacks decide, each at {each} confidence; this one "
            "certifies most. The other bounds never decide."
        )
    elif len(report.bounds) > 1:
        lines.append("The other bounds never decide; they are for comparison.")
    if report.claim.by_step:
        lines.append(STEPS_ALONE)
    return lines


def decision(bound: Bound, report: Report) -> str:
    """Say how an attack decides, how often it erred, and why its bound may be believed."""
    parts = [f"rule {bound.rule}"] if bound.rule else []
    units, named = unit(report), worlds(report.canary)
    if report.guesses is not None:
        parts.append(right_guesses(report.guesses))
    elif bound.counts is not None:
        c = bound.counts
        wrong = f"wrong on {c.fp:,} of {c.out:,} {units} {named.out}"
        parts.append(f"{wrong} and on {c.fn:,} of {c.inn:,} {named.then_inn}")
    elif bound.trials == (0, 0):
        parts.append(f"no {units} have judged yet")
    elif bound.trials is not None:
        out, inn = bound.trials
        parts.append(f"the scores of {out:,} {units} {named.out} and of {inn:,} {named.then_inn}")
    if bound.interval is not None:
        low, high = bound.interval
        end = "no limit" if math.isinf(high) else nearest(high)
        sure = f"({percent(bound.confidence)} two-sided)"
        parts.append(f"this rule alone shows from {at_least(low)} to {end} {sure}")
    parts.append(f"selection: {bound.selection}")
    parts.append(f"{bound.estimator}, which {assumes(bound, report.claim)}")
    return "; ".join(parts)


def standing_out(estimates: Mapping[str, Published]) -> str:
    """Name the in-sample estimates above the 95 % quantile on shuffled labels."""
    known = {k: p for k, p in estimates.items() if p.permutations and not math.isnan(p.null_q95)}
    above = [name for name, p in known.items() if p.epsilon_in_sample > p.null_q95]
    if not known:
        return ""
    if not above:
        return "No in-sample estimate is above the 95 % quantile on shuffled labels."
    return (
        "In-sample estimates above the 95 % quantile on shuffled labels: "
        f"{', '.join(above)} ({len(above)} of {len(known)}; without a leak, chance does this to "
        "each in at most about 1 of 20 audits)."
    )
