"""The networks that a recipe can name, each an `nn.Sequential`; imports torch only to build one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from dpaudit.errors import BadInput
from dpaudit.registry import unknown

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
        """The side of the image that comes out."""
        convolved = (side + 2 * self.padding - self.kernel) // self.stride + 1
        return (convolved - 2) // self.pool_stride + 1


def build(name: str, shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """A network by name for records of a shape, with torch's default initialisation."""
    check(name, shape)
    return NETWORKS[name](shape, classes, dropout)


def parameters(name: str, shape: Shape, classes: int) -> int:
    """The number of parameters of a network."""
    import torch

    with torch.device("meta"):  # nothing is drawn, and torch's generator stays where it is
        return sum(p.numel() for p in build(name, shape, classes, 0.0).parameters())


def check(name: str, shape: Shape) -> None:
    """Reject unknown names, and records that the network cannot take; imports no torch."""
    if name not in NETWORKS:
        message = unknown("networks", name, list(NETWORKS))
        raise BadInput(message, "unknown-name", option="network", value=name)
    blocks, size = CONVOLUTIONAL.get(name), " x ".join(map(str, shape))
    if blocks and len(shape) != 3:
        message = f"{name} takes images (channels, height, width), not records of {size}"
        raise _unfit(message, "shape-mismatch", shape)
    if blocks and min(_left(shape, blocks(shape)[0])) < 1:
        raise _unfit(f"records of {size} are too small for {name}", "too-small", shape)


def _unfit(message: str, code: str, shape: Shape) -> BadInput:
    return BadInput(f"{message}; try --network mlp", code, option="network", value=shape)


def cnn_small(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """Two small convolutions and two dense layers; wider strides above 16 x 16 pixels."""
    return _sequential(*_small(shape), shape, classes, dropout)


def cnn_paper(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """The paper's CNN: two 5 x 5 convolutions of 64 and a dense layer of 512.

    932,170 parameters on CIFAR-10. Dropout stands before the pooling, as in its table.

    Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """
    return _sequential(*_paper(shape), shape, classes, dropout)


def mlp(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """One hidden layer of 128 with dropout."""
    return _sequential([], 128, shape, classes, dropout)


def logreg(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """Logistic regression; dropout, if any, on the pixels."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(prod(shape), classes))


NETWORKS: dict[str, Callable[[Shape, int, float], nn.Sequential]]
NETWORKS = {"cnn-small": cnn_small, "cnn-paper": cnn_paper, "mlp": mlp, "logreg": logreg}


def _small(shape: Shape) -> tuple[list[Block], int]:
    if min(shape[1:]) <= 16:
        return [Block(16, 3, 1, 1, 2), Block(32, 3, 1, 1, 2)], 64
    return [Block(16, 8, 2, 3, 1), Block(32, 4, 2, 0, 1)], 32


def _paper(shape: Shape) -> tuple[list[Block], int]:
    return [Block(64, 5, 1, 0, 2), Block(64, 5, 1, 0, 2)], 512


CONVOLUTIONAL: dict[str, Callable[[Shape], tuple[list[Block], int]]]
CONVOLUTIONAL = {"cnn-small": _small, "cnn-paper": _paper}
"""The blocks of a network for records of a shape, and the width of its dense layer."""


def _sequential(
    blocks: list[Block], hidden: int, shape: Shape, classes: int, dropout: float
) -> nn.Sequential:
    """The blocks, if any, then two dense layers."""
    from torch import nn

    channels, sides = (shape[0], _left(shape, blocks)) if blocks else (1, shape)
    layers: list[nn.Module] = []
    for block in blocks:
        layers += [
            nn.Conv2d(channels, block.width, block.kernel, block.stride, block.padding),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.MaxPool2d(2, block.pool_stride),
        ]
        channels = block.width
    layers += [nn.Flatten(), nn.Linear(channels * prod(sides), hidden), nn.ReLU()]
    return nn.Sequential(*layers, nn.Dropout(dropout), nn.Linear(hidden, classes))


def _left(shape: Shape, blocks: list[Block]) -> Shape:
    """Height and width after all blocks."""
    sides = shape[1:]
    for block in blocks:
        sides = tuple(map(block.shrunk, sides))
    return sides
