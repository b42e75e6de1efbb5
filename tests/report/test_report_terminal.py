from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from refusals import refuses
from report_examples import bound, inconclusive, judged, no_violation_found, published, violation

from dpaudit.report import render
from dpaudit.report.document import COLUMNS, LINES
from dpaudit.report.formats import at_least, duration, nearest
from dpaudit.report.wording import LABELS
from dpaudit.results import Growth, Published, Report
from dpaudit.types import Claim, GaussianCurve

REPORTS = {
    report.verdict.replace("_", " "): report
    for report in (violation(), no_violation_found(), inconclusive())
}


def flat(text: str) -> str:
    """The text without its line breaks, as one reads it."""
    return " ".join(text.split())


def row(text: str, attack: str) -> str:
    (line,) = (s for s in text.splitlines() if s[:2] in ("  ", "> ") and s[2:].startswith(attack))
    return line


def standing_out(report: Report) -> list[str]:
    """The attacks whose estimates are above their null, and how many they are of how many."""
    return re.findall(r"shuffled labels: ([^:]+ \(\d+ of \d+;)", flat(render(report)))


def details(report: Report) -> str:
    """The long form without the summary below it."""
    return render(report).rpartition(f"{LABELS[report.strength]}: ")[0]


def of_models(text: str) -> list[str]:
    """The words on the models of a report."""
    section = text[text.index("\nModels   ") : text.index("\nAttacker ")]
    return [word.strip(",;") for word in section.split()]


def extreme() -> Report:
    long_word = "x" * 300
    sentence = "a very long text " * 40
    names = [long_word, sentence, "loss"]
    return no_violation_found(
        claim=Claim(
            epsilon=2.0,
            delta=1e-5,
            unit=sentence,
            source=long_word,
            curve=GaussianCurve(mu=0.5),
            beside={long_word: 2.0, "rdp": math.inf},
        ),
        bounds=[
            bound(name, n=250, fp=20, fn=110, rule=long_word, estimator=f"e{i}", selection=sentence)
            for i, name in enumerate(names)
        ],
        published=[
            published(name, epsilon_in_sample=math.inf, epsilon_in_sample_std=math.inf)
            for name in names
        ],
        data={long_word: sentence, "name": long_word, "{brace}": "{0}"},
        canary={"name": sentence, "made": long_word, "nested": {"a": [1, 2, {"b": None}]}},
        adversary=long_word,
        backend={"name": long_word, "reason": sentence},
        versions={long_word: long_word},
        warnings=[long_word, sentence],
        next_steps=[sentence],
        looks=12,
    )


def close() -> Report:
    """A claim and a bound that differ in the eighth decimal: the widest numbers."""
    wide = replace(extreme(), verdict="VIOLATION", claim=Claim(epsilon=1.00000001, delta=0.0))
    return judged(wide, bounds=[bound("x" * 300, epsilon=1.00000003, ceiling=2.0)], primary=0)


def summary(report: Report) -> str:
    return render(report, detail="summary")


@pytest.mark.parametrize("report", [*REPORTS.values(), extreme(), close()], ids=lambda r: r.verdict)
def test_a_summary_fits_a_terminal_and_begins_with_the_outcome(report: Report) -> None:
    where = f"{'y' * 100}/report.html"
    text = render(report, detail="summary", where=where)
    lines = text.splitlines()
    assert text.startswith(f"{LABELS[report.strength]}: ")
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert where in "".join(text.split()), "a path is never cut"
    (rule,) = (i for i, line in enumerate(lines) if set(line) == {"-"})
    assert len(re.split(r"\s{2,}", lines[rule - 1].strip())) <= 5
    assert lines[rule + 1].startswith("> "), "the attack that decides comes first"


