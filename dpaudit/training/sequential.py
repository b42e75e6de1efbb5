"""The layers of a nested `nn.Sequential`, and why some cannot be taken record by record."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from dpaudit.errors import BadInput

ELEMENTWISE = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish),
    *(nn.Tanh, nn.Sigmoid, nn.LogSigmoid, nn.Softplus, nn.Softsign, nn.Identity),
    *(nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish),
)
POOLING = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d)
PARAMETRIC = (nn.Conv2d, nn.Linear)
TAKEN = frozenset((*ELEMENTWISE, *POOLING, *PARAMETRIC, nn.Flatten, nn.Dropout))
"""The very types: a subclass may do anything in its forward pass."""

DIMENSIONS = {nn.Linear: 2, nn.Conv2d: 4, **dict.fromkeys(POOLING, 4)}
"""Of a batch, where a layer would take a smaller input for a single record."""


class Refused(BadInput):
    """Why a backend cannot take a network, as a clause: 'it has a BatchNorm2d'."""

    code = "unfit-network"


def unfit_layer(clause: str, layer: nn.Module, trait: str = "type") -> Refused:
    """A layer that cannot be taken because of its type, or of another trait."""
    told = (type(layer).__name__, trait)
    return Refused(clause, "unfit-layer", option="network", value=told)


def unfit_parameters(clause: str, trait: str) -> Refused:
    """Parameters that cannot be trained as a whole."""
    return Refused(clause, "unfit-parameters", option="network", value=trait)


def leaves(model: nn.Module) -> Iterator[nn.Module]:
    """The layers in the order in which they are called."""
    if type(model) is not nn.Sequential:
        yield model
        return
    for layer in model:
        yield from leaves(layer)


def out_of_place(layer: nn.Module) -> nn.Module:
    """The layer, of the same parameters, leaving its input as it is."""
    if not getattr(layer, "inplace", False):
        return layer
    layer = copy.copy(layer)
    vars(layer)["inplace"] = False
    return layer


def refusal(model: nn.Module, shape: tuple[int, ...]) -> Refused | None:
    """Why the records' gradients cannot be told apart in this network, or None."""
    layers = list(leaves(model))
    for layer in layers:
        if reason := _refused(layer):
            return reason
    if reason := irregular(model):
        return reason
    first = next(model.parameters())
    return _unfit(layers, first.new_zeros((2, *shape)))


def irregular(model: nn.Module) -> Refused | None:
    """What else than its layers a network must not have, if a backend only looks at those."""
    for module in model.modules():
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
            return unfit_layer(f"its {type(module).__name__} has hooks", module, "hooks")
    tensors = [p for layer in leaves(model) for p in layer.parameters()]
    if not tensors:
        return unfit_parameters("it has no parameters", "none")
    if len({id(p) for p in tensors}) < len(tensors):
        return unfit_parameters("its layers share parameters", "shared")
    if not all(p.requires_grad for p in tensors):
        return unfit_parameters("some of its parameters are frozen", "frozen")
    if len({(p.dtype, p.device) for p in tensors}) > 1:
        return unfit_parameters("its parameters are of several types or devices", "mixed")
    return None


def _refused(layer: nn.Module) -> Refused | None:
    name = type(layer).__name__
    if type(layer) not in TAKEN:
        return unfit_layer(f"it has {'an' if name[0] in 'AEIOU' else 'a'} {name}", layer)
    if getattr(layer, "return_indices", False):
        return unfit_layer(f"its {name} returns indices", layer, "indices")
    if isinstance(layer, nn.Conv2d) and layer.padding_mode != "zeros":
        return unfit_layer(f"its {name} pads by {layer.padding_mode!r}", layer, "padding")
    return None


def _unfit(layers: list[nn.Module], h: Tensor) -> Refused | None:
    """What is wrong with the way that a batch takes through the layers."""
    with torch.no_grad():
        for layer in layers:
            name, expected = type(layer).__name__, DIMENSIONS.get(type(layer), h.dim())
            if h.dim() != expected:
                told = f"its {name} is given {h.dim() - 1}-dimensional records"
                return unfit_layer(told, layer, "dimensions")
            if isinstance(layer, nn.Flatten) and layer.start_dim in (0, -h.dim()):
                told = f"its {name} takes in the dimension of the records"
                return unfit_layer(told, layer, "records")
            if not isinstance(layer, nn.Dropout):
                try:
                    h = out_of_place(layer)(h)
                except (RuntimeError, IndexError):
                    told = f"its {name} does not take what it is given"
                    return unfit_layer(told, layer, "shape")
    if h.dim() == 2:
        return None
    told = f"it gives back {h.dim() - 1}-dimensional records"
    return Refused(told, "shape-mismatch", option="network", value=h.dim() - 1)
