"""Weights are those of the formula, also where it would overflow, and keep their promise."""

import math

import numpy as np
import pytest
from refusals import refuses

from dpaudit.papers.ensemble import Weighting
from dpaudit.papers.ensemble.logistic_regression import loss
from dpaudit.papers.ensemble.unit_rows import Rows

EMPTY = Rows(np.zeros((0, 4)), np.zeros(0))


@pytest.fixture
def learners():
    return 2 * np.random.default_rng(5).standard_normal((6, 4))


def naive(learners, own, beta, steps, sign):
    """The average of exp(-losses/beta) over the numbers of points in `steps`, one by one."""
    total = np.zeros(len(learners))
    for t in steps:
        weights = []
        for w in learners:
            energy = 0.0
            for x, y in zip(own.x[:t], own.y[:t], strict=True):
                f = math.copysign(1, w @ x) if sign else w @ x
                energy += math.log(1 + math.exp(-y * f))
            weights.append(math.exp(-energy / beta))
        total += np.array(weights) / sum(weights)
    return total / len(steps)


@pytest.mark.parametrize("reading", ["linear", "sign"])
@pytest.mark.parametrize("beta", [0.1, 3.0])
@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({"start": 0}, range(7)),
        ({"start": 1}, range(1, 8)),
        ({"average": "single"}, [7]),
    ],
)
def test_weights_are_the_formula_s(made, learners, reading, beta, given, steps):
    own = made(7, 4)
    found = Weighting(beta=beta, reading=reading, **given).weights(learners, own)
    expected = naive(learners, own, beta, steps, reading == "sign")
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("average", ["mirror", "single"])
@pytest.mark.parametrize("start", [0, 1])
def test_without_records_all_learners_weigh_the_same(learners, average, start):
    weights = Weighting(average=average, start=start).weights(learners, EMPTY)
    np.testing.assert_allclose(weights, np.full(6, 1 / 6))


def test_learners_of_any_size_have_weights(made):
    huge = 1e6 * np.random.default_rng(1).standard_normal((5, 4))
    weights = Weighting(beta=1e-3).weights(huge, made(50, 4))
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)


def test_many_sets_of_learners_are_weighed_each_alone(made, learners):
    own = made(20, 4)
    sets = np.stack([learners, learners[::-1], -learners])
    together = Weighting().weights(sets, own)
    for each, weights in zip(sets, together, strict=True):
        np.testing.assert_array_equal(Weighting().weights(each, own), weights)


def test_an_aggregate_of_linear_learners_is_a_linear_classifier(made, learners):
    own, asked = made(20, 4), made(30, 4, seed=1).x
    aggregate = Weighting().aggregate(learners, own)
    np.testing.assert_allclose(aggregate.scores(asked), asked @ aggregate.parameters)


def test_an_aggregate_of_signs_is_a_vote(made, learners):
    own, asked = made(20, 4), made(30, 4, seed=1).x
    aggregate = Weighting(reading="sign").aggregate(learners, own)
    votes = [
        sum(m * math.copysign(1, w @ x) for m, w in zip(aggregate.weights, learners, strict=True))
        for x in asked
    ]
    np.testing.assert_allclose(aggregate.scores(asked), votes)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_lost_on_the_way_is_at_most_beta_ln_m_more_than_by_the_best(made, seed):
    """The oracle inequality's core, which holds for any data: the logistic loss of margins within
    [-1, 1] is 1/e-exp-concave, and each step's weights are those before its point.
    """
    draw, n, beta = np.random.default_rng(seed), 60, math.e
    learners = draw.standard_normal((15, 4))
    own = Rows(made(n, 4, seed).x, draw.choice([-1, 1], n))
    step = Weighting(beta=beta, reading="sign", average="single")
    lost = 0.0
    for t in range(n):
        weights = step.weights(learners, Rows(own.x[:t], own.y[:t]))
        lost += loss(own.y[t] * (weights @ np.sign(learners @ own.x[t])))
    best = loss(own.y * np.sign(learners @ own.x.T)).sum(axis=1).min()
    assert lost <= best + beta * math.log(15)


@pytest.mark.parametrize(
    ("code", "option", "value"),
    [
        ("not-positive", "beta", 0.0),
        ("too-large", "start", 2),
        ("unknown-choice", "reading", "signs"),
        ("unknown-choice", "average", "none"),
    ],
)
def test_what_cannot_be_is_refused(code, option, value):
    with refuses(code, option, value):
        Weighting(**{option: value})
