"""The columns of a table in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from dpaudit.report import by_step
from dpaudit.report.by_step import STANDS_ON as COMPOSED
from dpaudit.report.formats import percent
from dpaudit.report.one_run import FIXED, unit
from dpaudit.report.table import rows
from dpaudit.report.words import NOTHING, SLOTS, judged_on_all
from dpaudit.report.worlds import worlds
from dpaudit.results import Bound, Report
from dpaudit.types import Claim


def legend(report: Report) -> list[tuple[str, str]]:
    """The table's columns in plain words."""
    lines, units, guessed = [], unit(report), worlds(report.canary).guessed
    if report.published:
        chunks = max(p.chunks for p in report.published)
        spread = (
            f" Mean ± spread over {chunks:,} groups of {units}, all with the same canary."
            if chunks > 1
            else ""
        )
        lines += [
            (
                "Published estimate",
                f"the rule is tuned on the very {units} it is scored on, so this tends to be above "
                "0 even with no leak. Compare it with the next column; alone it proves nothing. "
                f"A direction of the formula in which no {units.removesuffix('s')} errs is "
                f"skipped; without any error it is infinite.{spread}",
            ),
            (
                "Same search, no leak",
                f"the same tuning after shuffling which {units} {guessed}, so that there is "
                "nothing to find: its mean, and in brackets what 95 % of shuffles stay below.",
            ),
        ]
    fixed = f"no rule was tuned on the {units} that judge it"
    if report.guesses is not None:
        fixed = FIXED
    elif report.models["choosing"]:
        shown = [bound for row in rows(report) for bound in row.bounds.values()]
        fixed = f"rules and learned scores were fixed on other {units} than those that judge them"
        if all(judged_on_all(report, shown)):
            fixed = f"the score was fixed beforehand, so that all {units} judge it"
    lines += certified_legend(report.bounds, fixed, report.claim, units)
    if counted_alone(report.bounds):
        lines.append((NOTHING, f"{COUNTED}."))
    return lines


COUNTED = "rules on several statistics are counted, which uses no curve"


def counted_alone(bounds: Sequence[Bound]) -> bool:
    """Whether some attacks lack a bound that others have."""
    slots = {SLOTS[bound.assumption] for bound in bounds}
    attacks = {bound.attack for bound in bounds}
    return any(
        {b.attack for b in bounds if SLOTS[b.assumption] == slot} != attacks for slot in slots
    )


STANDS_ON = {
    "by curve": "if the mechanism has the kind of trade-off curve that it claims",
    "outright": "whatever the mechanism",
    "by prior": "under a prior: credible, not certified",
}


def certified_legend(
    bounds: Sequence[Bound], fixed: str, claim: Claim, units: str | None = None
) -> list[tuple[str, str]]:
    """The columns of bounds in plain words; `fixed` says how what they judge was fixed."""
    columns: dict[str, list[Bound]] = {}
    for bound in bounds:
        columns.setdefault(SLOTS[bound.assumption], []).append(bound)
    lines = []
    for slot in (slot for slot in STANDS_ON if slot in columns):
        sure = " or, where it decides, ".join(
            map(percent, sorted({b.confidence for b in columns[slot]}))
        )
        if list(columns) == ["outright"]:
            name = "Certified epsilon"
        else:
            name = f"{'Credible' if slot == 'by prior' else 'Certified'} {slot}"
        lines.append(
            (
                name,
                f"a leak of at least this much is shown with {sure} confidence, "
                f"{COMPOSED if claim.by_step else STANDS_ON[slot]}; {_by(columns[slot])}.",
            )
        )
    lines[-1] = (
        lines[-1][0],
        f"{lines[-1][1]} {fixed[0].upper()}{fixed[1:]}. "
        "0.00 means that nothing could be shown, not that nothing leaks.",
    )
    units = units or by_step.unit(claim)
    ceiling = f"the most that so many {units} could certify if the attack never erred."
    lines.append(("Ceiling", ceiling))
    return lines


def _by(bounds: Sequence[Bound]) -> str:
    """Which estimators a column's bounds are by, and of which attacks where they differ in that."""
    first: dict[str, str] = {}
    for bound in bounds:
        first.setdefault(bound.attack, bound.estimator)
    attacks: dict[str, list[str]] = {}
    for attack, estimator in first.items():
        attacks.setdefault(estimator, []).append(attack)
    if len(attacks) == 1:
        return f"by {bounds[0].estimator}"
    named = (f"{name} ({', '.join(dict.fromkeys(of))})" for name, of in attacks.items())
    return f"by {' and '.join(named)}"
