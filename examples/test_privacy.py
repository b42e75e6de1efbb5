"""A privacy test for the test suite of a training library:

    python -m pytest examples/test_privacy.py

Opacus trains with more noise and fewer records than in deployment. A mistake in clipping, noise
or accounting shows just as well, within seconds. The second test makes such a mistake and checks
that it is found.
"""

import pytest
import torch
from opacus import PrivacyEngine
from opacus.accountants import RDPAccountant
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from dpaudit.testing import PrivacyViolation, assert_private
from dpaudit.types import Claim, DPSGDCurve

BATCH, EPOCHS, NOISE, DELTA = 100, 5, 4.0, 1e-5
RATE, STEPS = 0.5, 10  # of 194 records, or one less: two batches an epoch


def train(dataset: TensorDataset, seed: int, noise: float = NOISE) -> nn.Module:
    """Logistic regression from zero, by DP-SGD."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=2.0),
        data_loader=DataLoader(dataset, batch_size=BATCH),
        noise_multiplier=noise,
        max_grad_norm=1.0,
    )
    for _ in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return model


def claim() -> Claim:
    """The accountant's claim: its epsilon, and the curve of the noisy steps."""
    accountant = RDPAccountant()
    accountant.history = [(NOISE, RATE, STEPS)]
    epsilon = accountant.get_epsilon(DELTA)
    curve = DPSGDCurve(sample_rate=RATE, steps=STEPS, noise_multiplier=NOISE)
    return Claim(epsilon, DELTA, curve=curve, source="RDP accountant of Opacus")


def test_training_keeps_its_promise() -> None:
    """A correct training fails this test with a probability of at most 1e-6."""
    assert_private(train, claim(), models=200)


def test_noise_that_is_divided_by_the_batch_size_twice_is_noticed() -> None:
    """Opacus divides the noisy sum of gradients once; this mutant divides the noise twice."""

    def mutant(dataset: TensorDataset, seed: int) -> nn.Module:
        return train(dataset, seed, noise=NOISE / BATCH)

    with pytest.raises(PrivacyViolation, match=r"the claim of epsilon 1\.83 does not hold"):
        assert_private(mutant, claim(), models=200)
