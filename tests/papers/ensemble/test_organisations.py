"""Organisations publish once, see no data of others, and weigh by their own."""

import numpy as np
from refusals import refuses

from dpaudit.papers.ensemble import Weighting
from dpaudit.papers.ensemble.logistic_regression import ObjectivePerturbation, minimise
from reproductions.ensembles.exchange import Exchange, Organisation


def test_an_organisation_aggregates_the_learners_of_all_others_by_its_own_data(made):
    exchange = Exchange.of(made(60, 3), 4)
    learner, weighting = ObjectivePerturbation(2.0, 0.1), Weighting()
    w = exchange.published(learner, np.random.default_rng(0))
    assert w.shape == (4, 3)
    for m, aggregate in enumerate(exchange.aggregates(w, weighting)):
        received = w[[i for i in range(4) if i != m]]
        own = exchange.organisations[m].rows
        np.testing.assert_array_equal(aggregate.learners, received)
        np.testing.assert_array_equal(aggregate.weights, weighting.weights(received, own))


def test_alone_and_together_they_learn_without_noise(made):
    rows = made(60, 3)
    exchange = Exchange.of(rows, 4)
    np.testing.assert_array_equal(exchange.pooled.x, rows.x)
    local = exchange.organisations[1].local(0.1)
    np.testing.assert_array_equal(local, minimise(rows.dealt(4)[1], 0.1))


def test_an_aggregate_tells_its_receiver_s_data_apart_without_any_noise(made):
    learners = np.random.default_rng(0).standard_normal((5, 3))
    own = [Organisation(0, made(20, 3, seed)) for seed in (0, 1)]
    first, again, other = (o.aggregate(learners, Weighting()) for o in (own[0], own[0], own[1]))
    np.testing.assert_array_equal(first.parameters, again.parameters)
    assert not np.allclose(first.parameters, other.parameters)


def test_nobody_exchanges_with_themselves(made):
    with refuses("too-small", "organisations", 1):
        Exchange.of(made(10, 2), 1)
