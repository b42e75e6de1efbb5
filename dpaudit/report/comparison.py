"""A comparison of defences for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from dpaudit.judging.compare import Comparison, Defended
from dpaudit.judging.utility import Utility
from dpaudit.report import comparison_outputs as outputs
from dpaudit.report import formats, promises, table, words
from dpaudit.report.comparison_json import check
from dpaudit.report.legend import COUNTED, certified_legend, counted_alone
from dpaudit.report.worlds import worlds
from dpaudit.report.wrapping import NARROWEST, WIDEST, labelled, wrap
from dpaudit.results import Bound

ABOUT = (
    "A defence changes what a model releases before anybody sees it. No model was trained for "
    "this: the released outputs of one run are seen through each defence, and every attack is "
    "fitted anew to what is left of them. Epsilon measures the leak: 0 is none, more is worse."
)
STANDING = (
    "This is a comparison. Each certified epsilon holds at its own confidence, none of them "
    "decides about the claim, and no further look at the models is counted. A defence only changes "
    "outputs, so it cannot add to the leak: where a number is larger behind it, that is chance, or "
    "a rule that happened to be chosen better."
)
UTILITY = [("", "accuracy"), ("without", "a label")]


@dataclass(frozen=True)
class Row:
    """A label and its numbers; a heading has none."""

    label: str
    cells: Sequence[str] = ()
    mark: str = "  "


def render(comparison: Comparison, width: int = 80) -> str:
    """Leak and utility side by side, then every attack, in lines of at most `width` columns."""
    check(comparison)
    width = min(max(width, NARROWEST), WIDEST)
    certified = table.titles(_slots(comparison))
    title = "dpaudit: what does each defence stop, and what does it cost?"
    blocks = [
        [title, "=" * len(title), *wrap(ABOUT, width)],
        _setting(comparison, width),
        _table("defence", [*certified, *UTILITY], _summary(comparison), width),
        _legend(_summary_legend(comparison), width),
        *_outputs(comparison, width),
        _table("attack", [*table.PUBLISHED, *certified], _attacks(comparison), width),
        _legend(_attacks_legend(comparison), width),
        wrap(_standing_out(comparison), width),
        wrap(STANDING, width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _setting(comparison: Comparison, width: int) -> list[str]:
    claim = comparison.claim
    return [
        *labelled("Claim", [f"{promises.promise(claim)}, for: {claim.unit}"], width),
        *labelled("Data", [formats.value(comparison.data.get("name", ""))], width),
        *labelled("Canary", [formats.value(comparison.canary.get("name", ""))], width),
        *labelled("Models", words.models_lines(comparison.models, comparison.canary), width),
    ]


def _summary(comparison: Comparison) -> list[Row]:
    """One row a defence: what is certified of the strongest attack on it, and what it costs."""
    return [
        Row(
            d.defence,
            [*_certified(comparison, d, d.strongest), *_useful(d.utility)],
        )
        for d in comparison.defended
    ]


def _slots(comparison: Comparison) -> list[str]:
    return table.slots(_bounds(comparison))


def _bounds(comparison: Comparison) -> list[Bound]:
    return [bound for d in comparison.defended for bound in d.bounds]


def _certified(comparison: Comparison, defended: Defended, attack: str | None) -> list[str]:
    """The bounds of an attack, one for each kind that the comparison has."""
    found = {words.SLOTS[b.assumption]: b for b in defended.bounds if b.attack == attack}
    return [cell for slot in _slots(comparison) for cell in table.certified_cells(found.get(slot))]


def _useful(utility: Utility | None) -> list[str]:
    if utility is None:
        return [words.NOTHING, words.NOTHING]
    return [f"{100 * share:.1f} %" for share in (utility.accuracy, utility.undecidable)]


def _outputs(comparison: Comparison, width: int) -> list[list[str]]:
    """What the outputs are still good for beyond a label; nothing where that was not measured."""
    rows = [Row(d.defence, outputs.cells(d.utility)) for d in comparison.defended]
    shown = {cell for row in rows for cell in row.cells}
    if shown == {words.NOTHING}:
        return []
    entries = [*outputs.LEGEND, *([outputs.UNDEFINED] if words.NOTHING in shown else [])]
    return [_table("defence", outputs.TITLES, rows, width), _legend(entries, width)]


def _attacks(comparison: Comparison) -> list[Row]:
    """Each attack as a heading, and below it a row for every defence that it was led against."""
    rows = []
    for attack in comparison.attacks:
        rows.append(Row(attack))
        for d in comparison.defended:
            estimate = next((p for p in d.published if p.attack == attack), None)
            cells = [
                *table.published_cells(estimate),
                *_certified(comparison, d, attack),
            ]
            mark = "> " if attack == d.strongest else "  "
            rows.append(Row(f" {d.defence}", cells, mark))
    return rows


def _table(
    name: str, titles: Sequence[tuple[str, str]], rows: Sequence[Row], width: int
) -> list[str]:
    """A line for each row, more where a label has to be broken."""
    numbers = [row.cells for row in rows if row.cells]
    columns = zip(titles, *numbers, strict=True)
    widths = [max(map(len, (*top, *below))) for top, *below in columns]
    longest = max(len(text) for text in (name, *(row.label for row in rows)))
    label = min(longest, width - 2 - sum(2 + w for w in widths))

    def line(mark: str, text: str, cells: Sequence[str]) -> str:
        # A heading has no cells.
        padded = (cell.rjust(w) for cell, w in zip(cells, widths, strict=False))
        return (mark + "  ".join([text.ljust(label), *padded])).rstrip()

    lines = [
        line("  ", "", [first for first, _ in titles]),
        line("  ", name, [second for _, second in titles]),
        "-" * (2 + label + sum(2 + w for w in widths)),
    ]
    for row in rows:
        text = formats.printable(row.label)
        indent = " " * (len(text) - len(text.lstrip()))
        wrapped = textwrap.wrap(
            text.strip(), label, initial_indent=indent, subsequent_indent=indent
        )
        first, *more = wrapped or [words.NOTHING]
        lines.append(line(row.mark, first, row.cells))
        lines += [line("  ", rest, ()) for rest in more]
    return lines


# ---------------------------------------------------------------- in words


def _legend(entries: Sequence[tuple[str, str]], width: int) -> list[str]:
    return [line for name, text in entries for line in wrap(f"{name}: {text}", width, indent="  ")]


def _summary_legend(comparison: Comparison) -> list[tuple[str, str]]:
    fixed = (
        "they are those of the attack marked > below; attack and rule were chosen on other models "
        "than those that judge them"
    )
    return [
        *certified_legend(_bounds(comparison), fixed, comparison.claim),
        *_utility_legend([d.utility for d in comparison.defended if d.utility]),
    ]


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


def _attacks_legend(comparison: Comparison) -> list[tuple[str, str]]:
    chunks = max(p.chunks for d in comparison.defended for p in d.published)
    spread = f" Mean ± spread over {chunks:,} groups of models." if chunks > 1 else ""
    guessed = worlds(comparison.canary).guessed
    entries = [
        (
            "Published estimate",
            "the rule is tuned on the very models it is scored on, so this tends to be above 0 "
            "even with no leak. Compare it with the next column; alone it proves nothing. A "
            f"direction of the formula in which no model errs is skipped; without any error it is "
            f"infinite.{spread}",
        ),
        (
            "Same search, no leak",
            f"the same tuning after shuffling which models {guessed}: its mean, and in "
            "brackets what 95 % of shuffles stay below.",
        ),
        (">", "the attack that does best against this defence on the models that choose rules."),
    ]
    reasons = []
    if any({b.attack for b in d.bounds} != set(comparison.attacks) for d in comparison.defended):
        reasons.append("the attack needs what is not released there")
    if any(counted_alone(d.bounds) for d in comparison.defended):
        reasons.append(COUNTED)
    if reasons:
        entries.append((words.NOTHING, f"{'; or '.join(reasons)}."))
    return entries


def _standing_out(comparison: Comparison) -> str:
    """Which published estimates exceed what the same search finds where there is no leak."""
    above = {
        d.defence: [p.attack for p in d.published if p.epsilon_in_sample > p.null_q95]
        for d in comparison.defended
    }
    if not any(above.values()):
        return "No published estimate stands out from the same search with no leak."
    told = ", ".join(f"{d} ({', '.join(attacks)})" for d, attacks in above.items() if attacks)
    among = sum(len(d.published) for d in comparison.defended)
    return (
        f"Published estimates that stand out from the same search with no leak: {told}. With no "
        f"leak each of the {among} would do so by chance in at most about 1 of 20 audits."
    )
