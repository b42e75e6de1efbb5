"""A network trained without privacy that claims epsilon 1. An audit refutes the claim:

    dpaudit run --mechanism examples/plain_torch.py:train --claim 1,1e-5 --canary mislabelled

The canary has a wrong label. Only a model that was trained on it predicts this label.
"""

import torch
from torch import nn
from torch.utils.data import TensorDataset


def train(dataset: TensorDataset, seed: int) -> nn.Module:
    """A model that has memorised its records."""
    torch.manual_seed(seed)
    x, y = dataset.tensors
    model = nn.Sequential(nn.Flatten(), nn.Linear(x[0].numel(), 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(80):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model
