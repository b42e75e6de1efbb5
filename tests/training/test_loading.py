"""Parameters in a network: every mismatch is told, and what no accountant covers."""

import re
from pathlib import Path

import pytest
import torch
from refusals import refuses
from torch import nn

from dpaudit.errors import BadInput
from dpaudit.training import networks
from dpaudit.training.state import load

SHAPE = (1, 8, 8)
PATH = Path("model.pt")


def mlp():
    return networks.build("mlp", SHAPE, 10, 0.5)


def refusal_of(network, state, name="mlp", code="shape-mismatch"):
    """What is said of parameters that are refused with this code."""
    with refuses(code) as error:
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
    said = refusal_of(mlp(), state)
    assert re.search(r"1\.weight .*64 x 64.* 128 x 64;.* 4\.bias 10;.* 9\.bias ", said)


@pytest.mark.parametrize("name", ["cnn-small", "mlp", "logreg"])
def test_the_nearest_network_is_named(name):
    state = networks.build(name, SHAPE, 10, 0.5).state_dict()
    said = refusal_of(nn.Linear(2, 2), state, "mine:net")
    assert f"{name} is nearest, {len(state)} of its {len(state)}" in said


def test_nothing_near_is_not_named():
    assert "nearest" not in refusal_of(mlp(), {"a": torch.zeros(3)})


def test_wrong_class_counts_are_told():
    state = networks.build("mlp", SHAPE, 7, 0.5).state_dict()
    assert re.search(r"4\.weight .*7 x 128.* 10 x 128", refusal_of(mlp(), state))


def test_a_huge_shape_without_memory_is_a_mismatch():
    state = {**mlp().state_dict(), "1.weight": torch.zeros(1).expand(10**6, 10**6)}
    assert re.search(r"1\.weight .*1000000 x 1000000", refusal_of(mlp(), state))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_parameters_that_are_no_numbers_are_refused(value):
    state = mlp().state_dict()
    state["1.bias"][3] = value
    said = refusal_of(mlp(), state, code="not-finite")
    assert "1 of its 4 " in said
    assert "(1.bias)" in said


def test_what_is_no_module_is_refused():
    assert "mine:net" in refusal_of(3, {}, "mine:net", "wrong-type")


def test_a_network_whose_attribute_is_called_module_is_loaded():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.module = mlp()

    saved = Own()
    for prefix in ("", "_module.", "module."):
        state = {f"{prefix}{name}": tensor for name, tensor in saved.state_dict().items()}
        found = load(Own(), "mine:net", state, PATH, SHAPE, 10)
        assert (found.module[1].weight == saved.module[1].weight).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.to_sparse(), "sparse numbers"),
        (lambda t: t.to("meta"), "no numbers"),
        (lambda t: t.to(torch.complex64), "complex numbers"),
        (lambda t: t > 0, "truth values"),
        (lambda t: t.long(), "whole numbers"),
    ],
)
def test_other_numbers_than_the_network_has_are_a_mismatch(change, said):
    state = mlp().state_dict()
    state["1.weight"] = change(state["1.weight"])
    assert re.search(rf"1\.weight .*{said}", refusal_of(mlp(), state))


def test_floats_of_another_precision_are_taken():
    state = {name: tensor.half() for name, tensor in mlp().state_dict().items()}
    assert load(mlp(), "mlp", state, PATH, SHAPE, 10)[1].weight.dtype == torch.float32


def test_a_network_without_shapes_is_refused():
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(10))
    assert "1.weight, 1.bias" in refusal_of(lazy, mlp().state_dict(), "mine:net", "lazy-parameters")


def test_a_network_that_takes_no_state_is_blamed():
    class Own(nn.Linear):
        def _load_from_state_dict(self, *_):
            raise KeyError("scale")

    with pytest.raises(BadInput, match=r"mine:net .* model\.pt: KeyError"):
        load(Own(2, 2), "mine:net", nn.Linear(2, 2).state_dict(), PATH, SHAPE, 10)
