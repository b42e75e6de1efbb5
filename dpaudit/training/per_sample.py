"""Per-sample gradients of a layer from its input and the gradient of its output.

Book-keeping: Bu, Wang, Zha and Karypis, "Differentially private optimization on large model at
small cost" (2022), https://arxiv.org/abs/2210.00038. A layer's input a_i and output gradient g_i
are all that is needed of record i, first for the norm of its gradient, then for the sum of the
gradients times c_i = min(1, C / norm_i).
"""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional


class OfLinear:
    """The gradient of a linear layer is g_i a_i^T, of norm |g_i| |a_i|: it is never formed."""

    def __init__(self, layer: nn.Linear, a: Tensor, g: Tensor) -> None:
        self._biased, self._a, self._g = layer.bias is not None, a, g

    def squared_norms(self) -> Tensor:
        """|g_i|^2 (|a_i|^2 + 1), the one for the bias."""
        squared = self._a.square().sum(1)
        return self._g.square().sum(1) * (squared + 1 if self._biased else squared)

    def add_to(self, weight: Tensor, bias: Tensor | None, c: Tensor) -> None:
        """Sum of c_i g_i a_i^T: one matrix product."""
        weighted = self._g * c[:, None]
        weight.addmm_(weighted.t(), self._a)
        if bias is not None:
            bias.add_(weighted.sum(0))


class OfConv2d:
    """The gradient of a convolution, formed for each record: sum over places of g_i U_i^T.

    U_i are the patches under the kernel. The norm without the gradient, from the Gram matrices
    of g_i and U_i, costs more where there are more places than channels. All is laid out with
    the channels last, where a patch is a few long runs of memory.
    """

    def __init__(self, layer: nn.Conv2d, a: Tensor, g: Tensor) -> None:
        records, groups = len(a), layer.groups
        # A group of channels is a convolution of its own.
        U = patches(layer, a, g.shape[2:])
        outputs, places = layer.out_channels // groups, U.shape[1]
        g = g.permute(0, 2, 3, 1).reshape(records, places, groups, outputs)
        g = g.permute(0, 2, 3, 1).reshape(records * groups, outputs, places)
        self._weight = torch.bmm(g, U).view(records, layer.weight.numel())
        self._bias = None if layer.bias is None else g.sum(2).view(records, layer.out_channels)

    def squared_norms(self) -> Tensor:
        """The sum of all squares."""
        # In one pass over the memory, where a product of the whole would take three.
        norms: Tensor = torch.linalg.vector_norm(self._weight, dim=1).square()
        return norms if self._bias is None else norms + self._bias.square().sum(1)

    def add_to(self, weight: Tensor, bias: Tensor | None, c: Tensor) -> None:
        """Sum of c_i G_i."""
        channels_last = weight.permute(0, 2, 3, 1)
        channels_last += (c @ self._weight).view(channels_last.shape)
        if bias is not None and self._bias is not None:
            bias.addmv_(self._bias.t(), c)


def patches(layer: nn.Conv2d, a: Tensor, places: tuple[int, ...]) -> Tensor:
    """What is under the kernel at each place: (records x groups, places, kernel x channels)."""
    # A view of overlapping windows: copied out by the reshape, in runs of whole kernel rows.
    a = functional.pad(a.permute(0, 2, 3, 1), (0, 0, *edges(layer))).contiguous()
    record, row, column, channel = a.stride()
    inside = a.shape[3] // layer.groups
    windows = a.as_strided(
        (len(a), layer.groups, *places, *layer.kernel_size, inside),
        (
            record,
            inside * channel,
            row * layer.stride[0],
            column * layer.stride[1],
            row * layer.dilation[0],
            column * layer.dilation[1],
            channel,
        ),
    )
    size = prod(layer.kernel_size) * inside
    return windows.reshape(len(a) * layer.groups, prod(places), size)


def edges(layer: nn.Conv2d) -> list[int]:
    """The zeros around an image: left, right, top, bottom."""
    around: list[int] = []
    for axis in (1, 0):
        if layer.padding == "same":
            zeros = layer.dilation[axis] * (layer.kernel_size[axis] - 1)
            around += [zeros // 2, zeros - zeros // 2]
        else:
            zeros = 0 if layer.padding == "valid" else int(layer.padding[axis])
            around += [zeros, zeros]
    return around
