"""A user's own functions, one of which releases numbers and one a model."""

import numpy as np


def noisy_sums(dataset, seed):
    """Sums of some pixels, which are multiples of 1/16, with Laplace noise."""
    x = np.asarray(dataset.tensors[0], np.float64)
    sums = x.reshape(len(x), -1)[:, 20:23].sum(axis=0)
    return sums + np.random.default_rng(seed).laplace(size=3)


def network(dataset, seed):
    """A linear classifier with dropout, after three steps."""
    import torch

    torch.manual_seed(seed)
    x, y = dataset.tensors
    model = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(x[0].numel(), 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model
