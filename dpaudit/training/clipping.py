"""The sum of clipped gradients by book-keeping: one forward and one backward pass a batch.

Bu, Wang, Zha and Karypis, "Differentially private optimization on large model at small cost"
(2022), https://arxiv.org/abs/2210.00038. A layer's input a_i and output gradient g_i are all
that is needed of record i, first for the norm of its gradient, then for the sum of the gradients
times c_i = min(1, C / norm_i).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from dpaudit.training.job import Loss
from dpaudit.training.layers import leaves, out_of_place

Shape = tuple[int, ...]
Parametric = nn.Conv2d | nn.Linear

BUDGET = 96 * 2**20
"""Bytes of the activations, patches and gradients of the records in one pass, roughly."""


class LinearGradients:
    """The gradients g_i a_i^T of a linear layer, of norm |g_i| |a_i|: they are never formed."""

    def __init__(self, layer: nn.Linear, a: Tensor, g: Tensor) -> None:
        self._biased, self._a, self._g = layer.bias is not None, a, g

    def squared_norms(self) -> Tensor:
        """|g_i|^2 (|a_i|^2 + 1), the one for the bias."""
        squared = self._a.square().sum(1)
        return self._g.square().sum(1) * (squared + 1 if self._biased else squared)

    def add_to(self, weight: Tensor, bias: Tensor | None, c: Tensor) -> None:
        """Add the sum of c_i g_i a_i^T, by one matrix product."""
        weighted = self._g * c[:, None]
        weight.addmm_(weighted.t(), self._a)
        if bias is not None:
            bias.add_(weighted.sum(0))


class Conv2dGradients:
    """The gradients of a convolution, formed for each record: sum over places of g_i U_i^T.

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
        """The sum of all squares, in one pass over the memory where a product would take three."""
        norms: Tensor = torch.linalg.vector_norm(self._weight, dim=1).square()
        return norms if self._bias is None else norms + self._bias.square().sum(1)

    def add_to(self, weight: Tensor, bias: Tensor | None, c: Tensor) -> None:
        """Add the sum of c_i G_i."""
        channels_last = weight.permute(0, 2, 3, 1)
        channels_last += (c @ self._weight).view(channels_last.shape)
        if bias is not None and self._bias is not None:
            bias.addmv_(self._bias.t(), c)


def patches(layer: nn.Conv2d, a: Tensor, places: Shape) -> Tensor:
    """The values under the kernel at each place: (records x groups, places, kernel x channels)."""
    # A view of overlapping windows: copied out by the reshape, in runs of whole kernel rows.
    zeros = layer._reversed_padding_repeated_twice  # left, right, top, bottom
    a = functional.pad(a.permute(0, 2, 3, 1), (0, 0, *zeros)).contiguous()
    record, row, column, channel = a.stride()
    inside = a.shape[3] // layer.groups
    (down, right), (tall, wide) = layer.stride, layer.dilation
    windows = a.as_strided(
        (len(a), layer.groups, *places, *layer.kernel_size, inside),
        (record, inside * channel, row * down, column * right, row * tall, column * wide, channel),
    )
    size = prod(layer.kernel_size) * inside
    return windows.reshape(len(a) * layer.groups, prod(places), size)


