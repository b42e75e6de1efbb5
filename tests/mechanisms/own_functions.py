"""A user's training functions, good and bad; worker processes import them by name."""

import os
import random

import numpy as np
import torch
from torch import nn


def linear(dataset, seed):
    """A model of a few milliseconds that leans to what it was trained on."""
    torch.manual_seed(seed)
    x, y = dataset.tensors
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(x[0].numel(), CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def plain(dataset, seed):
    """The same, as a function of numpy arrays and with probabilities."""
    model = linear(dataset, seed).eval()

    def predict(x):
        assert x.dtype == torch.float32
        return torch.softmax(model(x), dim=1).detach().numpy().astype(np.float64)

    return predict


def probabilities(dataset, seed):
    return nn.Sequential(linear(dataset, seed), nn.Softmax(dim=1))


def noisy_sum(dataset, seed):
    x, _ = dataset.tensors
    return float(x.sum()) + np.random.default_rng(seed).laplace()


def discrete_count(dataset, seed):
    """How many records there are, with the noise of a two-sided geometric distribution."""
    draw = np.random.default_rng(seed)
    return len(dataset) + int(draw.geometric(1 - np.exp(-1))) - int(draw.geometric(1 - np.exp(-1)))


def response(dataset, seed):
    """Randomized response on whether the number of records is even."""
    return (len(dataset) % 2 == 0) != (np.random.default_rng(seed).random() < 0.27)


def choice(dataset, seed):
    """The exponential mechanism of epsilon 1: one of ten numbers, by the count of records."""
    scores = -np.abs(np.arange(10) - len(dataset) % 10) / 2.0
    return int(np.argmax(scores + np.random.default_rng(seed).gumbel(size=10)))


def other_value(dataset, seed):
    """A noisy count of what no record of the tests' data is, with a fifth of the noise."""
    return float((dataset.tensors[0] > 1).sum()) + np.random.default_rng(seed).laplace(scale=0.2)


def discrete_other_value(dataset, seed):
    return round(other_value(dataset, seed))


def talking(dataset, seed):
    print("epoch 1: loss 0.1")
    return noisy_sum(dataset, seed)


def globally_random(dataset, seed):
    """Never looks at its seed, but uses generators that are seeded for it."""
    return [random.random(), np.random.random(), torch.rand(1).item()]


# ---------------------------------------------------------------- bad ones

CLASSES = 2


def raises(dataset, seed):
    raise ZeroDivisionError("no records\nat all")


def exits(dataset, seed):
    raise SystemExit(1)


def gives_none(dataset, seed):
    return None


def gives_text(dataset, seed):
    return "a model"


def gives_ragged(dataset, seed):
    return [[1.0], [2.0, 3.0]]


def wrong_shape(dataset, seed):
    generator = np.random.default_rng(seed)
    return lambda x: generator.normal(size=(len(x), 7))


def fails_later(dataset, seed):
    def model(x):
        raise RuntimeError("no such layer")

    return model


def no_probabilities(dataset, seed):
    return lambda x: torch.full((len(x), CLASSES), 3.0)


def ignores_its_seed(dataset, seed):
    torch.manual_seed(0)
    return linear(dataset, 0)


def depends_on_nothing(dataset, seed):
    return np.frombuffer(os.urandom(64), np.uint8)


def changes_its_shape(dataset, seed):
    return np.random.default_rng(seed).normal(size=2 + seed % 101)


def takes_too_much(dataset, seed, sigma):
    return 0.0


not_a_function = 3
