"""The three trainings that are timed, at a batch of 256 expected records."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from dpaudit.training import networks
from dpaudit.training.job import TrainingJob

BATCH, CLASSES, DROPOUT, CLIP, NOISE, RATE = 256, 10, 0.5, 1.0, 0.8, 0.1


@dataclass(frozen=True)
class Workload:
    """A network and its data, and how many steps of Opacus are timed at once."""

    title: str
    network: str
    x: Tensor
    y: Tensor
    steps: int
    mc_dropout: bool = True
    """Whether its passes are timed too."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a record."""
        return tuple(self.x.shape[1:])

    @property
    def sample_rate(self) -> float:
        """The same as that of a loader of batches of 256: their number divides the data's."""
        return BATCH / len(self.y)

    def model(self, seed: int) -> nn.Sequential:
        """A new network."""
        torch.manual_seed(seed)
        return networks.build(self.network, self.shape, CLASSES, DROPOUT).train()

    def job(self, steps: int, seed: int) -> TrainingJob:
        """A descent of some steps, as a backend is given it."""
        return TrainingJob(
            model=self.model(seed),
            x=self.x,
            y=self.y,
            sample_rate=self.sample_rate,
            steps=steps,
            rate_per_sum=RATE / BATCH,
            clip=CLIP,
            noise_multiplier=NOISE,
            seed=seed,
        )

    def flops(self) -> int:
        """Of a step's matrix products: forward, weight and data gradients, 2 per product.

        The first layer's data need no gradient.
        """
        products, h = [], self.x[:1]
        with torch.no_grad():
            for layer in self.model(0):
                h = layer(h)
                if isinstance(layer, (nn.Conv2d, nn.Linear)):
                    places = h[0, 0].numel() if isinstance(layer, nn.Conv2d) else 1
                    products.append(layer.weight.numel() * places)
        return 2 * BATCH * (3 * sum(products) - products[0])


def w1() -> Workload:
    """Real digits of 8 x 8 pixels on the small network."""
    digits = load_digits()
    x = torch.tensor(digits.images[: 6 * BATCH, None] / 16, dtype=torch.float32)
    y = torch.tensor(digits.target[: 6 * BATCH])
    return Workload("digits 8×8, small CNN", "cnn-small", x, y, 40)


def w2() -> Workload:
    """The paper's network on random images of 32 x 32 pixels in colour."""
    return Workload("32×32×3, the paper's CNN", "cnn-paper", *_random((3, 32, 32)), 2, False)


def w3() -> Workload:
    """The small network on random images of 28 x 28 pixels."""
    return Workload("28×28, small CNN", "cnn-small", *_random((1, 28, 28)), 12)


WORKLOADS = {"W1": w1, "W2": w2, "W3": w3}


def _random(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand((10 * BATCH, *shape), generator=generator)
    return x, torch.randint(CLASSES, (len(x),), generator=generator)