class Tape:
    """The layers that have parameters, as they were called: with their inputs and outputs.

    Each is called once, row by row, and in the order of the sums that gradients are added to.
    """

    def __init__(self) -> None:
        self._called: list[tuple[Parametric, Tensor, Tensor]] = []

    def through(
        self, layers: Iterable[nn.Module], h: Tensor, masks: Sequence[Tensor] = ()
    ) -> Tensor:
        """Call the layers one after the other; `masks` are those of the dropout layers."""
        kept = iter(masks)
        for layer in layers:
            if isinstance(layer, nn.Dropout):
                scale = 1 / (1 - layer.p) if layer.p < 1 else 0.0
                h = h * next(kept).to(h.dtype).mul_(scale)
            elif isinstance(layer, (nn.Conv2d, nn.Linear)):
                a, h = h, without_parameters(layer, h)
                # The way back ends at the first layer's output.
                h = h if h.requires_grad else h.requires_grad_()
                self._called.append((layer, a.detach(), h))
            else:
                h = layer(h)
        return h

    def add_clipped(self, total: Tensor, clip: float, sums: Sequence[Tensor]) -> None:
        """Add the gradients of a total over records, each record's clipped to a norm of `clip`."""
        slopes = torch.autograd.grad(total, [output for _, _, output in self._called])
        gradients = [
            LinearGradients(layer, a, g)
            if isinstance(layer, nn.Linear)
            else Conv2dGradients(layer, a, g)
            for (layer, a, _), g in zip(self._called, slopes, strict=True)
        ]
        norms = torch.stack([gradient.squared_norms() for gradient in gradients]).sum(0).sqrt()
        c = (clip / norms.clamp_(min=torch.finfo(norms.dtype).tiny)).clamp_(max=1)
        into = iter(sums)
        for (layer, _, _), gradient in zip(self._called, gradients, strict=True):
            gradient.add_to(next(into), None if layer.bias is None else next(into), c)


class Accumulator:
    """The flat sum of one batch, in the order of the network's parameters.

    `capacity` is the number of records that a pass should have at most: a larger batch is
    added in several passes.
    """

    def __init__(self, model: nn.Sequential, shape: Shape) -> None:
        self._layers = [out_of_place(layer) for layer in leaves(model)]
        self._parameters = [p for layer in self._layers for p in layer.parameters()]
        self.sum = torch.zeros_like(nn.utils.parameters_to_vector(self._parameters).detach())
        pieces = self.sum.split([p.numel() for p in self._parameters])
        self._sums = [s.view_as(p) for s, p in zip(pieces, self._parameters, strict=True)]
        self.dropouts, self.capacity = self._trace(shape)

    def _trace(self, shape: Shape) -> tuple[list[tuple[nn.Dropout, Shape]], int]:
        """The dropout layers, each with the shape of a record there, and the capacity."""
        dropouts: list[tuple[nn.Dropout, Shape]] = []
        values, h = 0, self.sum.new_zeros((1, *shape))
        with torch.no_grad():
            for layer in self._layers:
                if isinstance(layer, nn.Dropout):
                    dropouts.append((layer, tuple(h.shape[1:])))
                else:
                    h = layer(h)
                if isinstance(layer, nn.Conv2d):
                    under = prod(h.shape[2:]) * layer.weight[0].numel() * layer.groups
                    values += under + layer.weight.numel()
                # Kept for the way back, its gradient, and a pool's indices or a mask.
                values += 3 * h.numel()
        return dropouts, max(1, BUDGET // (values * self.sum.element_size()))

    def add(self, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor], loss: Loss) -> None:
        """Add the gradients of some records, each clipped to a norm of at most `clip`."""
        tape = Tape()
        with torch.enable_grad():
            total = loss(tape.through(self._layers, channels_last(x), masks), y).sum()
        tape.add_clipped(total, clip, self._sums)

    def logits(self, x: Tensor, masks: Sequence[Tensor]) -> Tensor:
        """The logits of some records under dropout masks."""
        with torch.no_grad():
            return Tape().through(self._layers, channels_last(x), masks).detach()

    def move(self, rate: float) -> None:
        """theta <- theta - rate times the sum."""
        with torch.no_grad():
            for p, total in zip(self._parameters, self._sums, strict=True):
                p.sub_(total, alpha=rate)


def without_parameters(layer: Parametric, h: Tensor) -> Tensor:
    """The layer's output, from which no gradient goes on to its parameters."""
    weight, bias = layer.weight.detach(), None if layer.bias is None else layer.bias.detach()
    if isinstance(layer, nn.Linear):
        return functional.linear(h, weight, bias)
    # The layer's own forward pass, which knows the padding of 'same'.
    output: Tensor = layer._conv_forward(h, weight, bias)
    return output


def channels_last(x: Tensor) -> Tensor:
    """Images in the layout in which pooling and patches are several times faster.

    Of a single channel too: its values lie the same either way, but later layers take over
    the strides.
    """
    return torch.empty_like(x, memory_format=torch.channels_last).copy_(x) if x.dim() == 4 else x
