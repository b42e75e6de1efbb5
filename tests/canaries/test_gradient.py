"""Canaries that are gradients, or aim at the initial parameters."""

import numpy as np
import pytest

from dpaudit.canaries import Blank, Dirac, RandomDirection
from dpaudit.training import gradients
from dpaudit.training.gradients import pretrain


@pytest.fixture(scope="module")
def initial(recipe, data):
    return pretrain(recipe, data.shadow, seed=0)


@pytest.mark.parametrize("kind", [Dirac, RandomDirection])
def test_both_worlds_have_the_whole_pool_and_no_record_is_planted(kind, recipe, data, initial):
    pair = kind(recipe, initial).build(data, seed=0)
    assert pair.out is pair.inn is data.pool
    assert not pair.canary.record
    assert pair.canary.name in ("dirac", "random-direction")


@pytest.mark.parametrize("kind", [Dirac, RandomDirection])
@pytest.mark.parametrize("count", [1, 5])
def test_directions_are_unit_vectors_of_the_seed(kind, recipe, data, initial, count):
    def made(seed):
        pair = kind(recipe, initial, count).build(data, seed)
        return gradients.directions(pair.given, len(initial))

    g = made(0)
    assert g.shape == (count, len(initial))
    np.testing.assert_allclose(np.linalg.norm(g, axis=1), 1, rtol=1e-5)
    assert np.array_equal(g, made(0))
    assert np.abs(g @ g.T - np.eye(count)).max() < 0.9


def test_dirac_takes_the_parameters_that_records_move_least(recipe, data, initial):
    """Of logistic regression on all records, each of which is looked at."""
    pair = Dirac(recipe, initial, canaries=4).build(data, seed=0)
    sizes = np.array([np.abs(g) for g in gradients.record_gradients(recipe, initial, data.pool)])
    norms = np.array([np.linalg.norm(g) for g in sizes])
    moved = (sizes * np.minimum(1, recipe.clip / norms)[:, None]).sum(axis=0)
    assert sorted(pair.given["coordinates"]) == sorted(np.argsort(moved)[:4])


def test_a_blank_canary_has_the_label_that_the_initial_parameters_find_least_likely(
    recipe, data, initial
):
    from dpaudit.training.gradients import network
    from dpaudit.training.predict import logits

    canary = Blank(recipe, initial).build(data, seed=0).canary
    assert canary.y == logits(network(recipe, initial), canary.x[None])[0].argmin()
    assert "least likely" in canary.made


def test_no_gradient_canary_is_in_a_pair_of_records(recipe, data):
    assert gradients.directions(Blank().build(data, 0).given, 3) is None
