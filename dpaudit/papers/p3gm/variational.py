"""Variational autoencoders trained by DP-SGD, whole or with parts that are given beforehand.

Kingma and Welling, Auto-Encoding Variational Bayes (2013). What is minimised is the negative of
the lower bound: ELBO(x) = E_q ln p(x|z) - KL(q(z|x) || p(z)), with one draw of z a record and step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dpaudit.papers.p3gm.design import AdamRecipe
from dpaudit.papers.p3gm.em import GaussianMixture
from dpaudit.seeds import ALONE, stream
from dpaudit.training.clipping import Tape
from dpaudit.training.isolation import one_thread
from dpaudit.training.job import coins
from dpaudit.types import Array

Kind: TypeAlias = Literal["variance", "none", "whole"]
"""The part of q(z|x) that the encoder learns: its variance, nothing, or mean and variance."""

LEAST, MOST = -12.0, 6.0
"""Range of the logarithm of a variance."""

FIRST = -7.0
"""Initial logarithm of a variance around a mean that is given within the unit ball."""

NARROW = 0.07
"""Deviation of the narrow Gaussian likelihood."""

PASS = 4096
"""Largest number of records in one pass."""


class Variational(nn.Module):
    """An encoder, where there is one, and a decoder, each of one hidden layer."""

    def __init__(self, features: int, latent: int, hidden: int, kind: Kind) -> None:
        super().__init__()
        outputs = {"variance": latent, "whole": 2 * latent, "none": 0}[kind]
        self.encoder = _perceptron(features, hidden, outputs) if outputs else nn.Sequential()
        self.decoder = _perceptron(latent, hidden, features)
        if kind == "variance":
            last = self.encoder[-1]
            assert isinstance(last, nn.Linear)
            nn.init.constant_(last.bias, FIRST)


class Posterior(NamedTuple):
    """q(z|x) of records by mean and log-variance, and their reconstruction in logits."""

    mean: Tensor
    log_variance: Tensor | None
    logits: Tensor


Likelihood: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def _bernoulli(logits: Tensor, x: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)


def _gaussian(logits: Tensor, x: Tensor) -> Tensor:
    return (x - logits.sigmoid()).square().sum(1)


def _narrow(logits: Tensor, x: Tensor) -> Tensor:
    return _gaussian(logits, x) / (2 * NARROW**2)


LIKELIHOODS: Mapping[str, Likelihood] = {
    "bernoulli": _bernoulli,
    "gaussian": _gaussian,
    "narrow": _narrow,
}
"""-ln p(x|z) by name, but for constants; of the Gaussian ||x - g(z)||^2, as published.

