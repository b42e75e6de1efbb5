"""A CNN trained by Opacus; the code does not depend on dpaudit. Its audit:

    dpaudit run --mechanism examples/opacus_cnn.py:train --claim 8,1e-5 --models 200

The noise follows from public numbers only: 1,000 records, or one less, make 8 batches.
"""

import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH, EPOCHS = 128, 10
NOISE = 1.06  # epsilon 8 at delta 1e-5 for 10 epochs of 8 batches, by Opacus' RDP accountant


def train(dataset: TensorDataset, seed: int) -> nn.Module:
    """A model with (8, 1e-5)-DP, by Opacus' accountant."""
    torch.manual_seed(seed)
    x, _ = dataset.tensors
    model = nn.Sequential(
        nn.Conv2d(x.shape[1], 16, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(4),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(16 * 4 * 4, 10),
    )
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=DataLoader(dataset, batch_size=BATCH),
        noise_multiplier=NOISE,
        max_grad_norm=1.0,
    )
    for _ in range(EPOCHS):
        for batch, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), labels).backward()
            optimizer.step()
    return model
