"""Both writers on a document with a block of each kind."""

import math
import string

import pytest
from pages import Page

from dpaudit.report import to_html, to_terminal
from dpaudit.report.document import (
    SOFT_HYPHEN,
    Bar,
    Column,
    Conclusion,
    Document,
    Facts,
    Heading,
    Legend,
    Row,
    Table,
    Text,
)

LONG = "many words in a row " * 12

DOCUMENT = Document(
    [
        Text([LONG, "second paragraph"]),
        Heading("Part one"),
        Text(["first item", LONG], mark="-"),
        Text(["an aside"], mark="", strong=True),
        Facts([("Label", [LONG, "second line"]), ("Unused", [])]),
        Legend([("Term", LONG)], title="Terms"),
        Conclusion("VIOLATION", "VIOLATION", "5 % is <too> much", ["a note"]),
        Bar([("low", "1.00", 1.0), ("high", "no limit", math.inf), ("none", "0.00", 0.0)]),
        Table(
            [Column("name", words=True), Column(f"ceil{SOFT_HYPHEN}\ning"), Column("x\ny\nz")],
            [Row(["a group"]), Row([LONG, "1.0", "95 %"], marked=True, strong=True)],
            caption="A caption",
        ),
    ],
    title="a title?",
)


def words(text):
    return {word.strip(string.punctuation) for word in text.split()} - {""}


@pytest.mark.parametrize("width", [79, 96])
def test_a_terminal_gets_lines_of_its_width_with_every_word(width):
    text = to_terminal.write(DOCUMENT, width)
    assert max(map(len, text.splitlines())) <= width
    assert text.startswith("dpaudit: a title?\n=================\n")
    assert not text.endswith("\n")
    assert "Unused" not in text
    assert "\n\nPart one\n  - first item\n" in text
    assert "95 %\n" in text
    low, high, none = (
        line.count("#") for line in text.splitlines() if " #" in line or "0.00" in line
    )
    assert low == high > none == 0, (
        "an infinite number fills the bar as the largest finite one does"
    )


def test_titles_of_columns_end_on_the_same_line_and_break_words():
    titles = to_terminal.write(DOCUMENT).partition("A caption\n")[2].splitlines()[:3]
    assert [line.split() for line in titles] == [["x"], ["ceil-", "y"], ["name", "ing", "z"]]


def test_a_page_has_every_word_that_a_terminal_has():
    page = Page(to_html.write(DOCUMENT))
    told = words(to_terminal.write(DOCUMENT).replace("ceil-", "").replace("ing ", " "))
    assert told - words(page.text) <= {"dpaudit", "ing"}
    assert "ceiling" in page.text
    assert [text for _, text in page.headings] == ["a title?", "Part one", "Terms"]
    assert {"scope": "row", "colspan": "3"} in page.all("th")


def test_color_adds_codes_and_nothing_else():
    plain, colored = to_terminal.write(DOCUMENT), to_terminal.write(DOCUMENT, color=True)
    for code in (to_terminal.BOLD, to_terminal.RESET, *to_terminal.COLORS.values()):
        colored = colored.replace(code, "")
    assert colored == plain


@pytest.mark.parametrize(
    ("terminal", "forbidden", "wanted"),
    [(True, "", True), (True, "1", False), (False, "", False)],
)
def test_color_is_for_terminals_that_do_not_forbid_it(monkeypatch, terminal, forbidden, wanted):
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    monkeypatch.setenv("NO_COLOR", forbidden)
    assert to_terminal.color_wanted() == wanted
