from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pages import Page
from refusals import refuses
from report_examples import bound, objects, published

from dpaudit import report
from dpaudit.judging.compare import Comparison, ComparisonRow
from dpaudit.judging.utility import Utility
from dpaudit.report import drawing, figure_methods, load_schema, machine, to_html, to_terminal
from dpaudit.report.comparison import document, to_dict
from dpaudit.report.document import COLUMNS, LINES
from dpaudit.report.formats import NOTHING
from dpaudit.report.to_terminal import Detail
from dpaudit.types import Claim, DPSGDCurve

LATER = {"calibration_error", "negative_log_likelihood", "std_correlation", "std_change"}
CURVE = DPSGDCurve(sample_rate=0.064, steps=938, noise_multiplier=0.93)


def comparison(**changes: Any) -> Comparison:
    made = Comparison(
        claim=Claim(epsilon=8.0, delta=1e-5, curve=CURVE, beside={"rdp": math.inf}),
        attacks=["loss", "mean+std", "min+max"],
        rows=[
            ComparisonRow(
                defence="none",
                bounds=[bound("loss", fp=10, fn=11), bound("mean+std", fp=2), bound("min+max")],
                published=[
                    published("loss"),
                    published("mean+std", epsilon_in_sample=2.51, null_mean=1.62, null_q95=2.18),
                    published("min+max"),
                ],
                strongest="mean+std",
                utility=Utility(accuracy=0.8125, undecidable=0.0, models=40, records=397),
            ),
            ComparisonRow(
                defence="quantize:0.01",
                bounds=[bound("loss", fp=3, fn=9), bound("mean+std", fp=9, fn=9)],
                published=[published("loss"), published("mean+std")],
                strongest="loss",
                utility=Utility(accuracy=0.8049, undecidable=0.0213, models=40, records=397),
            ),
        ],
        models={"in": 50, "out": 50, "choosing": 50, "judging": 50},
        data={"name": "digits", "pool": 1000},
        canary={"name": "adv-maxloss", "made": "by a very long recipe", "label": 8},
        versions={"dpaudit": "0.1.0"},
        seed=1,
    )
    return replace(made, **changes)


def unmeasured() -> Comparison:
    made = comparison()
    return replace(made, rows=[replace(d, utility=None) for d in made.rows])


def nothing_left() -> Comparison:
    none, _ = comparison().rows
    silent = ComparisonRow("silent", bounds=[], published=[], strongest=None, utility=None)
    return comparison(rows=[none, silent])


def extreme() -> Comparison:
    long_word, sentence = "x" * 300, "a very long text " * 40
    none, quantized = comparison().rows
    huge = published(sentence, epsilon_in_sample=math.inf, epsilon_in_sample_std=math.inf)
    wild = replace(
        quantized,
        defence=long_word,
        bounds=[bound(sentence, ceiling=math.inf)],
        published=[huge],
        strongest=sentence,
    )
    return comparison(
        claim=Claim(epsilon=math.inf, delta=0.0, unit=sentence),
        attacks=["loss", "mean+std", "min+max", sentence, long_word],
        rows=[none, wild, replace(wild, defence=sentence)],
        data={"name": long_word},
        canary={"name": sentence},
    )


EVERY = {
    "usual": comparison(),
    "unmeasured": unmeasured(),
    "nothing left": nothing_left(),
    "extreme": extreme(),
}
every = pytest.mark.parametrize("made", EVERY.values(), ids=EVERY)


def render(made: Comparison, width: int = 79, detail: Detail = "all") -> str:
    return to_terminal.write(document(made), width, detail=detail)


