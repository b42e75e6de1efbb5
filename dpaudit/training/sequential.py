"""The layers of a nested `nn.Sequential`, and why some cannot be taken record by record."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

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


def refusal(model: nn.Module, shape: tuple[int, ...]) -> str | None:
    """Why the records' gradients cannot be told apart in this network, or None."""
    layers = list(leaves(model))
    for layer in layers:
        if reason := _refused(layer):
            return reason
    if reason := irregular(model):
        return reason
    first = next(model.parameters())
    return _unfit(layers, first.new_zeros((2, *shape)))


def irregular(model: nn.Module) -> str | None:
    """What else than its layers a network must not have, if a backend only looks at those."""
    for module in model.modules():
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
            return f"its {type(module).__name__} has hooks"
    tensors = [p for layer in leaves(model) for p in layer.parameters()]
    if not tensors:
        return "it has no parameters"
    if len({id(p) for p in tensors}) < len(tensors):
        return "its layers share parameters"
    if not all(p.requires_grad for p in tensors):
        return "some of its parameters are frozen"
    if len({(p.dtype, p.device) for p in tensors}) > 1:
        return "its parameters are of several types or devices"
    return None


def _refused(layer: nn.Module) -> str | None:
    name = type(layer).__name__
    if type(layer) not in TAKEN:
        return f"it has {'an' if name[0] in 'AEIOU' else 'a'} {name}"
    if getattr(layer, "return_indices", False):
        return f"its {name} returns indices"
    if isinstance(layer, nn.Conv2d) and layer.padding_mode != "zeros":
        return f"its {name} pads by {layer.padding_mode!r}"
    return None


def _unfit(layers: list[nn.Module], h: Tensor) -> str | None:
    """What is wrong with the way that a batch takes through the layers."""
    with torch.no_grad():
        for layer in layers:
            name, expected = type(layer).__name__, DIMENSIONS.get(type(layer), h.dim())
            if h.dim() != expected:
                return f"its {name} is given {h.dim() - 1}-dimensional records"
            if isinstance(layer, nn.Flatten) and layer.start_dim in (0, -h.dim()):
                return f"its {name} takes in the dimension of the records"
            if not isinstance(layer, nn.Dropout):
                try:
                    h = out_of_place(layer)(h)
                except (RuntimeError, IndexError):
                    return f"its {name} does not take what it is given"
    return None if h.dim() == 2 else f"it gives back {h.dim() - 1}-dimensional records"
