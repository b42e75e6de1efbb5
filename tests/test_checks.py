import math

import numpy as np
import pytest
from refusals import refuses

from dpaudit.checks import MANY, at_least, excerpt, in_range, positive, refuse

HUGE = 10**5000
"""More digits than Python writes out."""


def test_one_problem_is_one_sentence():
    with refuses("not-positive", option="epsilon", value=-1.0) as caught:
        refuse([None, positive("epsilon", -1.0), None])
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("-1.0")


def test_one_problem_of_a_file_stays_the_same_problem():
    with refuses("not-positive", option="epsilon", value=-1.0) as caught:
        refuse([positive("epsilon", -1.0)], about="config.toml")
    assert str(caught.value) == f"config.toml: {positive('epsilon', -1.0)}"


def test_all_problems_come_in_one_message_of_one_line():
    problems = positive("lr", 0), at_least("epochs", 0, 1)
    with refuses("several-problems") as caught:
        refuse(problems, about="config.toml")
    assert caught.value.problems == problems
    one, two = problems
    assert str(caught.value) == f"config.toml: 2 problems: (1) {one}; (2) {two}"


def test_no_problem_is_not_refused():
    assert refuse([]) is None
    assert refuse([None], about="config.toml") is None


def test_a_list_names_a_few_and_counts_the_rest():
    assert excerpt([]) == ""
    assert excerpt(range(5)) == "0, 1, 2, 3, 4"
    assert excerpt(range(7)) == "0, 1, 2, 3, 4 and 2 more"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "8", None, True, 1j])
def test_what_is_no_finite_number_is_refused_with_its_value(value):
    shown = repr(value) if isinstance(value, str) else str(value)
    for problem, code, option in (
        (positive("clip", value), "not-positive", "clip"),
        (in_range("delta", value, 0, 1), "out-of-range", "delta"),
    ):
        assert (problem.code, problem.option) == (code, option)
        assert problem.value is value
        assert str(problem).startswith(option)
        assert str(problem).endswith(f" {shown}")


@pytest.mark.parametrize("value", [math.nan, math.inf, 4.0, "4", None, True, 3])
def test_a_count_is_a_whole_number(value):
    problem = at_least("models", value, 4)
    assert (problem.code, problem.option) == ("too-small", "models")
    assert problem.value is value
    assert " 4, " in str(problem)


@pytest.mark.parametrize("value", [4, 5, 10**6, np.int64(4)])
def test_a_count_that_is_large_enough_has_no_problem(value):
    assert at_least("models", value, 4) is None


@pytest.mark.parametrize("value", [10**6 + 1, 10**26, np.int64(2**62), HUGE], ids=type)
def test_a_setting_has_a_largest_value_and_the_refusal_is_short(value):
    problem = at_least("models", value, 4)
    assert (problem.code, problem.option) == ("too-large", "models")
    assert " 1,000,000, " in str(problem)
    assert len(str(problem)) < 120


@pytest.mark.parametrize("value", [1e308, 10**26, MANY + 1])
def test_a_number_without_a_range_of_its_own_has_a_largest_value(value):
    for problem in (positive("clip", value), at_least("folds", int(value), 1)):
        assert problem.code == "too-large"
        assert problem.option in ("clip", "folds")
        assert " 1,000,000,000, " in str(problem)
        assert len(str(problem)) < 140


@pytest.mark.parametrize("value", ["9" * 10**6, [8] * 10**6, HUGE, [HUGE]], ids=type)
def test_a_value_is_shown_in_a_few_words(value):
    assert 0 < len(str(in_range("delta", value, 0, 1))) < 140


@pytest.mark.parametrize("value", [1e-300, 1, 8.0, np.float32(0.5)])
def test_positive_numbers_have_no_problem(value):
    assert positive("epsilon", value) is None


@pytest.mark.parametrize(
    ("ends", "low_is_in", "high_is_in", "words"),
    [
        ("[]", True, True, "at least 0 and at most 1"),
        ("[)", True, False, "at least 0 and below 1"),
        ("(]", False, True, "above 0 and at most 1"),
        ("()", False, False, "above 0 and below 1"),
    ],
)
def test_the_ends_of_a_range_are_as_written(ends, low_is_in, high_is_in, words):
    assert in_range("p", 0.5, 0, 1, ends) is None
    assert (in_range("p", 0, 0, 1, ends) is None) == low_is_in
    assert (in_range("p", 1.0, 0, 1, ends) is None) == high_is_in
    for value in (1.5, -0.5):
        problem = in_range("p", value, 0, 1, ends)
        assert (problem.code, problem.option, problem.value) == ("out-of-range", "p", value)
        assert f" {words}, " in str(problem)
