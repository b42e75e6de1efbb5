"""The message of a failing test: everything that its reader needs, in a few lines."""

import re

from report_examples import violation

from dpaudit.judging.advice import BREAKS
from dpaudit.report.run import refutation


def said(**changes):
    return refutation(violation(**changes), "my_module.train", 1e-6, "dpaudit run --seed 1")


def test_it_says_who_broke_what_by_how_much_how_surely_and_what_to_look_for():
    text = said()
    flat = " ".join(text.split())
    assert re.match(r"my_module\.train [^:]*: the claim of epsilon 1\.00 .* 1\.41 \(95 %", flat)
    for needed in (
        "Claim epsilon 1.00, delta 1e-5, for: one parameter Source: theorem 4",
        "Canary adv-maxloss: the record with the largest mean loss",
        "Models 1,000 trained",
        "Attack mean+std: rule loss < 1.234;",
        "at most 1e-6",
        BREAKS,
        "(seed 1)",
    ):
        assert needed in flat
    assert text.splitlines()[-1].strip() == "dpaudit run --seed 1"


def test_it_is_a_few_lines_that_no_name_can_break():
    text = said(canary={"name": "\x1b[31mred\nline", "made": "by hand"})
    assert len(text.splitlines()) < 25
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text
    assert "\nline" not in text