def flat(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------- for a terminal


@every
@pytest.mark.parametrize("width", [80, 96])
def test_no_line_is_wider_than_asked_for(made: Comparison, width: int) -> None:
    assert max(map(len, render(made, width).splitlines())) <= width


@every
def test_a_summary_fits_a_terminal_and_begins_with_what_defences_stop(made: Comparison) -> None:
    lines = to_terminal.write(document(made, "report.json"), detail="summary").splitlines()
    assert lines[0].startswith("Without ")
    assert lines[-1] == "Report    report.json"
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    (titles,) = (line for line in lines if line.startswith("  defence "))
    assert len(re.split(r"\s{2,}", titles.strip())) <= 5


def test_a_terminal_of_any_width_is_served() -> None:
    assert render(comparison(), 10) == render(comparison(), 79)
    assert max(map(len, render(comparison(), 1000).splitlines())) <= 96


def test_a_comparison_can_be_a_page_too() -> None:
    page = Page(to_html.write(document(comparison())))
    certified = report.formats.at_least(bound(fp=3, fn=9).epsilon)
    assert f"quantize:0.01 {certified} 1.84 80.5 % 2.1 %" in page.text
    assert [text for _, text in page.headings] == [document(comparison()).title]


def test_leak_and_utility_stand_side_by_side_first() -> None:
    text = render(comparison())
    found = [line.split() for line in text.split("\n---")[1].splitlines()[1:3]]
    strongest = [bound(fp=2), bound(fp=3, fn=9)]
    certified = [report.formats.at_least(b.epsilon) for b in strongest]
    assert found == [
        ["none", certified[0], "1.84", "81.2", "%", "0.0", "%"],
        ["quantize:0.01", certified[1], "1.84", "80.5", "%", "2.1", "%"],
    ]
    assert text.index("accuracy") < text.index("estimate")


def test_every_attack_has_a_row_for_each_defence() -> None:
    rows = render(comparison()).split("\n---")[2].splitlines()[1:10]
    assert [row[:18].strip() for row in rows] == [
        *("loss", "none", ">  quantize:0.01"),
        *("mean+std", ">  none", "quantize:0.01"),
        *("min+max", "none", "quantize:0.01"),
    ]
    assert rows[1].split()[1:] == ["1.12", "±", "0.27", "1.04", "(<", "1.63)", "0.00", "1.84"]
    assert rows[8].split() == ["quantize:0.01", "—", "—", "—", "—"]


def test_a_bound_is_never_rounded_up() -> None:
    none, quantized = comparison().rows
    close = replace(none, bounds=[bound("loss", epsilon=0.9999)], strongest="loss")
    text = render(comparison(rows=[close, quantized]))
    assert "1.00" not in text
    assert text.count(" 0.99 ") == 4, "in a sentence and three tables"


def test_words_say_what_the_numbers_are() -> None:
    text = flat(render(comparison()))
    for words in (
        *("95 %", "by clopper-pearson.", "397 test records", "over 40 models", "± spread"),
        *("over 10 groups", "epsilon 8.00, delta 1e-5", ": mean+std behind none (1 of 5;"),
    ):
        assert words in text
    assert f"{NOTHING} the attack" in text


def test_what_is_not_there_is_not_explained() -> None:
    none, quantized = comparison().rows
    few = replace(none, bounds=none.bounds[:2], published=none.published[:1])
    text = flat(render(comparison(attacks=["loss", "mean+std"], rows=[few, quantized])))
    assert f"{NOTHING} the attack" not in text
    assert " of 3; " not in text, "no estimates that stand out"


def test_utility_that_was_not_measured_is_told_so() -> None:
    text = flat(render(unmeasured()))
    assert "Accuracy not measured" in text
    assert "%" not in flat(render(unmeasured(), detail="summary"))


def test_names_of_plug_ins_bring_no_control_codes() -> None:
    none, quantized = comparison().rows
    rude = replace(quantized, defence="\x1b[31mred\nline")
    text = render(comparison(rows=[none, rude]))
    assert "\x1b" not in text
    assert " [31mred line" in text


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -1.0, 9.0])
@pytest.mark.parametrize("shown", [render, to_dict])
def test_a_bound_that_is_none_is_refused(epsilon: float, shown: Any) -> None:
    none, quantized = comparison().rows
    wrong = replace(quantized, bounds=[bound("loss", epsilon=epsilon)])
    with refuses("above-ceiling" if epsilon == 9.0 else "not-finite", "bound.epsilon"):
        shown(comparison(rows=[none, wrong]))


def useful(**changes: Any) -> Comparison:
    made = comparison()
    measures = {
        "calibration_error": 0.0512,
        "negative_log_likelihood": 0.71828,
        "std_correlation": 0.9876,
        "std_change": 0.00123,
    }
    return replace(
        made,
        rows=[
            replace(d, utility=replace(d.utility, **{**measures, **changes}))
            for d in made.rows
            if d.utility
        ],
    )


def test_what_outputs_are_good_for_has_a_table_of_its_own() -> None:
    text = render(useful())
    rows = text.split("\n---")[2].splitlines()[1:3]
    assert rows[1].split() == ["quantize:0.01", "5.1", "%", "0.718", "0.988", "0.0012"]
    assert "15 bins" in flat(text)
    assert max(map(len, text.splitlines())) <= 80