def test_a_summary_says_who_attacked_what_was_found_and_what_to_do() -> None:
    text = flat(summary(inconclusive()))
    parts = [
        "WEAK TEST: 0.49",
        "claimed 8.00 ##",
        "certified 0.49 ##",
        "Attacker the probabilities",
    ]
    parts += ["Judged 100 models: 50 with the canary; accuracy 81.2 %", "> mean+std 0.49 2.01 1.62"]
    parts += ["3 more: --verbose", "Warning the models", "Next Train more models"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_summary_names_one_warning_and_counts_the_others() -> None:
    text = flat(summary(inconclusive(warnings=["first", "second", "third"])))
    assert "Warning first (2 more: --verbose)" in text
    assert "second" not in text


def test_one_line_is_the_outcome() -> None:
    for report in [*REPORTS.values(), extreme()]:
        line = render(report, detail="line")
        assert "\n" not in line
        assert flat(render(report)).count(line) == 1


def test_the_long_form_has_all_sections_and_ends_with_the_summary() -> None:
    report = inconclusive(looks=3)
    text = render(report)
    order = ["dpaudit: is the leak", "\nClaim", "\nData", "\nCanary", "\nModels  ", "\nAttacker"]
    order += ["> mean+std", "decides (>)", "Ceiling", "In-sample estimate", "On shuffled"]
    order += ["Warnings", "to do next", "Backend", "Time", "Seed", "Looks     3;", "WEAK TEST"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    last = summary(replace(report, bounds=[report.bounds[1]], primary=0, published=[])).split("\n")
    assert text.splitlines()[-2:] == last[-2:]


def test_setting_is_all_there() -> None:
    text = flat(render(inconclusive()))
    for words in (
        "epsilon 8.00, delta 1e-5, for: whole model",
        "RDP accountant of Opacus",
        "pld 7.41, prv 7.43",
        "noise multiplier 0.93",
        "1,000 records in the training pool",
        "40 steps of adversarial noise",
        "50 with the canary, 50 without it",
        "50 to choose each attack's rule, 50 others to judge it",
        "accuracy 81.2 %",
        "vmap (fastest on this machine)",
        "3 min 24 s, judging 1.2 s",
    ):
        assert words in text


def test_all_bounds_have_a_row_and_one_is_marked() -> None:
    report = inconclusive(bounds=[*inconclusive().bounds, bound("loss", estimator="jeffreys")])
    text = details(report)
    shown = [flat(line) for line in text.splitlines()]
    for i, b in enumerate(report.bounds):
        numbers = f"{at_least(b.epsilon)} {b.ceiling:.2f}"
        assert shown.count(f"{'> ' * (i == 1)}{b.attack} {b.estimator} nothing {numbers}") == 1
    assert [line for line in shown if line.startswith("> ")] == [
        f"> mean+std clopper-pearson nothing {at_least(report.bounds[1].epsilon)} 1.84"
    ]


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (published("lira"), "lira 1.12 ± 0.27 1.04 (< 1.63)"),
        (published(chunks=1), "loss 1.12 1.04 (< 1.63)"),
        (
            published(permutations=0, null_mean=math.nan, null_q95=math.nan),
            "loss 1.12 ± 0.27 —",
        ),
    ],
    ids=["without a bound", "one chunk", "no permutations"],
)
def test_an_estimate_has_the_numbers_that_there_are(estimate: Published, shown: str) -> None:
    report = inconclusive(published=[estimate])
    assert shown in map(flat, details(report).splitlines())
    assert "nan" not in render(report)
    assert not standing_out(report)
    assert "shuffled" not in render(inconclusive(published=[]))


def test_estimates_above_shuffled_labels_are_named() -> None:
    assert standing_out(no_violation_found()) == ["mean+std, learned (2 of 3;"]
    assert not standing_out(inconclusive(published=[published(epsilon_in_sample=1.63)]))


@pytest.mark.parametrize("width", [80, 96])
@pytest.mark.parametrize("report", [*REPORTS.values(), extreme(), close()], ids=lambda r: r.verdict)
def test_no_line_is_wider_than_asked_for(report: Report, width: int) -> None:
    assert max(map(len, render(report, width=width).splitlines())) <= width


@pytest.mark.parametrize(("asked", "given"), [(0, 79), (40, 79), (500, 96)])
def test_width_stays_where_the_table_can_be_read(asked: int, given: int) -> None:
    assert render(inconclusive(), width=asked) == render(inconclusive(), width=given)


def test_nothing_of_a_long_text_is_lost() -> None:
    text = render(extreme())
    unbroken = "".join(text.split()).replace(">", "")
    assert unbroken.count("x" * 300) >= 8
    assert unbroken.count("averylongtext" * 40) >= 5
    assert "{brace} {0}" in flat(text)


def test_color_is_of_the_outcome_and_changes_no_word() -> None:
    for report in (*REPORTS.values(), extreme()):
        plain, colored = render(report), render(report, color=True)
        assert "\x1b" not in plain
        assert re.search(rf"\x1b\[1;3[123]m{LABELS[report.strength]}\x1b\[0m: ", colored)
        assert re.search(r"\x1b\[1m> ?", colored), "the row that decides is bold"
        bare = re.sub(r"\x1b\[[\d;]*m", "", colored)
        assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


def test_a_control_code_in_a_name_never_reaches_the_terminal() -> None:
    evil = "loss\x1b[2J\r\x07"
    text = render(
        inconclusive(
            bounds=[bound(evil, rule=evil)],
            primary=0,
            published=[published(evil, epsilon_in_sample=9.0)],
            data={evil: evil},
            canary={"made": evil},
            warnings=[evil],
            versions={evil: evil},
        )
    )
    assert all(c.isprintable() or c == "\n" for c in text)


