from __future__ import annotations

import base64
import hashlib
import math
import os
import re
import string
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from pages import Page
from report_examples import (
    bound,
    inconclusive,
    no_violation_found,
    published,
    violation,
    with_evidence,
)

from dpaudit.report import page, render
from dpaudit.report.formats import at_least
from dpaudit.report.run_setting import contents
from dpaudit.report.wording import LABELS
from dpaudit.results import Report
from dpaudit.types import Claim

REPORTS = {
    "inconclusive": with_evidence(inconclusive(looks=3)),
    "violation": with_evidence(violation(defence="quantize(step=0.01)"), canary=None),
    "no violation found": no_violation_found(),
}
EVIL = "<script>alert(1)</script>\" onload='x' &amp; --> ]]> $x^2$\x1b[2J\r\x00\udcff\u202e"


def evil() -> Report:
    """Every text that comes from a file or a plug-in tries to be more than text."""
    report = inconclusive(
        claim=Claim(epsilon=8.0, delta=1e-5, unit=EVIL, source=EVIL, beside={EVIL: 7.0}),
        bounds=[bound(EVIL, rule=EVIL, selection=EVIL, estimator=EVIL), bound(EVIL + "2")],
        primary=0,
        published=[published(EVIL, epsilon_in_sample=9.0), published(EVIL + "3")],
        data={EVIL: EVIL, "name": EVIL},
        canary={"name": EVIL, "made": EVIL, "label": EVIL},
        adversary=EVIL,
        defence=EVIL,
        backend={"name": EVIL, "reason": EVIL},
        versions={EVIL: EVIL},
        warnings=[EVIL],
        next_steps=[EVIL],
    )
    return with_evidence(report)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {**{name: page(report) for name, report in REPORTS.items()}, "evil": page(evil())}


NAMES = [*REPORTS, "evil"]


def bare(text: str) -> set[str]:
    """The words of a text without the marks around them."""
    return {word.strip(string.punctuation + "—") for word in text.split()} - {""}


# ---------------------------------------------------------------- what it says


@pytest.mark.parametrize("name", REPORTS)
def test_every_word_and_number_of_the_terminal_is_on_the_page(
    pages: dict[str, str], name: str
) -> None:
    # The title begins with the program's name.
    said = bare(render(REPORTS[name])) - {"dpaudit"}
    assert said - bare(Page(pages[name]).text) == set()
    assert len(said) > 150


@pytest.mark.parametrize("name", REPORTS)
def test_verdict_comes_first_and_in_words(pages: dict[str, str], name: str) -> None:
    read = Page(pages[name])
    outcome = LABELS[REPORTS[name].strength]
    assert read.text.index("the leak") < read.text.index(outcome) < 100
    assert [title.split()[-1] for level, title in read.headings if level == "h2"] == [
        *("tested", "Figures", "Attacks"),
        *(["Warnings"] if REPORTS[name].warnings else []),
        *("next", "computed", "contains"),
    ]


def test_warnings_and_looks_are_told(pages: dict[str, str]) -> None:
    text = Page(pages["inconclusive"]).text
    (warning,) = REPORTS["inconclusive"].warnings
    assert warning in text
    assert "Looks 3; this one is held to 95 % confidence" in text


def test_one_row_decides_and_says_so(pages: dict[str, str]) -> None:
    read = Page(pages["inconclusive"])
    marked = [row.get("class") for row in read.all("tr")].count("deciding")
    assert marked == 2, "in the summary and in the table of all bounds"
    certified = at_least(REPORTS["inconclusive"].bounds[1].epsilon)
    assert f"> mean+std clopper-pearson nothing {certified} 1.84" in read.text
    assert "mean+std 2.01 ± 0.27 1.62 (< 2.18)" in read.text


def test_a_defence_is_named_on_page_and_terminal(pages: dict[str, str]) -> None:
    assert "quantize(step=0.01)" in Page(pages["violation"]).text
    assert "quantize(step=0.01)" in render(REPORTS["violation"])
    assert "Defence" not in Page(pages["inconclusive"]).lines
    assert "Defence" not in render(REPORTS["inconclusive"])


def test_the_page_says_whether_it_shows_a_training_record(pages: dict[str, str]) -> None:
    shown = Page(pages["inconclusive"])
    assert contents(REPORTS["inconclusive"])[0] in shown.lines
    assert ("h3", "The canary") in shown.headings
    for name in ("violation", "no violation found"):
        assert contents(REPORTS[name])[0] in Page(pages[name]).lines
        assert contents(REPORTS[name])[0] not in shown.lines
        assert ("h3", "The canary") not in Page(pages[name]).headings


@pytest.mark.parametrize(("name", "figures"), [("inconclusive", 4), ("violation", 3)])
def test_every_figure_has_a_text_with_its_numbers(
    pages: dict[str, str], name: str, figures: int
) -> None:
    alts = [image["alt"] for image in Page(pages[name]).all("img")]
    assert len(alts) == figures
    assert all(len(alt) > 40 and re.search(r"\d", alt) for alt in alts)
    primary = REPORTS[name].bounds[REPORTS[name].primary]
    assert f"{primary.ceiling:.2f}" in alts[0]
    assert f"{primary.counts.fp} of {primary.counts.out}" in alts[2]  # type: ignore[union-attr]


