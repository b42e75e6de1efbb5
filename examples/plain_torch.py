"""A network trained without any privacy. It claims epsilon 1 all the same, and is caught:

    dpaudit run --mechanism examples/plain_torch.py:train --claim 1,1e-5 --canary mislabelled

The canary has a wrong label, which only a model that was trained on it believes.
"""

import torch
from torch import nn
from torch.utils.data import TensorDataset


def train(dataset: TensorDataset, seed: int) -> nn.Module:
    """A model that has learned its records by heart."""
    torch.manual_seed(seed)
    x, y = dataset.tensors
    model = nn.Sequential(nn.Flatten(), nn.Linear(x[0].numel(), 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(80):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model
