"""The networks that a recipe can name, each an `nn.Sequential` that every backend reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpaudit.errors import BadInput
from dpaudit.registry import unknown

if TYPE_CHECKING:
    from torch import nn

Shape = tuple[int, ...]


def build(name: str, shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """A network by name for records of a shape, with torch's default initialisation."""
    if name not in NETWORKS:
        raise BadInput(unknown("networks", name, list(NETWORKS)))
    return NETWORKS[name](shape, classes, dropout)


def cnn_small(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """Two small convolutions and two dense layers; wider strides above 16 x 16 pixels."""
    if min(shape[1:]) <= 16:
        convolutions = [(16, 3, 1, 1, 2), (32, 3, 1, 1, 2)]
        hidden = 64
    else:
        convolutions = [(16, 8, 2, 3, 1), (32, 4, 2, 0, 1)]
        hidden = 32
    return _convolutional("cnn-small", shape, classes, dropout, convolutions, hidden)


def cnn_paper(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """The paper's CNN: two 5 x 5 convolutions of 64 and a dense layer of 512.

    932,170 parameters on CIFAR-10. Dropout stands before the pooling, as in its table.
    """
    convolutions = [(64, 5, 1, 0, 2), (64, 5, 1, 0, 2)]
    return _convolutional("cnn-paper", shape, classes, dropout, convolutions, hidden=512)


def mlp(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """One hidden layer of 128 with dropout."""
    from torch import nn

    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(_size(shape), 128),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(128, classes),
    )


def logreg(shape: Shape, classes: int, dropout: float) -> nn.Sequential:
    """Logistic regression; dropout, if any, on the pixels."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Dropout(dropout), nn.Linear(_size(shape), classes))


NETWORKS: dict[str, Callable[[Shape, int, float], nn.Sequential]] = {
    "cnn-small": cnn_small,
    "cnn-paper": cnn_paper,
    "mlp": mlp,
    "logreg": logreg,
}


def _convolutional(
    name: str,
    shape: Shape,
    classes: int,
    dropout: float,
    convolutions: list[tuple[int, int, int, int, int]],
    hidden: int,
) -> nn.Sequential:
    """Blocks of (width, kernel, stride, padding, pooling stride), then two dense layers."""
    from torch import nn

    channels, *sides = shape
    layers: list[nn.Module] = []
    for width, kernel, stride, padding, pool_stride in convolutions:
        layers += [
            nn.Conv2d(channels, width, kernel, stride, padding),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.MaxPool2d(2, pool_stride),
        ]
        sides = [((s + 2 * padding - kernel) // stride + 1 - 2) // pool_stride + 1 for s in sides]
        channels = width
        if min(sides) < 1:
            size = " x ".join(map(str, shape))
            raise BadInput(f"records of {size} are too small for {name}; try --network mlp")
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        nn.Linear(channels * _size(tuple(sides)), hidden),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(hidden, classes),
    )


def _size(shape: Shape) -> int:
    size = 1
    for side in shape:
        size *= side
    return size