def test_text_prints_on_a_western_windows_console_too() -> None:
    for report in REPORTS.values():
        assert render(report).encode("cp1252")


def test_a_printed_bound_is_still_a_bound() -> None:
    assert at_least(1.2099) == "1.20"
    assert at_least(0.29) == "0.29"
    assert at_least(0.0, 9) == "0.000000000"
    assert nearest(1e-9, 9) == "0.000000001"
    assert nearest(1.2099) == "1.21"
    text = summary(no_violation_found(bounds=[bound(epsilon=1.2099, ceiling=3.0)], primary=0))
    assert "1.20 of the claimed" in text


@pytest.mark.parametrize(
    ("report", "shown"),
    [
        (
            violation(
                claim=Claim(epsilon=1.0, delta=0.0),
                bounds=[bound(epsilon=1.00041, ceiling=3.0)],
                primary=0,
            ),
            "1.0000 1.0004",
        ),
        (
            inconclusive(
                claim=Claim(epsilon=2.5704, delta=0.0),
                bounds=[bound(epsilon=0.1, ceiling=2.5701)],
                primary=0,
            ),
            "2.5704 2.5701",
        ),
        (
            violation(
                claim=Claim(epsilon=0.001, delta=0.0),
                bounds=[bound(epsilon=0.0025, ceiling=3.0)],
                primary=0,
            ),
            "0.001 0.002",
        ),
    ],
)
def test_digits_suffice_to_see_why_the_verdict_is_so(report: Report, shown: str) -> None:
    line = render(report, detail="line")
    assert re.search(r"\b.*?\b".join(map(re.escape, shown.split())), line)


def test_a_summary_has_a_column_for_each_kind_of_assumption() -> None:
    gdp = bound("loss", estimator="gdp", assumption="gaussian", epsilon=1.5, ceiling=math.inf)
    prior = bound("loss", estimator="joint-beta", assumption="prior", epsilon=0.9)
    report = inconclusive(bounds=[bound("loss"), gdp, prior], primary=0)
    assert "attack by curve no assumptions in-sample" in flat(summary(report))
    assert "> loss 1.50 0.30 " in flat(summary(report))
    assert "loss gdp a Gaussian curve 1.50 no limit" in flat(details(report))
    assert "loss joint-beta a prior (credible) 0.90 1.84" in flat(details(report))


def test_of_one_attacks_bounds_of_one_kind_the_summary_has_the_one_that_decides() -> None:
    scan = bound("loss", estimator="exact-scan", epsilon=1.5)
    for bounds, primary in (([bound("loss"), scan], 1), ([scan, bound("loss")], 0)):
        assert "> loss 1.50 " in flat(summary(inconclusive(bounds=bounds, primary=primary)))


def test_unfitted_attacks_are_said_to_need_no_choice() -> None:
    models = {"in": 50, "out": 50, "choosing": 0, "judging": 100}
    text = flat(render(inconclusive(models=models)))
    assert "100 to judge" in text
    assert "to choose" not in text


def test_a_claim_of_nothing_and_a_huge_claim_are_readable() -> None:
    huge = render(inconclusive(claim=Claim(epsilon=1e300, delta=1e-5)), detail="line")
    assert " 1E+300 " in huge
    nothing = Claim(epsilon=math.inf, delta=0.0, unit="own records")
    report = inconclusive(claim=nothing, verdict="NO_GUARANTEE_CLAIMED")
    told = flat(render(report))
    assert "Claim no guarantee, for: own records" in told
    assert "\nclaimed" not in summary(report), "no bar for what is not claimed"
    assert "infinity" not in told


def test_a_report_without_sense_is_refused() -> None:
    with refuses("out-of-range", option="bound.confidence", value=0.0):
        render(inconclusive(bounds=[bound(confidence=0.0)], primary=0))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.04, "0.0 s"), (9.97, "10 s"), (59.6, "1 min 0 s"), (7500, "2 h 5 min")],
)
def test_durations_are_for_people(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_run_that_was_to_stop_once_decided_says_why_it_did() -> None:
    told = set()
    for report, most in (
        (violation(), 4000),
        (no_violation_found(), 1000),
        (no_violation_found(), 4000),
    ):
        growth = Growth(wealth=[1.0, 7.5, 2.0], beside=[], needed=20.0, most=most)
        plain, stopped = (
            set(of_models(render(r))) for r in (report, replace(report, growth=growth))
        )
        assert plain.isdisjoint({"7.5", "20"})
        assert stopped >= {f"{most:,}", "1,000", "7.5", "20"}
        told.add(frozenset(stopped - {f"{most:,}"}))
    assert len(told) == 3, "refuted, not refuted by all, and ended before"
