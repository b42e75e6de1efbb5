"""A comparison of defences, as a document and as JSON: leak and utility side by side."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dpaudit.judging import outcome
from dpaudit.judging.compare import Comparison, ComparisonRow
from dpaudit.judging.utility import Utility
from dpaudit.report import formats, machine
from dpaudit.report.document import Block, Column, Document, Facts, Row, Table, Text, words
from dpaudit.report.formats import NOTHING, at_least, shorten
from dpaudit.report.run_attacks import (
    BOUNDS,
    ESTIMATES,
    bound_cells,
    bound_legend,
    published_cells,
    published_legend,
    slots,
    standing_out,
)
from dpaudit.report.run_setting import trial_lines
from dpaudit.report.run_verdict import SLOTS_SHOWN, bars, ending
from dpaudit.report.wording import SLOTS, promise

ABOUT = (
    "A defence changes what a model releases. No model was trained for this comparison: each "
    "defence is applied to the outputs of one run, and every attack is fitted anew to what is "
    "left. Epsilon measures the leak: 0 is none, more is worse."
)
STANDING = (
    "Each certified epsilon holds at its own confidence. None decides about the claim, and no "
    "look at the models is counted. A defence cannot add to the leak: a larger number behind it "
    "is due to chance or to a better choice of rule."
)
NEXT = "A comparison decides nothing about the claim. --verbose shows every attack."
FIXED = "Attacks (the strongest has >) and rules were chosen on other models than those that judge."
OUTPUTS = (
    *("without\na label", "calibration\nerror", "negative log-\nlikelihood"),
    *("correlation\nof the std", "mean change\nof the std"),
)
CALIBRATION = "how far confidence is from accuracy, in 15 bins; 0 is best."
LIKELIHOOD = (
    "of the right labels, in nats, each at least a millionth. Outputs that do not add up to 1 are "
    "scaled, and empty ones count as uniform. Less is better."
)
STD = "the uncertainty behind the defence against that without it; 1 and no change are best."
UNDEFINED = "not released, or not defined, as the correlation of a std that is the same everywhere."


def document(comparison: Comparison, where: str = "") -> Document:
    """Build the document: what each defence stops and costs, then each attack against it."""
    check(comparison)
    claim = comparison.claim
    setting = [
        ("Claim", f"{promise(claim)}, for: {claim.unit}"),
        ("Data", formats.value(comparison.data.get("name", ""))),
        ("Canary", formats.value(comparison.canary.get("name", ""))),
        ("Models", trial_lines(comparison.models, comparison.canary)),
    ]
    estimates = {f"{p.attack} behind {d.defence}": p for d in comparison.rows for p in d.published}
    details: list[Block] = [
        Text([ABOUT, STANDING]),
        Facts(setting),
        *_outputs(comparison),
        Facts(_utility_legend(comparison)),
        *_attacks(comparison),
        Text([standing_out(estimates)]),
        Facts(bound_legend("models", FIXED)),
        Facts(published_legend(estimates.values(), "models")),
    ]
    title = "what does each defence stop, and what does it cost?"
    return Document(_summary(comparison, where), details, title)


def sentence(comparison: Comparison) -> str:
    """Say how much is certified without a defence, and behind the one that leaves least."""
    without, *defended = comparison.rows
    best = min(defended, key=certified_behind)
    return (
        f"Without a defence, the strongest attack certifies {at_least(certified_behind(without))}. "
        f"Behind {shorten(best.defence, 40)} it certifies {at_least(certified_behind(best))}."
    )


def certified_behind(row: ComparisonRow) -> float:
    """Return the largest certified epsilon of the attack that is strongest behind a defence."""
    return max((b.epsilon for b in row.bounds if b.attack == row.strongest), default=0.0)


def _summary(comparison: Comparison, where: str) -> list[Block]:
    there = slots(b for d in comparison.rows for b in d.bounds)
    shown = [slot for slot in SLOTS_SHOWN if slot in there][:2]
    numbers = map(Column, [*(SLOTS_SHOWN[slot] for slot in shown), "accuracy"])
    rows = []
    for row in comparison.rows:
        bounds = {SLOTS[b.assumption]: b for b in row.bounds if b.attack == row.strongest}
        accuracy = _share(row.utility.accuracy if row.utility else None)
        certified = (at_least(b.epsilon) if (b := bounds.get(s)) else NOTHING for s in shown)
        attack = shorten(row.strongest or NOTHING, 20)
        rows.append(Row([shorten(row.defence, 28), attack, *certified, accuracy]))
    return [
        Text([sentence(comparison)], strong=True),
        bars(comparison.claim, certified_behind(comparison.rows[0])),
        Table([*words("defence", "strongest attack"), *numbers], rows),
        ending([NEXT], where),
    ]


def _share(x: float | None) -> str:
    return NOTHING if x is None else f"{100 * x:.1f} %"


def _utility_legend(comparison: Comparison) -> list[tuple[str, str]]:
    measured = [d.utility for d in comparison.rows if d.utility]
    if not measured:
        return [("Accuracy", "not measured: the run kept no outputs on test records.")]
    most = max(measured, key=lambda utility: utility.models * utility.records)
    accuracy = (
        f"of what is released behind the defence, on {most.records:,} test records, the mean over "
        f"{most.models:,} models; with dropout, of 32 passes at most."
    )
    tied = "records with no single largest class. They count as errors in the accuracy."
    return [("Accuracy", accuracy), ("Without a label", tied)]


def _outputs(comparison: Comparison) -> list[Block]:
    """Build the table of what outputs are good for beyond a label, if that was measured."""
    rows = [Row([d.defence, *_output_cells(d.utility)]) for d in comparison.rows]
    shown = {cell for row in rows for cell in row.cells[1:]}
    if shown == {NOTHING}:
        return []
    entries = [
        *(("Calibration error", CALIBRATION), ("Negative log-likelihood", LIKELIHOOD)),
        *(("Std", STD), (NOTHING, UNDEFINED if NOTHING in shown else "")),
    ]
    return [Table([*words("defence"), *map(Column, OUTPUTS)], rows), Facts(entries)]


def _output_cells(utility: Utility | None) -> list[str]:
    if utility is None:
        return [NOTHING] * len(OUTPUTS)
    numbers = [(utility.negative_log_likelihood, 3), (utility.std_correlation, 3)]
    numbers.append((utility.std_change, 4))
    return [
        _share(utility.undecidable),
        _share(utility.calibration_error),
        *(NOTHING if x is None else formats.nearest(x, digits) for x, digits in numbers),
    ]


def _attacks(comparison: Comparison) -> list[Block]:
    """Build the bounds and the in-sample estimates of each attack behind each defence."""
    bounds, estimates = list[Row](), list[Row]()
    for d in comparison.rows:
        heading = Row([f"{d.defence}:"])
        marked = [(b, b.attack == d.strongest) for b in d.bounds]
        bounds += [heading, *(Row([b.attack, *bound_cells(b)], marked=m) for b, m in marked)]
        estimates += [heading, *(Row([p.attack, *published_cells(p)]) for p in d.published)]
    return [Table(BOUNDS, bounds), Table(ESTIMATES, estimates)]


def check(comparison: Comparison) -> None:
    """Refuse numbers that may not be printed."""
    for defended in comparison.rows:
        outcome.check_numbers(defended.bounds, defended.published)


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain values; infinite or missing values are None."""
    check(comparison)
    rows = [
        {
            **vars(d),
            "utility": d.utility and asdict(d.utility),
            "bounds": [machine.bound_values(bound) for bound in d.bounds],
            "published": [machine.published_values(published) for published in d.published],
        }
        for d in comparison.rows
    ]
    values = {**vars(comparison), "claim": comparison.claim.to_dict(), "defences": rows}
    del values["rows"]
    return machine.contract("comparison", values)
