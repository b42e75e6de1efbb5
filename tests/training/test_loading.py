"""Parameters in a network: every mismatch is told, and what no accountant covers."""

from pathlib import Path

import pytest
import torch
from torch import nn

from dpaudit.errors import BadInput
from dpaudit.training import networks
from dpaudit.training.loading import cautions, load

SHAPE = (1, 8, 8)
PATH = Path("model.pt")


def mlp():
    return networks.build("mlp", SHAPE, 10, 0.5)


def refused(network, state, name="mlp"):
    with pytest.raises(BadInput) as error:
        load(network, name, state, PATH, SHAPE, 10)
    return str(error.value)


def test_a_state_that_fits_is_loaded_in_eval_mode():
    saved = mlp()
    found = load(mlp(), "mlp", saved.state_dict(), PATH, SHAPE, 10)
    assert all((a == b).all() for a, b in zip(found.parameters(), saved.parameters(), strict=True))
    assert not found.training


def test_every_mismatch_is_listed():
    state = mlp().state_dict()
    state["1.weight"] = torch.zeros(64, 64)
    state["9.bias"] = torch.zeros(())
    del state["4.bias"]
    said = refused(mlp(), state)
    assert "its 1.weight is 64 x 64, not 128 x 64" in said
    assert "it has no 4.bias 10" in said
    assert "its 9.bias one number is not in the network" in said


@pytest.mark.parametrize("name", ["cnn-small", "mlp", "logreg"])
def test_the_nearest_network_is_named(name):
    state = networks.build(name, SHAPE, 10, 0.5).state_dict()
    said = refused(nn.Linear(2, 2), state, "mine:net")
    assert f"of dpaudit's networks {name} is nearest, {len(state)} of its {len(state)}" in said


def test_nothing_near_is_not_named():
    assert "nearest" not in refused(mlp(), {"a": torch.zeros(3)})


def test_wrong_class_counts_are_told():
    state = networks.build("mlp", SHAPE, 7, 0.5).state_dict()
    assert "its 4.weight is 7 x 128, not 10 x 128" in refused(mlp(), state)


def test_a_huge_shape_without_memory_is_a_mismatch():
    state = {**mlp().state_dict(), "1.weight": torch.zeros(1).expand(10**6, 10**6)}
    assert "its 1.weight is 1000000 x 1000000" in refused(mlp(), state)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_parameters_that_are_no_numbers_are_refused(value):
    state = mlp().state_dict()
    state["1.bias"][3] = value
    assert "1 of its 4 tensors have values that are NaN or infinite (1.bias)" in refused(
        mlp(), state
    )


def test_what_is_no_module_is_refused():
    assert "gave back a int, not a torch module" in refused(3, {}, "mine:net")


def test_layers_that_break_the_accounting_are_told_with_the_reason():
    assert cautions(mlp()) == []
    (said,) = cautions(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    assert "batch normalisation (1), which mixes the records of a batch" in said
    (said,) = cautions(nn.Sequential(nn.InstanceNorm2d(2, track_running_stats=True)))
    assert "running statistics" in said
    assert cautions(nn.Sequential(nn.InstanceNorm2d(2), nn.GroupNorm(1, 2))) == []
