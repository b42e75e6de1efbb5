"""DP-SGD with many canaries in one training: each one more record, by its own coin."""

from dataclasses import replace

import numpy as np
import pytest
from refusals import refuses

import dpaudit
from dpaudit.canaries.gradients import Dirac, RandomDirection
from dpaudit.errors import BadInput
from dpaudit.mechanisms import DPSGD, dpsgd
from dpaudit.seeds import coins, only_trial
from dpaudit.training.gradients import directions
from dpaudit.types import INSERTED

SMALL = {"network": "logreg", "noise_multiplier": 1e-6, "batch": "full", "canaries": 12}


@pytest.fixture(params=[Dirac, RandomDirection])
def played(data, request):
    """Without noise to speak of: the canaries' directions, and what was seen of them."""

    def play(**changes):
        target = DPSGD.facing("white-box", data, **{**SMALL, **changes})
        given = target.craft(data, seed=1)
        pair = request.param(target.recipe, given["initial"], target.canaries).build(data, seed=1)
        pair = replace(pair, given={**given, **pair.given})
        (seen,) = target.run(pair, [only_trial(5)])
        return directions(pair.given, len(given["initial"])), seen

    return play


def test_each_canary_has_the_clip_norm_and_is_in_by_its_own_coin(played):
    g, seen = played(steps=4)
    assert np.allclose(np.linalg.norm(g, axis=1), 1)
    assert seen["updates"].shape == (12, 4)
    assert np.array_equal(seen[INSERTED], coins(only_trial(5).seed, 12))
    other = played(steps=4, clip=0.5)[1]["updates"]
    assert other.shape == (12, 4)


def test_a_training_with_the_coins_turned_differs_by_the_canaries_alone(played, monkeypatch):
    """In the first step, before the parameters go other ways: in units of the clip norm."""
    g, seen = played(steps=1)
    monkeypatch.setattr("dpaudit.mechanisms.views.coins", lambda seed, m: ~coins(seed, m))
    _, turned = played(steps=1)
    sign = np.where(seen[INSERTED], 1.0, -1.0)
    assert np.allclose((seen["updates"] - turned["updates"])[:, 0], g @ (sign @ g), atol=1e-4)


def test_a_trial_is_a_pure_function_of_its_seed(played):
    (_, one), (_, other) = played(steps=2), played(steps=2)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_mechanism_tells_its_canaries_where_there_are_many(data):
    given = {"noise_multiplier": 1.0, "network": "logreg"}
    assert "canaries" not in repr(DPSGD.facing("white-box", data, **given))
    many = DPSGD.facing("white-box", data, canaries=12, **given)
    assert repr(many).endswith("canaries=12)")
    pair = Dirac(many.recipe, canaries=12, **many.craft(data, seed=0)).build(data, seed=0)
    assert "fair coin" in many.about(pair).adversary
    assert many.claim == DPSGD.facing("white-box", data, **given).claim


def test_worlds_that_differ_in_many_canaries_are_no_neighbours(data):
    target = DPSGD.facing("white-box", data, **{**SMALL, "canaries": 1})
    given = target.craft(data, seed=1)
    pair = Dirac(target.recipe, given["initial"], 3).build(data, seed=1)
    with refuses("several-canaries", "canaries", 3):
        target.run(replace(pair, given={**given, **pair.given}), [only_trial(0)])


def test_play_is_of_many_models(data):
    many = DPSGD.facing("white-box", data, **SMALL)
    with pytest.raises(BadInput, match="prepare"):
        dpaudit.play(many, Dirac(many.recipe, np.zeros(15, np.float32), 12).build(data, seed=1))


def test_more_canaries_than_parameters_or_memory_are_refused(data, monkeypatch):
    with refuses("too-large", "canaries", 16):
        DPSGD.facing("white-box", data, **{**SMALL, "canaries": 16})
    monkeypatch.setattr(dpsgd, "LARGEST", 100)
    with refuses("too-costly", "canaries", 12) as caught:
        DPSGD.facing("white-box", data, **SMALL)
    assert "at most 6" in str(caught.value)
