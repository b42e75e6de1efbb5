"""The layers of a nested `nn.Sequential`, and the reasons why a backend rejects some."""

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
TAKEN = frozenset((*ELEMENTWISE, *POOLING, nn.Conv2d, nn.Linear, nn.Flatten, nn.Dropout))
"""The exact types: a subclass may do anything in its forward pass."""

DIMENSIONS = {nn.Linear: 2, nn.Conv2d: 4, **dict.fromkeys(POOLING, 4)}
"""Dimensions of a batch, where a layer would take a smaller input for a single record."""


class UnfitNetwork(BadInput):
    """The reason why a backend rejects a network, as a clause: 'it has a BatchNorm2d'."""

    code = "unfit-network"


def unfit_layer(clause: str, layer: nn.Module, trait: str = "type") -> UnfitNetwork:
    """The error for a layer that is rejected because of its type or another trait."""
    value = (type(layer).__name__, trait)
    return UnfitNetwork(clause, "unfit-layer", option="network", value=value)


def unfit_parameters(clause: str, trait: str) -> UnfitNetwork:
    """The error for parameters that cannot be trained as a whole."""
    return UnfitNetwork(clause, "unfit-parameters", option="network", value=trait)


def unfit_shape(clause: str, value: object) -> UnfitNetwork:
    """The error for records or sizes that do not fit the network."""
    return UnfitNetwork(clause, "shape-mismatch", option="network", value=value)


def leaves(model: nn.Module) -> Iterator[nn.Module]:
    """The layers in the order in which they are called."""
    if type(model) is not nn.Sequential:
        yield model
        return
    for layer in model:
        yield from leaves(layer)


def out_of_place(layer: nn.Module) -> nn.Module:
    """The layer, with the same parameters, as one that does not change its input."""
    if not getattr(layer, "inplace", False):
        return layer
    layer = copy.copy(layer)
    vars(layer)["inplace"] = False
    return layer


def refusal(model: nn.Module, shape: tuple[int, ...]) -> UnfitNetwork | None:
    """The reason why the network's gradients cannot be separated by record, or None."""
    layers = list(leaves(model))
    for layer in layers:
        if reason := _unfit_type(layer):
            return reason
    if reason := irregular(model):
        return reason
    first = next(model.parameters())
    return _unfit_input(layers, first.new_zeros((2, *shape)))


def irregular(model: nn.Module) -> UnfitNetwork | None:
    """The reason to reject a network if a backend looks only at its layers, or None."""
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


def _unfit_type(layer: nn.Module) -> UnfitNetwork | None:
    name = type(layer).__name__
    if type(layer) not in TAKEN:
        return unfit_layer(f"it has {'an' if name[0] in 'AEIOU' else 'a'} {name}", layer)
    if getattr(layer, "return_indices", False):
        return unfit_layer(f"its {name} returns indices", layer, "indices")
    if isinstance(layer, nn.Conv2d) and layer.padding_mode != "zeros":
        return unfit_layer(f"its {name} pads by {layer.padding_mode!r}", layer, "padding")
    return None


def _unfit_input(layers: list[nn.Module], h: Tensor) -> UnfitNetwork | None:
    """The first layer that cannot take what the layers before it make of a batch, or None."""
    with torch.no_grad():
        for layer in layers:
            name = type(layer).__name__
            if h.dim() != DIMENSIONS.get(type(layer), h.dim()):
                clause = f"its {name} is given {h.dim() - 1}-dimensional records"
                return unfit_layer(clause, layer, "dimensions")
            if isinstance(layer, nn.Flatten) and layer.start_dim in (0, -h.dim()):
                return unfit_layer(f"its {name} mixes the records of a batch", layer, "records")
            if not isinstance(layer, nn.Dropout):
                try:
                    h = out_of_place(layer)(h)
                except (RuntimeError, IndexError):
                    return unfit_layer(f"its {name} does not fit its input", layer, "shape")
    if h.dim() == 2:
        return None
    return unfit_shape(f"its output for a record has {h.dim() - 1} dimensions", h.dim() - 1)
