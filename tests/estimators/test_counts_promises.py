"""What every estimator on counts of decisions promises, held for all of them at once."""

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outcome_strategies import DELTA, KNOWN, confidences, counts, deltas, steady
from refusals import refuses

from dpaudit.errors import BadInput
from dpaudit.estimators import GDP, ClopperPearson, Jeffreys, JointBeta
from dpaudit.estimators.sentences import ASSUMED, confident, credible
from dpaudit.results import Counts, Decisions, Guesses, Scores

EACH = pytest.mark.parametrize("estimator", [ClopperPearson, Jeffreys, JointBeta, GDP])
SLACK = 1e-8
"""Two roots of one equation differ by no more."""


@EACH
@steady
@given(c=counts(), delta=deltas, confidence=confidences)
def test_bound_is_a_number_between_zero_and_its_ceiling(estimator, c, delta, confidence):
    bound = estimator(confidence).bound(c, delta)
    assert 0 <= bound.epsilon <= bound.ceiling + SLACK
    assert bound.ceiling < math.inf
    assert bound.ceiling == estimator(confidence).ceiling(c.out, c.inn, delta)


@EACH
@steady
@given(c=counts(), delta=deltas, confidence=confidences)
def test_interval_holds_the_bound_of_more_confidence_and_has_an_order(
    estimator, c, delta, confidence
):
    """Its lower end is a one-sided bound with half of the error probability."""
    low, high = estimator(confidence).bound(c, delta).interval
    assert 0 <= low <= high
    surer = estimator((1 + confidence) / 2).bound(c, delta).epsilon
    assert low == pytest.approx(surer, abs=1e-7)


@EACH
@pytest.mark.parametrize("delta", [1e-300, DELTA, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("n", [1, 2, 10**9])
def test_extremes_are_numbers(estimator, n, delta):
    for fp in (0, 1, n):
        for fn in (0, 1, n):
            bound = estimator().bound(Counts(fp, n, fn, n), delta)
            assert 0 <= bound.epsilon <= bound.ceiling + SLACK
            assert bound.ceiling < math.inf
            assert not any(map(math.isnan, bound.interval))


@pytest.mark.parametrize("estimator", [ClopperPearson, Jeffreys, JointBeta])
@pytest.mark.parametrize("n", [1, 2, 1000])
def test_delta_may_be_zero(estimator, n):
    for fp in (0, 1, n):
        for fn in (0, 1, n):
            bound = estimator().bound(Counts(fp, n, fn, n), 0.0)
            assert 0 <= bound.epsilon <= bound.ceiling + SLACK
            assert bound.ceiling < math.inf


@EACH
@steady
@given(c=counts(), more_fp=st.integers(0, 50), more_fn=st.integers(0, 50), delta=deltas)
def test_more_errors_never_raise_the_bound(estimator, c, more_fp, more_fn, delta):
    worse = Counts(min(c.out, c.fp + more_fp), c.out, min(c.inn, c.fn + more_fn), c.inn)
    made = estimator()
    assert made.bound(worse, delta).epsilon <= made.bound(c, delta).epsilon + SLACK


@EACH
@steady
@given(c=counts(), one=confidences, other=confidences, delta=deltas)
def test_more_confidence_never_raises_the_bound(estimator, c, one, other, delta):
    low, high = sorted((one, other))
    surer, less_sure = estimator(high).bound(c, delta), estimator(low).bound(c, delta)
    assert surer.epsilon <= less_sure.epsilon + SLACK


@EACH
@steady
@given(c=counts(), one=deltas, other=deltas)
def test_more_slack_never_raises_the_bound(estimator, c, one, other):
    low, high = sorted((one, other))
    assert estimator().bound(c, high).epsilon <= estimator().bound(c, low).epsilon + SLACK


@EACH
@steady
@given(c=counts(), delta=deltas)
def test_worlds_may_change_their_roles(estimator, c, delta):
    mirrored = Counts(c.fn, c.inn, c.fp, c.out)
    here, there = estimator().bound(c, delta).epsilon, estimator().bound(mirrored, delta).epsilon
    # Joint Beta takes one rate at fixed quantiles and not the other; that is least precise
    # after a single trial, when a rate's density has no limit.
    assert here == pytest.approx(there, abs=1e-3 if estimator is JointBeta else SLACK)


@EACH
def test_a_rule_that_is_always_wrong_shows_nothing(estimator):
    """Its sign was fixed beforehand; to turn it round now would be to choose on these trials."""
    assert estimator().bound(Counts(fp=450, out=500, fn=440, inn=500), DELTA).epsilon == 0


@EACH
def test_sentence_says_what_was_shown_how_surely_assuming_what(estimator):
    bound = estimator(0.9).bound(KNOWN, DELTA)
    shown = math.floor(1000 * bound.epsilon) / 1000
    assert f"{shown:.3f} at delta 1e-5" in bound.sentence
    surely = credible if bound.assumption == "prior" else confident
    assert bound.sentence.startswith(surely(0.9))
    told = {"none": ASSUMED["none"], "prior": "Jeffreys' prior", "gaussian": "Gaussian"}
    assert told[bound.assumption] in bound.sentence
    nothing = estimator(0.9).bound(Counts(25, 50, 25, 50), DELTA)
    assert "no leak" in nothing.sentence
    assert "delta 1e-5" in nothing.sentence


@EACH
@pytest.mark.parametrize(
    "outcome",
    [
        Scores(np.zeros(3), np.ones(3)),
        Guesses(canaries=10, guesses=5, correct=4),
        Decisions(np.zeros(3, bool), np.ones(3, bool)),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_another_outcome_is_refused_in_one_sentence(estimator, outcome):
    with refuses("wrong-outcome", value=(type(outcome).__name__, "Counts")):
        estimator().bound(outcome, DELTA)


@EACH
@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.nan, math.inf, "0"])
def test_impossible_delta_is_refused(estimator, delta):
    with refuses("out-of-range", "delta"):
        estimator().bound(KNOWN, delta)
    with refuses("out-of-range", "delta"):
        estimator().ceiling(10, 10, delta)


@EACH
@pytest.mark.parametrize("confidence", [95, 1.0, 0.0, math.nan])
def test_impossible_confidence_is_refused(estimator, confidence):
    with refuses("out-of-range", "confidence"):
        estimator(confidence)


@EACH
def test_a_ceiling_without_trials_is_refused(estimator):
    with pytest.raises(BadInput, match=r"out=0|inn=0"):
        estimator().ceiling(0, 10, DELTA)


@EACH
def test_a_bound_names_its_estimator_and_keeps_its_counts(estimator):
    bound = estimator(0.9).bound(KNOWN, DELTA)
    assert bound.estimator.replace("-", "") == estimator.__name__.lower()
    assert (bound.confidence, bound.delta, bound.counts) == (0.9, DELTA, KNOWN)
    assert bound.selection == "as given"
    assert [f.name for f in fields(estimator)] == ["confidence"]
