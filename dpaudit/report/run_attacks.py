"""The attacks of a run: a table of their bounds and estimates, and what it says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dpaudit.report.document import SOFT_HYPHEN, Block, Column, Facts, Row, Table, Text
from dpaudit.report.formats import NOTHING, at_least, nearest, percent
from dpaudit.report.wording import SLOTS, assumes, claim_unit, right_guesses, unit, worlds
from dpaudit.results import Bound, Published, Report
from dpaudit.types import Claim

PUBLISHED = [Column("in-sample\nestimate"), Column("on shuffled\nlabels")]

STANDS_ON = {
    "by curve": "if the mechanism has the kind of trade-off curve that it claims",
    "no assumptions": "whatever the mechanism",
    "by prior": "under a prior: credible, not certified",
}
STEPS_STAND_ON = "if the sampling rate, the number of steps and their composition are as claimed"
STEPS_ALONE = (
    "There is no bound without assumptions: it would be about the leak of a single step, which "
    "says little about the leak of the training."
)
COUNTED = "errors of rules on several statistics are counted, without a curve"


@dataclass(frozen=True)
class AttackRow:
    """One attack with its bounds, by what they stand on, and its in-sample estimate."""

    attack: str
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    published: Published | None = None
    deciding: str = ""
    """The slot of the bound that decides, or was to decide, if it is here."""


def attacks(report: Report, digits: int) -> list[Block]:
    """Build the table, what decides, and how to read the columns."""
    columns = [Column("attack", words=True), *number_columns(report)]
    rows = [
        Row([row.attack, *cells(row, report, digits)], bool(row.deciding), bool(row.deciding))
        for row in attack_rows(report)
    ]
    outstanding = standing_out({p.attack: p for p in report.published})
    return [
        Table(columns, rows),
        Text(deciding_lines(report), mark=""),
        *([Text([outstanding])] if outstanding else []),
        Facts(legend(report)),
    ]


def attack_rows(report: Report) -> list[AttackRow]:
    """Return the attacks in the order of their bounds, then those with an estimate alone.

    Of several bounds that stand on the same an attack shows the first, unless another decides;
    `deciding_lines` tells the rest.
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
    """Return what the bounds of a table stand on, in the order of columns."""
    there = {SLOTS[bound.assumption] for bound in bounds}
    return [slot for slot in dict.fromkeys(SLOTS.values()) if slot in there]


def bound_columns(slots: Sequence[str]) -> list[Column]:
    """Return a column for the bounds and one for the ceilings of each slot."""
    titles = {
        "by curve": "certified\nby curve",
        "no assumptions": "certified, no\nassumptions",
        "by prior": "credible\nby prior",
    }
    return [
        column
        for slot in slots
        for column in (Column(titles[slot]), Column(f"ceil{SOFT_HYPHEN}\ning"))
    ]


def number_columns(report: Report) -> list[Column]:
    """Return the columns of numbers."""
    return [*(PUBLISHED if report.published else []), *bound_columns(slots(report.bounds))]


def cells(row: AttackRow, report: Report, digits: int) -> list[str]:
    """Return the numbers of a row, one for each column of numbers."""
    numbers = published_cells(row.published) if report.published else []
    for slot in slots(report.bounds):
        numbers += bound_cells(row.bounds.get(slot), digits)
    return numbers


def bound_cells(bound: Bound | None, digits: int = 2) -> list[str]:
    """Return a bound, rounded down, and its ceiling."""
    if bound is None:
        return [NOTHING, NOTHING]
    ceiling = "no limit" if math.isinf(bound.ceiling) else nearest(bound.ceiling, digits)
    return [at_least(bound.epsilon, digits), ceiling]


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
    return "inf" if math.isinf(x) else nearest(x)


def legend(report: Report) -> list[tuple[str, str]]:
    """Explain the columns."""
    units, guessed = unit(report), worlds(report.canary).guessed
    fixed = f"no rule was tuned on the {units} that judge it"
    if report.guesses is not None:
        fixed = "the score and the number of guesses were fixed before the training"
    elif report.models["choosing"]:
        shown = [bound for row in attack_rows(report) for bound in row.bounds.values()]
        fixed = f"rules and learned scores were fixed on other {units} than those that judge them"
        if all(judged_on_all(report, shown)):
            fixed = f"the score was fixed beforehand, so that all {units} judge it"
    entries = published_legend(report.published, units, guessed) if report.published else []
    entries += bound_legend(report.bounds, fixed, report.claim, units)
    if counted_alone(report.bounds):
        entries.append((NOTHING, f"{COUNTED}."))
    return entries


def published_legend(
    published: Iterable[Published], units: str, guessed: str
) -> list[tuple[str, str]]:
    """Explain the columns of in-sample estimates."""
    chunks = max(p.chunks for p in published)
    spread = (
        f" Mean ± spread over {chunks:,} groups of {units}, all with the same canary."
        if chunks > 1
        else ""
    )
    return [
        (
            "In-sample estimate",
            f"not a bound. The rule is tuned on the same {units} that it is scored on, so this "
            "is above 0 even without a leak. Compare it with the next column. A direction of the "
            f"formula in which no {units.removesuffix('s')} errs is skipped; without any error "
            f"the estimate is infinite.{spread}",
        ),
        (
            "On shuffled labels",
            f"the same estimate after shuffling which {units} {guessed}, so that there is no "
            "leak: its mean, and in brackets its 95 % quantile.",
        ),
    ]