def test_measures_that_are_not_defined_are_a_dash_and_null() -> None:
    made = useful(calibration_error=None, std_correlation=None)
    text = render(made)
    rows = text.split("\n---")[2].splitlines()[1:3]
    assert rows[0].split() == ["none", "—", "0.718", "—", "0.0012"]
    assert "— not released, or not defined" in flat(text)
    written = to_dict(made)["defences"][0]["utility"]
    assert written["calibration_error"] is None
    assert written["std_change"] == 0.00123


# ---------------------------------------------------------------- drawn


def rows(figure: Any) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def marks(axes: Any, marker: str, colour: str) -> list[list[float]]:
    """Where the marks of one kind stand, and in which row."""
    found = (line for line in axes.get_lines() if line.get_xydata().size)
    return [
        line.get_xydata()[0].tolist()
        for line in found
        if (line.get_marker(), line.get_color()) == (marker, colour)
    ]


def test_every_defence_has_its_row() -> None:
    none, quantized = comparison().rows
    coarse = replace(quantized, defence="quantize:0.1")
    made = comparison(rows=[none, quantized, coarse])
    figure = figure_methods.draw_defences(made)
    assert rows(figure) == ["none", "quantize:0.01", "quantize:0.1"]
    assert drawing.png(figure) == drawing.png(figure_methods.draw_defences(made))


def test_what_is_drawn_is_what_is_certified_and_where() -> None:
    none, quantized = comparison().rows
    many = [replace(none, defence=f"top-k:{k}") for k in range(1, 30)]
    leak, use = figure_methods.draw_defences(comparison(rows=[none, quantized, *many])).axes
    epsilon, row = marks(leak, "o", drawing.INK)[0]
    assert (epsilon, row) == (pytest.approx(bound(fp=2).epsilon), 0)
    equal = [accuracy for accuracy, row in marks(use, "s", drawing.INK) if row != 1]
    assert equal == [81.25] * 30, "equal accuracies are drawn as equal, however many"
    published = marks(leak, "o", drawing.OUT)
    strongest = next(p for p in none.published if p.attack == none.strongest)
    assert published[0] == [strongest.epsilon_in_sample, 0]


def test_infinite_estimates_and_silent_defences_are_left_out() -> None:
    assert rows(figure_methods.draw_defences(nothing_left()))[0] == "none"
    assert drawing.png(figure_methods.draw_defences(extreme()))
    with refuses("no-accuracy"):
        figure_methods.draw_defences(unmeasured())


# ---------------------------------------------------------------- for a machine


def test_schema_describes_and_closes_every_field() -> None:
    schema = load_schema("comparison")
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith("urn:")
    found = list(objects(schema))
    assert len(found) >= 9
    for part in found:
        assert part["additionalProperties"] is False
        optional = set(part["properties"]) - set(part["required"])
        assert optional <= {*LATER, "trials"}, "files that were written before hold the rest"
        for name, field in part["properties"].items():
            assert field.get("description"), name


def test_schema_says_of_shared_parts_what_the_report_says() -> None:
    ours, theirs = load_schema("comparison"), load_schema("report")
    for name in ("claim", "models", "versions"):
        assert ours["properties"][name] == theirs["properties"][name]
    for name in ("claim", "bound", "counts", "published", "gaussian", "dpsgd", "trials"):
        assert ours["$defs"][name] == theirs["$defs"][name]


@every
def test_every_comparison_fulfils_the_schema(made: Comparison) -> None:
    written = json.loads(json.dumps(to_dict(made), allow_nan=False))
    assert list(Draft202012Validator(load_schema("comparison")).iter_errors(written)) == []


def test_every_number_is_written_in_full(tmp_path: Any) -> None:
    made = comparison()
    machine.write(to_dict(made), tmp_path / "comparison.json")
    written = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert written["attacks"] == ["loss", "mean+std", "min+max"]
    for d, defended in zip(written["defences"], made.rows, strict=True):
        assert d["defence"] == defended.defence
        assert d["strongest"] == defended.strongest
        assert d["utility"] == vars(defended.utility)
        assert [b["epsilon"] for b in d["bounds"]] == [b.epsilon for b in defended.bounds]
        assert [p["null_q95"] for p in d["published"]] == [p.null_q95 for p in defended.published]


def test_utility_that_was_not_measured_is_null() -> None:
    assert [d["utility"] for d in to_dict(unmeasured())["defences"]] == [None, None]
    assert to_dict(nothing_left())["defences"][1]["strongest"] is None
