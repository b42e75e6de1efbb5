"""Losses, probabilities and logits of one model say the same."""

import numpy as np
import pytest
from refusals import refuses
from scipy.special import logit, softmax

from dpaudit.checkpoint.predictions import (
    label_odds,
    of_logits,
    of_losses,
    of_probabilities,
    with_passes,
)

DRAW = np.random.default_rng(0)
Z = DRAW.normal(size=(50, 4)) * 3
Y = DRAW.integers(0, 4, 50)
P = softmax(Z, axis=1)


def test_whatever_a_model_tells_is_the_same():
    own = P[np.arange(50), Y]
    for told in (of_logits(Z, Y), of_probabilities(P, Y), of_losses(-np.log(own))):
        assert told.log_p == pytest.approx(np.log(own))
        assert told.log_odds == pytest.approx(np.log(own / (1 - own)))


def test_odds_tell_apart_what_a_probability_rounds_to_one():
    sure = of_logits(np.array([[50.0, 0.0], [60.0, 0.0]]), np.array([0, 0]))
    assert sure.log_odds.tolist() == [50.0, 60.0]


def test_certainty_is_a_number():
    told = of_probabilities(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
    assert np.isfinite(told.log_odds).all()
    assert np.isfinite(of_losses(np.array([0.0, 1e4])).log_odds).all()


@pytest.mark.parametrize("p", [[[0.5, 0.6]], [[-0.1, 1.1]]])
def test_what_are_no_probabilities_is_refused(p):
    with refuses("not-probabilities"):
        of_probabilities(np.array(p), np.array([0]))


def test_a_negative_loss_is_refused():
    with refuses("negative-loss", value=-1.0):
        of_losses(np.array([-1.0, 2.0]))


def test_passes_with_dropout_are_summarised():
    p = np.array([[0.2, 0.4], [0.5, 0.5]])
    found = with_passes(of_logits(Z[:2], Y[:2]), logit(p))
    assert found.statistics["mean"] == pytest.approx([0.3, 0.5])
    assert found.statistics["inv_std"] == pytest.approx([10.0, np.inf])
    assert found.statistics["min"] == pytest.approx([0.2, 0.5])
    assert found.statistics["max"] == pytest.approx([0.4, 0.5])
    assert np.exp(found.passes.log_p) == pytest.approx([0.3, 0.5])
    assert found.passes.log_odds == pytest.approx(logit(p).mean(axis=1))
    assert (found.log_odds == of_logits(Z[:2], Y[:2]).log_odds).all()


def test_odds_of_many_passes_are_those_of_each():
    draw = np.random.default_rng(0)
    z, y = draw.normal(size=(5, 4, 3)), np.array([0, 2, 1, 1])
    for passed, found in zip(z, label_odds(z, y), strict=True):
        p = softmax(passed, axis=1)[np.arange(4), y]
        assert found == pytest.approx(logit(p))