def bound_legend(
    bounds: Sequence[Bound], fixed: str, claim: Claim, units: str | None = None
) -> list[tuple[str, str]]:
    """Explain the columns of bounds; `fixed` says how the rules that they judge were fixed."""
    columns: dict[str, list[Bound]] = {}
    for bound in bounds:
        columns.setdefault(SLOTS[bound.assumption], []).append(bound)
    entries = []
    for slot in (slot for slot in STANDS_ON if slot in columns):
        sure = " or, where it decides, ".join(
            map(percent, sorted({b.confidence for b in columns[slot]}))
        )
        name = {"by prior": "Credible by prior", "by curve": "Certified by curve"}.get(
            slot, "Certified, no assumptions"
        )
        standing = STEPS_STAND_ON if claim.by_step else STANDS_ON[slot]
        text = f"the leak is at least this large, with {sure} confidence, {standing}; "
        entries.append((name, f"{text}{_estimators(columns[slot])}."))
    name, text = entries.pop()
    text += f" {fixed[0].upper()}{fixed[1:]}. "
    entries.append((name, f"{text}0.00 means that nothing was found, not that nothing leaks."))
    most = f"the most that this number of {units or claim_unit(claim)} can certify"
    return [*entries, ("Ceiling", f"{most}, if the attack makes no error.")]


def _estimators(bounds: Sequence[Bound]) -> str:
    """Name the estimators of a column's bounds, and the attacks of each if there are several."""
    first: dict[str, str] = {}
    for bound in bounds:
        first.setdefault(bound.attack, bound.estimator)
    attacks: dict[str, list[str]] = {}
    for attack, estimator in first.items():
        attacks.setdefault(estimator, []).append(attack)
    if len(attacks) == 1:
        return f"by {bounds[0].estimator}"
    named = (f"{name} ({', '.join(of)})" for name, of in attacks.items())
    return f"by {' and '.join(named)}"


def counted_alone(bounds: Sequence[Bound]) -> bool:
    """Return whether some attacks lack a bound that others have."""
    attacks = {bound.attack for bound in bounds}
    return any(
        {b.attack for b in bounds if SLOTS[b.assumption] == slot} != attacks
        for slot in slots(bounds)
    )


def judged_on_all(report: Report, bounds: Sequence[Bound]) -> tuple[bool, bool]:
    """Return whether some of the bounds used all models, and whether all of them did."""
    total = report.models["in"] + report.models["out"]
    whole = [models_of(bound) == total for bound in bounds]
    return any(whole), all(whole)


def models_of(bound: Bound) -> int:
    """Return the number of models that a bound was computed on; 0 if it is not known."""
    if bound.counts is not None:
        return bound.counts.out + bound.counts.inn
    return sum(bound.trials or ())


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
    return [*lines, *_beside(report)]


def _beside(report: Report) -> Iterator[str]:
    """Tell the bounds that have no place in the table, as another stands on the same."""
    deciding = {report.primary, *report.deciders}
    shown = {(b.attack, b.assumption) for b in (report.bounds[i] for i in deciding)}
    for i, bound in enumerate(report.bounds):
        place = bound.attack, bound.assumption
        if i not in deciding and place in shown:
            yield (
                f"Beside it, {bound.attack} by {bound.estimator}: at least "
                f"{at_least(bound.epsilon)}, ceiling {nearest(bound.ceiling)}; "
                f"{decision(bound, report)}."
            )
        shown.add(place)


def decision(bound: Bound, report: Report) -> str:
    """Say how an attack decides, how often it erred, and why its bound may be believed."""
    parts = [f"rule {bound.rule}"] if bound.rule else []
    units, named = unit(report), worlds(report.canary)
    if report.guesses is not None:
        parts.append(right_guesses(report.guesses))
    elif bound.counts is not None:
        c = bound.counts
        parts.append(
            f"wrong on {c.fp:,} of {c.out:,} {units} {named.out} "
            f"and on {c.fn:,} of {c.inn:,} {named.then_inn}"
        )
    elif bound.trials == (0, 0):
        parts.append(f"no {units} have judged yet")
    elif bound.trials is not None:
        out, inn = bound.trials
        parts.append(f"the scores of {out:,} {units} {named.out} and of {inn:,} {named.then_inn}")
    if bound.interval is not None:
        low, high = bound.interval
        end = "no limit" if math.isinf(high) else nearest(high)
        parts.append(
            f"this rule alone shows from {at_least(low)} to {end} "
            f"({percent(bound.confidence)} two-sided)"
        )
    parts.append(f"selection: {bound.selection}")
    parts.append(f"{bound.estimator}, which {assumes(bound, report.claim)}")
    return "; ".join(parts)


def standing_out(estimates: Mapping[str, Published]) -> str:
    """Name the in-sample estimates above the 95 % quantile on shuffled labels."""
    comparable = {
        name: p
        for name, p in estimates.items()
        if p.permutations > 0 and not math.isnan(p.null_q95)
    }
    above = [name for name, p in comparable.items() if p.epsilon_in_sample > p.null_q95]
    if not comparable:
        return ""
    if not above:
        return "No in-sample estimate is above the 95 % quantile on shuffled labels."
    return (
        "In-sample estimates above the 95 % quantile on shuffled labels: "
        f"{', '.join(above)} ({len(above)} of {len(comparable)}; without a leak, chance does this "
        "to each in at most about 1 of 20 audits)."
    )
