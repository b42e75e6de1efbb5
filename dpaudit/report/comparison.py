"""A comparison of defences, as a document and as JSON: leak and utility side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dpaudit.judging.compare import Comparison, ComparisonRow
from dpaudit.judging.utility import Utility
from dpaudit.report import formats, machine
from dpaudit.report.document import Block, Column, Document, Facts, Row, Table, Text
from dpaudit.report.formats import NOTHING, at_least, shorten
from dpaudit.report.run_attacks import (
    COUNTED,
    PUBLISHED,
    bound_cells,
    bound_columns,
    bound_legend,
    counted_alone,
    published_cells,
    published_legend,
    slots,
    standing_out,
)
from dpaudit.report.run_setting import trial_lines
from dpaudit.report.run_verdict import SLOTS_SHOWN, bars
from dpaudit.report.wording import SLOTS, promise, worlds
from dpaudit.results import Bound

ABOUT = (
    "A defence changes what a model releases before anybody sees it. No model was trained for "
    "this: the released outputs of one run are seen through each defence, and every attack is "
    "fitted anew to what is left of them. Epsilon measures the leak: 0 is none, more is worse."
)
STANDING = (
    "This is a comparison. Each certified epsilon holds at its own confidence, none of them "
    "decides about the claim, and no further look at the models is counted. A defence only changes "
    "outputs, so it cannot add to the leak: a larger number behind it is due to chance, or to a "
    "rule that happened to be chosen better."
)
NEXT = "A comparison decides nothing about the claim. --verbose shows every attack."
FIXED = (
    "they are those of the attack marked > below; attack and rule were chosen on other models "
    "than those that judge them"
)
UTILITY = [Column("accuracy"), Column("without\na label")]
OUTPUTS = [
    Column("calibration\nerror"),
    Column("negative log-\nlikelihood"),
    Column("correlation\nof the std"),
    Column("mean change\nof the std"),
]
OUTPUTS_LEGEND = [
    (
        "Calibration error",
        "how far confidence is from accuracy (expected calibration error, 15 bins); 0 is best.",
    ),
    (
        "Negative log-likelihood",
        "of the right labels, in nats, each at least a millionth; outputs that do not add up to 1 "
        "are scaled, and empty outputs count as uniform. Less is better.",
    ),
    (
        "Std",
        "the MC-dropout uncertainty behind the defence against that without it, over records and "
        "classes: a correlation of 1 and no change are best.",
    ),
]
UNDEFINED = (
    NOTHING,
    "not released, or not defined: labels alone have no confidence, and a std that is the same "
    "everywhere has no correlation.",
)


def document(comparison: Comparison, where: str = "") -> Document:
    """Build the document: what each defence stops and costs, then each attack against it."""
    check(comparison)
    claim, certified = comparison.claim, bound_columns(_slots(comparison))
    setting = [
        ("Claim", [f"{promise(claim)}, for: {claim.unit}"]),
        ("Data", [formats.value(comparison.data.get("name", ""))]),
        ("Canary", [formats.value(comparison.canary.get("name", ""))]),
        ("Models", trial_lines(comparison.models, comparison.canary)),
    ]
    strongest = [
        Row([d.defence, *_bound_cells(comparison, d, d.strongest), *_utility_cells(d.utility)])
        for d in comparison.rows
    ]
    estimates = {f"{p.attack} behind {d.defence}": p for d in comparison.rows for p in d.published}
    measured = [d.utility for d in comparison.rows if d.utility]
    details: list[Block] = [
        Text([ABOUT]),
        Facts(setting),
        Table([Column("defence", words=True), *certified, *UTILITY], strongest),
        Facts([*bound_legend(_bounds(comparison), FIXED, claim), *_utility_legend(measured)]),
        *_outputs(comparison),
        Table([Column("attack", words=True), *PUBLISHED, *certified], _attacks(comparison)),
        Facts(_attacks_legend(comparison)),
        Text([standing_out(estimates), STANDING]),
    ]
    first = sentence(comparison)
    return Document(
        _summary(comparison, first, where),
        details,
        first,
        "what does each defence stop, and what does it cost?",
    )


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
    bounds = (b.epsilon for b in row.bounds if b.attack == row.strongest)
    return max((b for b in bounds), default=0.0)


def _summary(comparison: Comparison, first: str, where: str) -> list[Block]:
    claim, slots_there = comparison.claim, _slots(comparison)
    shown = [slot for slot in SLOTS_SHOWN if slot in slots_there][:2]
    columns = [
        *(Column(name, words=True) for name in ("defence", "strongest attack")),
        *(Column(SLOTS_SHOWN[slot]) for slot in shown),
        Column("accuracy"),
    ]
    rows = []
    for row in comparison.rows:
        bounds = {SLOTS[b.assumption]: b for b in row.bounds if b.attack == row.strongest}
        accuracy, _ = _utility_cells(row.utility)
        certified = (bound_cells(bounds.get(slot))[0] for slot in shown)
        attack = shorten(row.strongest or NOTHING, 20)
        rows.append(Row([shorten(row.defence, 28), attack, *certified, accuracy]))
    scale = bars(claim, certified_behind(comparison.rows[0]))
    noted = [("Next", NEXT), ("Report", [where] if where else [])]
    return [Text([first], strong=True), scale, Table(columns, rows), Facts(noted)]


def _bounds(comparison: Comparison) -> list[Bound]:
    return [bound for d in comparison.rows for bound in d.bounds]


def _slots(comparison: Comparison) -> list[str]:
    return slots(_bounds(comparison))


def _bound_cells(comparison: Comparison, defended: ComparisonRow, attack: str | None) -> list[str]:
    bounds = {SLOTS[b.assumption]: b for b in defended.bounds if b.attack == attack}
    return [cell for slot in _slots(comparison) for cell in bound_cells(bounds.get(slot))]


def _utility_cells(utility: Utility | None) -> list[str]:
    if utility is None:
        return [NOTHING, NOTHING]
    return [f"{100 * share:.1f} %" for share in (utility.accuracy, utility.undecidable)]


def _utility_legend(measured: Sequence[Utility]) -> list[tuple[str, str]]:
    if not measured:
        return [("Accuracy", "not measured: the run kept no outputs on test records.")]
    most = max(measured, key=lambda utility: utility.models * utility.records)
    return [
        (
            "Accuracy",
            f"of what is released behind the defence, on {most.records:,} test records, the mean "
            f"over {most.models:,} models; a Bayesian network is asked about each as often as "
            "about the canary, and 32 times at most.",
        ),
        (
            "Without a label",
            "records for which no single class is the largest, so that no label can be given. "
            "They count as errors in the accuracy.",
        ),
    ]


def _outputs(comparison: Comparison) -> list[Block]:
    """Build the table of what outputs are good for beyond a label, if that was measured."""
    rows = [Row([d.defence, *_output_cells(d.utility)]) for d in comparison.rows]
    shown = {cell for row in rows for cell in row.cells[1:]}
    if shown == {NOTHING}:
        return []
    entries = [*OUTPUTS_LEGEND, *([UNDEFINED] if NOTHING in shown else [])]
    return [Table([Column("defence", words=True), *OUTPUTS], rows), Facts(entries)]


def _output_cells(utility: Utility | None) -> list[str]:
    if utility is None:
        return [NOTHING] * len(OUTPUTS)
    error = utility.calibration_error
    numbers = (
        (utility.negative_log_likelihood, 3),
        (utility.std_correlation, 3),
        (utility.std_change, 4),
    )
    return [
        NOTHING if error is None else f"{100 * error:.1f} %",
        *(NOTHING if x is None else formats.nearest(x, digits) for x, digits in numbers),
    ]


def _attacks(comparison: Comparison) -> list[Row]:
    """Return each attack as a heading, and below it a row for every defence."""
    rows = []
    for attack in comparison.attacks:
        rows.append(Row([f"  {attack}"]))
        for d in comparison.rows:
            estimate = next((p for p in d.published if p.attack == attack), None)
            numbers = [*published_cells(estimate), *_bound_cells(comparison, d, attack)]
            rows.append(Row([f" {d.defence}", *numbers], marked=attack == d.strongest))
    return rows


def _attacks_legend(comparison: Comparison) -> list[tuple[str, str]]:
    estimates = [p for d in comparison.rows for p in d.published]
    entries = [
        *published_legend(estimates, "models", worlds(comparison.canary).guessed),
        (">", "the attack that does best against this defence on the models that choose rules."),
    ]
    reasons = []
    if any({b.attack for b in d.bounds} != set(comparison.attacks) for d in comparison.rows):
        reasons.append("the attack needs what is not released there")
    if any(counted_alone(d.bounds) for d in comparison.rows):
        reasons.append(COUNTED)
    return [*entries, *([(NOTHING, f"{'; or '.join(reasons)}.")] if reasons else [])]


def check(comparison: Comparison) -> None:
    """Refuse numbers that may not be printed."""
    for defended in comparison.rows:
        machine.check_numbers(defended.bounds, defended.published)


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain values; infinite or missing values are None."""
    check(comparison)
    return machine.contract(
        "comparison",
        {
            "claim": comparison.claim.to_dict(),
            "attacks": comparison.attacks,
            "defences": [
                {
                    "defence": d.defence,
                    "utility": d.utility and asdict(d.utility),
                    "strongest": d.strongest,
                    "bounds": [machine.bound_values(bound) for bound in d.bounds],
                    "published": [machine.published_values(published) for published in d.published],
                }
                for d in comparison.rows
            ],
            "models": comparison.models,
            "data": comparison.data,
            "canary": comparison.canary,
            "versions": comparison.versions,
            "seed": comparison.seed,
        },
    )
