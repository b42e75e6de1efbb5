"""Crafted parameters: learned until nothing is left to learn."""

import numpy as np
import torch
from refusals import refuses
from settings import change
from tiny import LOGREG, records

from dpaudit.training import gradients
from dpaudit.training.gradients import flat, network, pretrain
from dpaudit.training.predict import logits
from dpaudit.types import Records


def separable(n):
    """Two classes, told apart by one pixel."""
    made = records(n, classes=2)
    x = made.x.copy()
    x[:, 0, 0, 0] = made.y
    return Records(x, made.y)


RECIPE = change(LOGREG, classes=2, noise_multiplier=3.0, lr=7.0, epochs=5)


def test_ordinary_gradients_nearly_vanish_whatever_the_recipe_says():
    theta = pretrain(RECIPE, separable(60), seed=0)
    said = logits(network(RECIPE, theta), separable(40).x).argmax(axis=1)
    assert (said == separable(40).y).mean() > 0.95
    norms = [np.linalg.norm(g) for g in gradients.record_gradients(RECIPE, theta, separable(60))]
    untrained = [
        np.linalg.norm(g) for g in gradients.record_gradients(RECIPE, 0 * theta, separable(60))
    ]
    assert np.mean(norms) < 0.1 * np.mean(untrained)


def test_the_seed_decides_and_training_is_left_as_it_was():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    one, again, other = (pretrain(RECIPE, separable(30), seed) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_parameters_go_into_a_network_and_come_out_again():
    theta = np.arange(len(pretrain(RECIPE, separable(30), 0)), dtype=np.float32)
    assert np.array_equal(flat(network(RECIPE, theta)), theta)


def test_a_gradient_is_that_of_the_loss():
    """Of logistic regression at 0: (1/2 - one hot) times the pixels."""
    some = separable(3)
    theta = np.zeros(4 * 2 + 2, np.float32)
    for g, x, y in zip(
        gradients.record_gradients(RECIPE, theta, some), some.x, some.y, strict=True
    ):
        slope = 0.5 - np.eye(2)[y]
        expected = np.concatenate([np.outer(slope, x.ravel()).ravel(), slope])
        np.testing.assert_allclose(g, expected, atol=1e-6)
        aim = gradients.direction(RECIPE, theta, x, int(y))
        np.testing.assert_allclose(aim, expected / np.linalg.norm(expected), atol=1e-6)


def test_records_beyond_what_a_network_can_take_are_refused():
    records = separable(30)
    huge = Records(records.x * np.float32(3e38), records.y)
    with refuses("not-finite", "adversary"):
        pretrain(RECIPE, huge, seed=0)
