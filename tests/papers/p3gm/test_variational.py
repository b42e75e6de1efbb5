"""Variational autoencoders: the loss, clipping record by record, and the steps."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence

from dpaudit.papers.p3gm import variational
from dpaudit.papers.p3gm.design import AdamRecipe
from dpaudit.papers.p3gm.em import GaussianMixture
from dpaudit.papers.p3gm.variational import (
    LIKELIHOODS,
    build,
    decode,
    encode_and_decode,
    evaluate,
    loss,
    mixture_kl,
    train,
)
from dpaudit.training.clipping import Tape

KINDS = ["variance", "none", "whole"]
D, LATENT = 5, 2


def records(n=12, seed=0):
    draw = np.random.default_rng(seed)
    return draw.random((n, D)), draw.normal(size=(n, LATENT)) * 0.3


def prior(k=2, seed=0):
    draw = np.random.default_rng(seed)
    return GaussianMixture(
        np.full(k, 1 / k), draw.normal(size=(k, LATENT)), draw.random((k, LATENT)) + 0.1
    )


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


# ---------------------------------------------------------------- the loss


def test_the_divergence_from_one_gaussian_is_exact_and_the_right_way_round():
    m0, s0 = torch.tensor([[0.2, -0.1]]), torch.tensor([[0.01, 0.1]])
    p = prior(k=1)
    q = Independent(Normal(m0, s0.sqrt()), 1)
    other = Independent(Normal(torch.tensor(p.means), torch.tensor(p.variances).sqrt()), 1)
    found = mixture_kl(m0, s0.log(), p)
    assert found.item() == pytest.approx(kl_divergence(q, other).item(), rel=1e-5)
    assert abs(found.item() - kl_divergence(other, q).item()) > 0.1


def test_the_divergence_from_a_mixture_is_the_published_approximation():
    """-ln sum_b w_b exp(-KL_b); of a component that is q itself, at most -ln w."""
    p, m0, v0 = prior(k=3), torch.tensor([[0.1, 0.4]]), torch.tensor([[-1.0, -2.0]])
    each = [
        mixture_kl(m0, v0, GaussianMixture(np.ones(1), p.means[b : b + 1], p.variances[b : b + 1]))
        for b in range(3)
    ]
    direct = -math.log(sum(math.exp(-e.item()) / 3 for e in each))
    assert mixture_kl(m0, v0, p).item() == pytest.approx(direct, rel=1e-5)
    own = mixture_kl(torch.tensor(p.means[:1]), torch.tensor(p.variances[:1]).log(), p)
    assert 0 <= own.item() <= math.log(3)


def test_a_tight_gaussian_is_about_as_far_from_a_mixture_as_by_simulation():
    """8.0 by Monte Carlo where the printed order gives many times as much."""
    m0, s0 = torch.tensor([[0.0, 0.0]]).double(), torch.tensor([[0.01, 0.01]]).double()
    p = GaussianMixture(np.array([0.4, 0.6]), np.array([[1.0, 0], [-2.0, 1]]), np.ones((2, 2)))
    z = m0 + s0.sqrt() * torch.randn((100_000, 2), generator=torch.Generator().manual_seed(0))
    log_q = Independent(Normal(m0, s0.sqrt()), 1).log_prob(z)
    parts = Independent(Normal(torch.tensor(p.means), torch.ones(2, 2)), 1).log_prob(z[:, None])
    log_p = torch.logsumexp(parts + torch.tensor(p.weights).log(), 1)
    simulated = (log_q - log_p).mean().item()
    assert mixture_kl(m0, s0.log(), p).item() == pytest.approx(simulated, rel=0.02)
    backwards = kl_divergence(
        Independent(Normal(torch.tensor(p.means), torch.ones(2, 2)), 1),
        Independent(Normal(m0, s0.sqrt()), 1),
    )
    assert backwards.min().item() > 10 * simulated


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_loss_is_reconstruction_and_divergence_or_the_first_alone(likelihood):
    x, given = (torch.as_tensor(a, dtype=torch.float32) for a in records())
    for kind in KINDS:
        model = build(D, LATENT, 4, kind, seed=0)
        own = None if kind == "whole" else given
        posterior = encode_and_decode(model, x, own, None, Tape())
        lost, wrong = (
            loss(posterior, x, prior(), likelihood),
            LIKELIHOODS[likelihood](posterior.logits, x),
        )
        if kind == "none":
            assert torch.equal(lost, wrong)
        else:
            assert torch.allclose(
                lost - wrong, mixture_kl(posterior.mean, posterior.log_variance, prior())
            )
    p = posterior.logits.sigmoid()
    squares, narrow = (x - p) ** 2, Normal(p, 0.07)
    direct = {
        "bernoulli": -(x * p.log() + (1 - x) * (1 - p).log()),
        "gaussian": squares,
        "narrow": narrow.log_prob(p) - narrow.log_prob(x),
    }[likelihood].sum(1)
    assert torch.allclose(wrong, direct, rtol=1e-4)


# ---------------------------------------------------------------- the steps


@pytest.mark.parametrize("kind", KINDS)
def test_every_record_s_gradient_is_clipped_by_its_own_norm(kind):
    """Against a loop over records, with the same draws of z; half of them are clipped."""
    x, given = (torch.as_tensor(a, dtype=torch.float32) for a in records())
    model, eta = build(D, LATENT, 4, kind, seed=1), torch.randn(12, LATENT)
    own = None if kind == "whole" else given
    parameters, gradients = list(model.parameters()), []
    for i in range(len(x)):
        row = slice(i, i + 1)
        z_given = None if own is None else own[row]
        told = model.encoder(x[row]) if kind != "none" else None
        mean = z_given if z_given is not None else told[:, :LATENT]
        z = mean
        if told is not None:
            z = mean + (0.5 * told[:, -LATENT:]).exp() * eta[row]
        lost = LIKELIHOODS["bernoulli"](model.decoder(z), x[row]).sum()
        if told is not None:
            lost = lost + mixture_kl(mean, told[:, -LATENT:], prior()).sum()
        pieces = torch.autograd.grad(lost, parameters)
        gradients.append(torch.cat([piece.flatten() for piece in pieces]))
    norms = torch.stack([g.norm() for g in gradients])
    clip = norms.median().item()
    expected = sum(
        g * min(1.0, clip / norm.item()) for g, norm in zip(gradients, norms, strict=True)
    )

    tape, sums = Tape(), [torch.zeros_like(p) for p in parameters]
    posterior = encode_and_decode(model, x, own, eta, tape)
    tape.add_clipped(loss(posterior, x, prior(), "bernoulli").sum(), clip, sums)
    found = torch.cat([s.flatten() for s in sums])
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_no_replaced_record_moves_a_sum_by_more_than_twice_the_clip_norm(kind, monkeypatch):
    """The first sum of two neighbours, with the same noise; it moves by more than the clip norm."""
    seen, clip = [], 0.7
    monkeypatch.setattr(variational._Adam, "move", lambda self, c: seen.append(self.sum.clone()))
    x, given = records()
    for last in (0.0, 1.0):
        x[-1], given[-1] = last, 2 * last - 1
        own, p = (None if kind == "whole" else given), prior()
        model = build(D, LATENT, 4, kind, seed=1)
        train(model, x, own, p, "bernoulli", AdamRecipe(1, 1.0, 12, 0.01, clip, 3.0), seed=0)
    moved = (seen[1] - seen[0]).norm().item()
    assert clip < moved <= 2 * clip * (1 + 1e-5)


def test_steps_are_those_of_adam_on_the_mean_gradient():
    x, given = records()
    ours, theirs = (build(D, LATENT, 4, "none", seed=2) for _ in range(2))
    train(ours, x, given, None, "gaussian", AdamRecipe(5, 1.0, 12, lr=0.01), seed=0)
    optimiser = torch.optim.Adam(theirs.parameters(), lr=0.01)
    rows, z = (torch.as_tensor(a, dtype=torch.float32) for a in (x, given))
    for _ in range(5):
        optimiser.zero_grad()
        LIKELIHOODS["gaussian"](theirs.decoder(z), rows).mean().backward()
        optimiser.step()
    assert torch.allclose(flat(ours), flat(theirs), atol=1e-5)


def test_noise_of_the_stated_size_is_added_at_every_step(monkeypatch):
    """Of an empty batch a sum is noise alone: its variance, over 3 steps of some 40 values each."""
    seen = []
    move = variational._Adam.move
    monkeypatch.setattr(
        variational._Adam, "move", lambda self, c: (seen.append(self.sum.clone()), move(self, c))
    )
    x, given = records()
    model = build(D, LATENT, 60, "none", seed=2)
    train(model, x, given, None, "gaussian", AdamRecipe(3, 0.0, 12, 0.01, 0.5, 4.0), seed=0)
    noise = torch.stack(seen)
    assert abs(noise.var().item() / 4 - 1) < 5 * math.sqrt(2 / noise.numel())
    assert not torch.equal(noise[0], noise[1])


def test_training_is_the_seed_s_and_learns():
    x, given = records(200)
    x = np.repeat((given[:, :1] > 0).astype(float), D, axis=1)
    own = GaussianMixture(np.ones(1), np.zeros((1, LATENT)), np.full((1, LATENT), 0.09))
    made = []
    for seed in (0, 0, 1):
        model = build(D, LATENT, 16, "variance", seed=3)
        before, _ = evaluate(model, x, given, own, "bernoulli")
        train(model, x, given, own, "bernoulli", AdamRecipe(150, 0.3, 60, 0.02), seed)
        made.append(flat(model))
        after, _ = evaluate(model, x, given, own, "bernoulli")
        assert after.mean() < before.mean() / 3
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])
    drawn = decode(model, given)
    assert drawn.shape == (200, D)
    assert ((drawn >= 0) & (drawn <= 1)).all()
