"""How records lie in memory."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from dpaudit.types import Array, Records


def row_by_row(x: Tensor) -> Tensor:
    """The same records, channel by channel and row by row in memory.

    Opacus takes that for granted: if records lie with their channels last, as those of one
    channel may without showing it, its gradients of all convolutions but the first are wrong.
    """
    return x.flatten().view(x.shape)


class Tensors(TensorDataset):
    """A copy of the records as tensors, and the same memory as numpy arrays `x` and `y`."""

    def __init__(self, records: Records) -> None:
        super().__init__(row_by_row(torch.tensor(records.x)), torch.tensor(records.y))

    @property
    def x(self) -> Array:
        """The records, as in `tensors`."""
        return self.tensors[0].numpy()

    @property
    def y(self) -> Array:
        """The labels, as in `tensors`."""
        return self.tensors[1].numpy()
