"""Networks of every kind, and descents of them in a line."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch import nn

from dpaudit.training import native, networks
from dpaudit.training.job import TrainingJob
from dpaudit.training.native import compiler

torch.set_num_threads(1)  # small networks only lose by more

NARROWER = pytest.mark.skipif(
    "avx512f" not in compiler._processor(), reason="this machine has no wider vectors"
)

NAMED = {
    "cnn-small": (1, 8, 8),
    "cnn-small 28 x 28": (1, 28, 28),
    "cnn-paper": (3, 32, 32),
    "mlp": (1, 8, 8),
    "logreg": (1, 8, 8),
}

ODD = {
    "dropout first, rectangles, no bias": (
        (3, 9, 7),
        lambda: [
            nn.Dropout(0.2),
            nn.Conv2d(3, 5, (3, 2), (2, 1), (1, 0), bias=False),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(5 * 5 * 6, 7, bias=False),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Dropout(0.1),
            nn.Linear(7, 3),
        ],
    ),
    "conv, conv, pool with a border, relu": (
        (2, 8, 10),
        lambda: [
            nn.Conv2d(2, 18, 3, padding="same"),
            nn.Conv2d(18, 4, 3, padding="valid"),
            nn.MaxPool2d(3, 2, padding=1),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Conv2d(4, 6, 2),
            nn.Dropout(0.3),
            nn.MaxPool2d((1, 2)),
            nn.Flatten(),
            nn.Linear(6 * 2, 5),
            nn.Dropout(0.1),
        ],
    ),
    "pool first, logits by a convolution": (
        (1, 12, 6),
        lambda: [
            nn.MaxPool2d(2, 1),
            nn.ReLU(),
            nn.Conv2d(1, 4, (2, 4), padding="same"),
            nn.ReLU(),
            nn.MaxPool2d(2, 1),
            nn.Conv2d(4, 3, 4, 3),
            nn.Flatten(),
        ],
    ),
}


def named(name, dropout=0.5, classes=10):
    """One of dpaudit's networks, always with the same weights, and the shape of its records."""
    torch.manual_seed(0)
    shape = NAMED[name]
    return networks.build(name.split()[0], shape, classes, dropout), shape


def odd(name):
    torch.manual_seed(0)
    shape, layers = ODD[name]
    return nn.Sequential(*layers()), shape


@st.composite
def drawn(draw):
    """Any layers in any order that fit each other."""
    torch.manual_seed(draw(st.integers(0, 99)))
    shape = tuple(draw(st.tuples(st.integers(1, 4), st.integers(5, 13), st.integers(5, 13))))
    layers, h = [], torch.zeros(1, *shape)
    for kind in draw(st.lists(st.sampled_from("CCRDP"), min_size=1, max_size=6)):
        layer = _layer(draw, kind, h.shape[1:])
        if layer is not None:
            layers.append(layer)
            h = layer(h)
    layers.append(nn.Flatten())
    for kind in [*draw(st.lists(st.sampled_from("LRD"), max_size=4)), "L"]:
        width = draw(st.integers(2, 40))
        features = nn.Sequential(*layers)(torch.zeros(1, *shape)).shape[1]
        layers.append({"L": nn.Linear(features, width), "R": nn.ReLU(), "D": nn.Dropout(0.3)}[kind])
    return nn.Sequential(*layers), shape


def _layer(draw, kind, shape):
    """A layer for images of such a shape, or None where none fits."""
    if kind == "R":
        return nn.ReLU()
    if kind == "D":
        return nn.Dropout(draw(st.sampled_from([0.1, 0.5])))
    size, stride = (draw(st.tuples(*[st.integers(1, 3)] * 2)) for _ in range(2))
    border = draw(st.tuples(*[st.integers(0, 1)] * 2))
    if kind == "P":
        border = tuple(min(b, s // 2) for b, s in zip(border, size, strict=True))
    if any(side + 2 * b < s for side, b, s in zip(shape[1:], border, size, strict=True)):
        return None
    if kind == "P":
        return nn.MaxPool2d(size, stride, border)
    return nn.Conv2d(
        shape[0], draw(st.integers(1, 20)), size, stride, border, bias=draw(st.booleans())
    )


def records(shape, n, classes=10, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand((n, *shape), generator=generator)
    return x, torch.randint(classes, (n,), generator=generator)


def job(model, x, y, **changes):
    """One full-batch step without noise or clipping, but for what is changed."""
    plain = TrainingJob(
        model=model,
        x=x,
        y=y,
        sample_rate=1.0,
        steps=1,
        rate_per_sum=1.0,
        clip=1e6,
        noise_multiplier=0.0,
        seed=0,
    )
    return replace(plain, **changes)


def flat(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach().numpy().copy()


def moved(model, x, y, **changes):
    """By how much a descent moves the parameters; the model itself stays as it was."""
    start = flat(model)
    native.train(job(model, x, y, **changes))
    end = flat(model)
    nn.utils.vector_to_parameters(torch.from_numpy(start.copy()), model.parameters())
    return end - start


def relative(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)
