"""What both estimators on guesses of one run promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcome_strategies import DELTA, confidences, deltas, guesses, steady
from refusals import refuses

from dpaudit.errors import BadInput
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.sentences import COINS, confident
from dpaudit.results import Counts, Decisions, Guesses, Scores

EACH = pytest.mark.parametrize("estimator", [OneRun, OneRunFDP])
SLACK = 1e-6
"""Both are found by bisection."""


@EACH
@steady
@given(g=guesses(), delta=deltas, confidence=confidences)
def test_bound_is_a_number_between_zero_and_its_ceiling(estimator, g, delta, confidence):
    bound = estimator(confidence).bound(g, delta)
    assert 0 <= bound.epsilon <= bound.ceiling + SLACK
    assert bound.ceiling < math.inf
    assert bound.ceiling == estimator(confidence).ceiling(g.canaries, g.guesses, delta)


@EACH
@pytest.mark.parametrize("delta", [1e-300, DELTA, 0.5, 1 - 2**-53])
@pytest.mark.parametrize(("m", "r"), [(1, 1), (2, 1), (5, 5), (100_000, 1), (100_000, 1000)])
def test_extremes_are_numbers(estimator, m, r, delta):
    for correct in (0, 1, r):
        bound = estimator().bound(Guesses(m, r, correct), delta)
        assert 0 <= bound.epsilon <= bound.ceiling + SLACK
        assert bound.ceiling < math.inf


@EACH
@steady
@given(g=guesses(), wrong=st.integers(0, 50), delta=deltas)
def test_more_errors_never_raise_the_bound(estimator, g, wrong, delta):
    worse = Guesses(g.canaries, g.guesses, max(0, g.correct - wrong))
    made = estimator()
    assert made.bound(worse, delta).epsilon <= made.bound(g, delta).epsilon + SLACK


@EACH
@steady
@given(g=guesses(), one=confidences, other=confidences, delta=deltas)
def test_more_confidence_never_raises_the_bound(estimator, g, one, other, delta):
    low, high = sorted((one, other))
    surer, less_sure = estimator(high).bound(g, delta), estimator(low).bound(g, delta)
    assert surer.epsilon <= less_sure.epsilon + SLACK


@EACH
@steady
@given(g=guesses(), one=deltas, other=deltas)
def test_more_slack_never_raises_the_bound(estimator, g, one, other):
    low, high = sorted((one, other))
    assert estimator().bound(g, high).epsilon <= estimator().bound(g, low).epsilon + SLACK


@EACH
@steady
@given(g=guesses(), more=st.integers(0, 1000), delta=deltas)
def test_canaries_without_a_guess_never_raise_the_bound(estimator, g, more, delta):
    many = Guesses(g.canaries + more, g.guesses, g.correct)
    assert estimator().bound(many, delta).epsilon <= estimator().bound(g, delta).epsilon + SLACK


@EACH
def test_sentence_says_what_was_shown_how_surely_assuming_what(estimator):
    bound = estimator(0.9).bound(Guesses(1000, 200, 180), DELTA)
    shown = math.floor(1000 * bound.epsilon) / 1000
    assert bound.sentence.startswith(confident(0.9))
    assert f"{shown:.3f} at delta 1e-5" in bound.sentence
    assert COINS in bound.sentence
    assert ("Gaussian" in bound.sentence) == (bound.assumption == "gaussian")


@EACH
@pytest.mark.parametrize(
    "outcome",
    [
        Counts(1, 5, 1, 5),
        Scores(np.zeros(3), np.ones(3)),
        Decisions(np.zeros(3, bool), np.ones(3, bool)),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_another_outcome_is_refused_in_one_sentence(estimator, outcome):
    with refuses("wrong-outcome", value=(type(outcome).__name__, "Guesses")):
        estimator().bound(outcome, DELTA)


@EACH
@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_impossible_delta_is_refused(estimator, delta):
    with refuses("out-of-range", "delta"):
        estimator().bound(Guesses(10, 5, 4), delta)


@EACH
@pytest.mark.parametrize("confidence", [95, 1.0, 0.0, math.nan])
def test_impossible_confidence_is_refused(estimator, confidence):
    with refuses("out-of-range", "confidence"):
        estimator(confidence)


@pytest.mark.parametrize("values", [(10, 0, 0), (10, 5, 6), (10, 11, 5), (10, 5, -1), (0, 0, 0)])
def test_impossible_guesses_are_refused(values):
    with pytest.raises(BadInput, match="Guesses"):
        Guesses(*values)