Where all values lie in a small part of [0, 1], the first two hardly tell records apart, and the
divergence alone decides what is learned; a narrow Gaussian does.
"""


def mixture_kl(mean: Tensor, log_variance: Tensor, prior: GaussianMixture) -> Tensor:
    """Approximate KL(q || p) for each row's Gaussian q: -ln sum_b w_b exp(-KL(q || p_b)).

    Hershey and Olsen, Approximating the Kullback Leibler Divergence Between Gaussian Mixture
    Models (2007), with one Gaussian on the left: exact for a single component, no bound for
    more. The P3GM paper's (6) prints KL(p_b || q) in its place.
    """
    w, m1, s1 = (torch.as_tensor(part, dtype=mean.dtype) for part in prior)
    m0, s0 = mean[:, None], log_variance.exp()[:, None]
    each = 0.5 * (s0 / s1 + (m1 - m0).square() / s1 - 1 + s1.log() - log_variance[:, None]).sum(2)
    return -torch.logsumexp(w.log() - each, dim=1)


def loss(posterior: Posterior, x: Tensor, prior: GaussianMixture | None, likelihood: str) -> Tensor:
    """-ELBO of each record; where the variance is given, KL is a constant and left out."""
    reconstruction = LIKELIHOODS[likelihood](posterior.logits, x)
    if posterior.log_variance is None or prior is None:
        return reconstruction
    return reconstruction + mixture_kl(posterior.mean, posterior.log_variance, prior)


def encode_and_decode(
    model: Variational, x: Tensor, given: Tensor | None, eta: Tensor | None, tape: Tape
) -> Posterior:
    """Return the posterior at z = mean + deviation eta, or at the mean without eta."""
    if not len(model.encoder):
        assert given is not None
        return Posterior(given, None, tape.through(model.decoder, given))
    encoded = tape.through(model.encoder, x)
    mean, log_variance = (given, encoded) if given is not None else encoded.chunk(2, dim=1)
    log_variance = log_variance.clamp(LEAST, MOST)
    z = mean if eta is None else mean + (0.5 * log_variance).exp() * eta
    return Posterior(mean, log_variance, tape.through(model.decoder, z))


def train(
    model: Variational,
    x: Array,
    given: Array | None,
    prior: GaussianMixture | None,
    likelihood: str,
    steps: AdamRecipe,
    seed: int,
    watch: Callable[[int], None] | None = None,
) -> None:
    """Train in place by DP-SGD, with per-sample gradients as in `bookkeeping`.

    Each record is in a step's batch by its own coin. `given` are the means of q(z|x), where the
    encoder does not learn them. `watch` is given the number of steps done, from 0 on.
    """
    one_thread()
    rows = torch.as_tensor(x, dtype=torch.float32)
    means = None if given is None else torch.as_tensor(given, dtype=torch.float32)
    noise, latent = (
        torch.Generator().manual_seed(stream(seed, purpose)) for purpose in ("noise", "latent")
    )
    adam = _Adam(list(model.parameters()), steps.lr)
    width = next(iter(model.decoder.parameters())).shape[1]
    for step in range(steps.count):
        if watch:
            watch(step)
        total = adam.sum.zero_()
        if steps.noise_multiplier:
            total.normal_(0, steps.noise_multiplier * steps.clip, generator=noise)
        there = coins(seed, "coins", step, len(rows), steps.sample_rate)
        for part in torch.from_numpy(np.flatnonzero(there)).split(PASS):
            tape = Tape()
            eta = torch.randn((len(part), width), generator=latent)
            own = None if means is None else means[part]
            with torch.enable_grad():
                posterior = encode_and_decode(model, rows[part], own, eta, tape)
                lost = loss(posterior, rows[part], prior, likelihood).sum()
            tape.add_clipped(lost, steps.clip, adam.sums)
        adam.move(1 / steps.expected)
    if watch:
        watch(steps.count)


def build(features: int, latent: int, hidden: int, kind: Kind, seed: int) -> Variational:
    """Return an untrained model with the parameters of a seed."""
    with ALONE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream(seed, "init"))
        return Variational(features, latent, hidden, kind)


def decode(model: Variational, z: Array) -> Array:
    """Return the mean of p(x|z), in [0, 1]."""
    one_thread()
    with torch.no_grad():
        parts = torch.as_tensor(z, dtype=torch.float32).split(PASS)
        return torch.cat([model.decoder(part).sigmoid() for part in parts]).numpy()


def evaluate(
    model: Variational,
    x: Array,
    given: Array | None,
    prior: GaussianMixture | None,
    likelihood: str,
) -> tuple[Array, Array]:
    """Return ||x - x~||^2 and the ELBO of each record, at the mean of q(z|x)."""
    one_thread()
    rows = torch.as_tensor(x, dtype=torch.float32)
    means = None if given is None else torch.as_tensor(given, dtype=torch.float32)
    with torch.no_grad():
        posterior = encode_and_decode(model, rows, means, None, Tape())
        error = (rows - posterior.logits.sigmoid()).square().sum(1)
        return error.numpy(), -loss(posterior, rows, prior, likelihood).numpy()


def _perceptron(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class _Adam:
    """Kingma and Ba, Adam (2014), on one flat sum that is written anew at each step."""

    def __init__(self, parameters: list[nn.Parameter], lr: float) -> None:
        self._parameters, self._lr, self._steps = parameters, lr, 0
        self.sum = torch.zeros(sum(p.numel() for p in parameters))
        self._m, self._v = torch.zeros_like(self.sum), torch.zeros_like(self.sum)
        self.sums = self._pieces(self.sum)

    def _pieces(self, flat: Tensor) -> list[Tensor]:
        pieces = flat.split([p.numel() for p in self._parameters])
        return [piece.view_as(p) for piece, p in zip(pieces, self._parameters, strict=True)]

    def move(self, scale: float) -> None:
        """Take a step along the sum times a scale."""
        self._steps += 1
        g = self.sum * scale
        self._m.lerp_(g, 0.1)
        self._v.lerp_(g.square(), 0.001)
        m, v = self._m / (1 - 0.9**self._steps), self._v / (1 - 0.999**self._steps)
        with torch.no_grad():
            moves = self._pieces(m / (v.sqrt() + 1e-8))
            for p, moved in zip(self._parameters, moves, strict=True):
                p.sub_(moved, alpha=self._lr)
