"""The layers of a nested `nn.Sequential`, and why some cannot be taken record by record."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from dpaudit.errors import BadInput
from dpaudit.registry import unknown

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


# ----------------------------------------------------------------
# The networks that a recipe can name, each an `nn.Sequential` that every backend reads.


if TYPE_CHECKING:
    from torch import nn

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """A convolution, ReLU, dropout and 2 x 2 pooling."""

    width: int
    kernel: int
    stride: int
    padding: int
    pool_stride: int

    def shrunk(self, side: int) -> int:
        """What is left of an image's side."""
        convolved = (side + 2 * self.padding - self.kernel) // self.stride + 1
        return (convolved - 2) // self.pool_stride + 1


def build(name: str, shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """A network by name for records of a shape, with torch's default initialisation."""
    check(name, shape)
    return NETWORKS[name](shape, classes, dropout)


def parameters(name: str, shape: Shape, classes: int) -> int:
    """How many parameters the network has."""
    import torch

    with torch.device("meta"):  # nothing is drawn, and torch's generator stays where it is
        return sum(p.numel() for p in build(name, shape, classes, 0.0).parameters())


def check(name: str, shape: Shape) -> None:
    """Refuse a name that is none, and records that the network cannot take; without torch."""
    if name not in NETWORKS:
        raise BadInput(
            unknown("networks", name, list(NETWORKS)), "unknown-name", option="network", value=name
        )
    if name not in CONVOLUTIONAL:
        return
    if len(shape) != 3:
        raise BadInput(
            f"records of the shape {shape} are no images (channels, height, width), which {name} "
            "takes; try --network mlp",
            "shape-mismatch",
            option="network",
            value=shape,
        )
    if min(_left(shape, CONVOLUTIONAL[name](shape)[0])) < 1:
        size = " x ".join(map(str, shape))
        raise BadInput(
            f"records of {size} are too small for {name}; try --network mlp",
            "too-small",
            option="network",
            value=shape,
        )


def cnn_small(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """Two small convolutions and two dense layers; wider strides above 16 x 16 pixels."""
    return _convolutional(shape, classes, dropout, *_small(shape))


def cnn_paper(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """The paper's CNN: two 5 x 5 convolutions of 64 and a dense layer of 512.

    932,170 parameters on CIFAR-10. Dropout stands before the pooling, as in its table.

    Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """
    return _convolutional(shape, classes, dropout, *_paper(shape))


def mlp(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """One hidden layer of 128 with dropout."""
    from torch import nn

    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(prod(shape), 128),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(128, classes),
    )


def logreg(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """Logistic regression; dropout, if any, on the pixels."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(prod(shape), classes))


NETWORKS: dict[str, Callable[[Shape, int, float], nn.Sequential]] = {
    "cnn-small": cnn_small,
    "cnn-paper": cnn_paper,
    "mlp": mlp,
    "logreg": logreg,
}


def _small(shape: Shape) -> tuple[list[Block], int]:
    if min(shape[1:]) <= 16:
        return [Block(16, 3, 1, 1, 2), Block(32, 3, 1, 1, 2)], 64
    return [Block(16, 8, 2, 3, 1), Block(32, 4, 2, 0, 1)], 32


def _paper(shape: Shape) -> tuple[list[Block], int]:
    return [Block(64, 5, 1, 0, 2), Block(64, 5, 1, 0, 2)], 512


CONVOLUTIONAL: dict[str, Callable[[Shape], tuple[list[Block], int]]] = {
    "cnn-small": _small,
    "cnn-paper": _paper,
}
"""The blocks of a network for records of a shape, and the width of its dense layer."""


def _convolutional(
    shape: Shape, classes: int, dropout: float, blocks: list[Block], hidden: int
) -> nn.Sequential:
    """The blocks, then two dense layers."""
    from torch import nn

    channels = shape[0]
    layers: list[nn.Module] = []
    for block in blocks:
        layers += [
            nn.Conv2d(channels, block.width, block.kernel, block.stride, block.padding),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.MaxPool2d(2, block.pool_stride),
        ]
        channels = block.width
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        nn.Linear(channels * prod(_left(shape, blocks)), hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, classes),
    )


def _left(shape: Shape, blocks: list[Block]) -> Shape:
    """Height and width after all blocks."""
    sides = shape[1:]
    for block in blocks:
        sides = tuple(map(block.shrunk, sides))
    return sides
