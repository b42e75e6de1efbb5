"""Both writers on a document with a block of each kind."""

import math
import re
import string

import matplotlib.figure as mpl
import pytest
from pages import Page

from dpaudit.report import to_html, to_terminal
from dpaudit.report.document import (
    LINES,
    Bar,
    Column,
    Conclusion,
    Document,
    Facts,
    Figure,
    Heading,
    Row,
    Table,
    Text,
)

LONG = "many words in a row " * 12
SUMMARY = [
    Conclusion("weak", "5 % is <too> much"),
    Bar([("low", "1.00", 1.0), ("high", "no limit", math.inf), ("none", "0.00", 0.0)]),
]
DETAILS = [
    Text([LONG, "second paragraph"]),
    Heading("Part one"),
    Text(["first item", LONG], mark="-"),
    Text(["an aside"], mark="", strong=True),
    Facts([("Label", [LONG, "second line"]), ("Unused", [])]),
    Table(
        [Column("name", words=True), Column("ceil\ning"), Column("x\ny\nz")],
        [Row(["a group"]), Row([LONG, "1.0", "95 %"], marked=True)],
    ),
    Figure("drawn", "Drawn title", "Drawn caption", "Drawn numbers", mpl.Figure()),
]
DOCUMENT = Document(SUMMARY, DETAILS, title="a title?")


def words(text):
    return {word.strip(string.punctuation) for word in text.split()} - {""}


@pytest.mark.parametrize("width", [79, 96])
def test_a_terminal_gets_lines_of_its_width_with_every_word(width):
    text = to_terminal.write(DOCUMENT, width)
    assert max(map(len, text.splitlines())) <= width
    assert text.startswith("dpaudit: a title?\n\nmany words")
    assert "\n\nPart one\n- first item\n" in text
    assert "\n  a group\n" not in text, "a heading within a table is not indented"
    assert "Unused" not in text
    assert "Drawn" not in text
    low, high, none = (
        line.count("#") for line in text.splitlines() if " #" in line or line.startswith("none")
    )
    assert low == high > none == 0, (
        "an infinite number fills the bar as the largest finite one does"
    )


def test_each_detail_is_a_part_of_the_whole():
    line, summary, whole = (
        to_terminal.write(DOCUMENT, detail=detail) for detail in ("line", "summary", "all")
    )
    assert line == "WEAK TEST: 5 % is <too> much"
    assert summary.startswith(f"{line}\n")
    assert whole.endswith(f"\n\n{summary}")


def test_a_summary_of_many_rows_and_long_facts_fits():
    rows = [Row([f"row {i}", "1.0"]) for i in range(30)]
    table = Table([Column("name", words=True), Column("x")], rows)
    facts = Facts([*((f"Fact {i}", LONG) for i in range(5)), ("Report", "/a" * 50)])
    lines = to_terminal.write(Document([*SUMMARY, table, facts]), detail="summary").splitlines()
    assert len(lines) <= LINES
    assert "  29 more: --verbose" in lines
    assert "/a" * 50 in "".join("".join(lines).split())
    short = Document([*SUMMARY, Table(table.columns, rows[:5])])
    assert "more" not in to_terminal.write(short, detail="summary")


def test_titles_of_columns_end_on_the_same_line_and_break_words():
    titles = to_terminal.write(DOCUMENT).partition("Label")[2].split("\n\n")[1].splitlines()[:3]
    assert [line.split() for line in titles] == [["x"], ["ceil", "y"], ["name", "ing", "z"]]


def test_a_line_never_breaks_before_a_per_cent_sign():
    for spaces in range(70, 80):
        text = to_terminal.write(Document([Text([f"{'x' * spaces} 95 % sure"])]))
        assert "95 %" in text


def test_markup_and_codes_in_names_are_shown_or_removed_but_never_obeyed():
    evil = "[bold]loss[/bold] :smile: \x1b[2J\r\x07"
    parts = [Heading(evil), Text([evil]), Text([evil], mark="-"), Facts([(evil, evil)])]
    parts += [Conclusion("strong", evil), Bar([(evil, evil, 1.0)])]
    parts += [Table([Column("name", words=True)], [Row([evil]), Row([evil], marked=True)])]
    parts += [Table([Column("name", words=True), Column("x")], [Row([evil, evil])])]
    made = Document([Text([evil]), *parts])
    text = to_terminal.write(made) + to_terminal.write(made, detail="line")
    assert all(c.isprintable() or c == "\n" for c in text)
    assert text.count("[bold]") == text.count("[/bold]") == text.count(":smile:") >= 13


def test_a_page_has_every_word_that_a_terminal_has():
    page = Page(to_html.write(DOCUMENT))
    told = words(to_terminal.write(DOCUMENT))
    assert told - words(page.text) <= {"dpaudit"}
    assert {"ceil", "ing", "Drawn"} <= words(page.text)
    assert [text for _, text in page.headings] == ["a title?", "Part one", "Drawn title"]
    assert {"scope": "row", "colspan": "3"} in page.all("th")


def test_color_adds_codes_and_nothing_else():
    plain, colored = to_terminal.write(DOCUMENT), to_terminal.write(DOCUMENT, color=True)
    bare = re.sub(r"\x1b\[[\d;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()
    assert "\x1b[1;33mWEAK TEST\x1b[0m: " in colored


def test_a_notebook_gets_the_same_text(monkeypatch):
    plain = to_terminal.write(DOCUMENT)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert to_terminal.write(DOCUMENT) == plain


@pytest.mark.parametrize(
    ("terminal", "forbidden", "wanted"),
    [(True, "", True), (True, "0", False), (False, "", False)],
)
def test_color_is_for_terminals_that_do_not_forbid_it(monkeypatch, terminal, forbidden, wanted):
    """A NO_COLOR that is not empty forbids it, whatever it says (no-color.org)."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    monkeypatch.setenv("NO_COLOR", forbidden)
    assert to_terminal.color_wanted() == wanted