def test_without_evidence_only_the_bounds_are_drawn(pages: dict[str, str]) -> None:
    assert len(Page(pages["no violation found"]).images) == 1


# ---------------------------------------------------------------- what it is


@pytest.mark.parametrize("name", NAMES)
def test_page_is_whole_in_itself_and_runs_nothing(pages: dict[str, str], name: str) -> None:
    read = Page(pages[name])
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"script", "link", "iframe", "object", "embed", "form", "base", "a", "svg"}
    allowed = {
        "class",
        "alt",
        "src",
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "scope",
        "max",
        "value",
    }
    for tag, attributes in read.elements:
        assert set(attributes) <= allowed, tag
    assert "url(" not in pages[name]
    assert "@import" not in pages[name]
    assert read.comments == []


@pytest.mark.parametrize("name", NAMES)
def test_policy_allows_this_style_sheet_and_nothing_else(pages: dict[str, str], name: str) -> None:
    (policy,) = (m["content"] for m in Page(pages[name]).all("meta") if "http-equiv" in m)
    (style,) = re.findall(r"<style>(.*?)</style>", pages[name], flags=re.DOTALL)
    known = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{known}';" in policy
    assert policy.split("; ")[:2] == ["default-src 'none'", "img-src data:"]
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", NAMES)
def test_headings_come_in_order(pages: dict[str, str], name: str) -> None:
    read = Page(pages[name])
    levels = [int(level[1]) for level, _ in read.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert read.all("html") == [{"lang": "en"}]


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_wellformed_and_refer_to_nothing_outside(
    pages: dict[str, str], name: str
) -> None:
    for image in Page(pages[name]).images:
        for element in ElementTree.fromstring(image).iter():
            assert not element.tag.endswith("script")
            for key, value in element.attrib.items():
                assert not key.startswith("on")
                if key.endswith("href"):
                    assert value.startswith(("#", "data:image/png;base64,"))


def test_figures_follow_a_dark_page(pages: dict[str, str]) -> None:
    for image in Page(pages["inconclusive"]).images:
        style = image.decode()
        assert "prefers-color-scheme: dark" in style
        # Each colour that is drawn with has its counterpart: none stays dark on dark.
        drawn = set(re.findall(r"var\(--c([0-9a-f]{6})", style))
        assert drawn <= set(re.findall(r"--c([0-9a-f]{6}):", style))


def test_text_of_others_stays_text(pages: dict[str, str]) -> None:
    assert "<script" not in pages["evil"]
    assert all(c.isprintable() or c in "\n\N{NO-BREAK SPACE}" for c in pages["evil"])
    assert pages["evil"].encode()
    text = Page(pages["evil"]).text
    assert text.count("<script>alert(1)</script>\" onload='x' &amp; --> ]]> $x^2$") > 15


# ---------------------------------------------------------------- what it stands


def test_infinite_values_are_words() -> None:
    report = no_violation_found(
        bounds=[bound(ceiling=math.inf, assumption="gaussian", counts=None)],
        primary=0,
        claim=Claim(epsilon=math.inf, delta=0.0, beside={"rdp": math.inf}),
        verdict="NO_GUARANTEE_CLAIMED",
        published=[
            published(epsilon_in_sample=math.inf),
            published("mean", null_mean=math.nan, null_q95=math.nan, permutations=0),
            published("lira", null_q95=math.inf),
        ],
    )
    lowest = float(np.finfo(float).min)
    extreme = np.array([-math.inf, math.inf, lowest, math.nan, 0.0])
    shown = with_evidence(report)
    assert shown.evidence is not None
    scores = replace(shown.evidence.scores[0], out=extreme, inn=extreme[::-1])
    text = page(replace(shown, evidence=replace(shown.evidence, scores=[scores], cuts=[math.inf])))
    seen = Page(text)
    said = " ".join([seen.text, *(image["alt"] for image in seen.all("img"))])
    assert not bare(said) & {"nan", "None", "-inf"}
    assert "no guarantee" in said
    assert "no limit" in said


def test_drawing_leaves_the_users_settings(pages: dict[str, str]) -> None:
    with matplotlib.rc_context({"font.size": 31.0}):
        page(REPORTS["no violation found"])
        assert matplotlib.rcParams["font.size"] == 31.0


def test_same_report_same_bytes_on_any_machine(pages: dict[str, str], tmp_path: Path) -> None:
    """Whatever the user's matplotlibrc, the clock and Python's hashes; and no pyplot."""
    (tmp_path / "matplotlibrc").write_text("font.size: 30\nsvg.fonttype: none\n")
    script = """
import hashlib, sys
from report_examples import inconclusive, with_evidence
import dpaudit.report
assert "matplotlib" not in sys.modules
text = dpaudit.report.page(with_evidence(inconclusive(looks=3)))
assert "matplotlib.pyplot" not in sys.modules
print(hashlib.sha256(text.encode()).hexdigest())
"""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "7",
        "PYTHONPATH": os.path.dirname(__file__),
        "MATPLOTLIBRC": str(tmp_path),
        "SOURCE_DATE_EPOCH": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == hashlib.sha256(pages["inconclusive"].encode()).hexdigest()
