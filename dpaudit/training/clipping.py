"""A network's sum of clipped gradients: one forward and one backward pass for many records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from dpaudit.training.descent import Loss
from dpaudit.training.per_sample import OfConv2d, OfLinear
from dpaudit.training.sequential import leaves, out_of_place

Shape = tuple[int, ...]
Parametric = nn.Conv2d | nn.Linear

BUDGET = 96 * 2**20
"""Bytes of the activations, patches and gradients of the records in one pass, roughly."""


class Tape:
    """The layers that have parameters, as they were called: with their inputs and outputs.

    Each is called once, row by row, and in the order of the sums that gradients are added to.
    """

    def __init__(self) -> None:
        self._called: list[tuple[Parametric, Tensor, Tensor]] = []

    def through(
        self, layers: Iterable[nn.Module], h: Tensor, masks: Sequence[Tensor] = ()
    ) -> Tensor:
        """What comes out of layers, one after the other; `masks` are of those that drop out."""
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
        """Add the gradients of a total over records, each record's cut to a norm of `clip`."""
        slopes = torch.autograd.grad(total, [output for _, _, output in self._called])
        gradients = [
            OfLinear(layer, a, g) if isinstance(layer, nn.Linear) else OfConv2d(layer, a, g)
            for (layer, a, _), g in zip(self._called, slopes, strict=True)
        ]
        norms = torch.stack([gradient.squared_norms() for gradient in gradients]).sum(0).sqrt()
        c = (clip / norms.clamp_(min=torch.finfo(norms.dtype).tiny)).clamp_(max=1)
        into = iter(sums)
        for (layer, _, _), gradient in zip(self._called, gradients, strict=True):
            gradient.add_to(next(into), None if layer.bias is None else next(into), c)


class Accumulator:
    """The flat sum of one batch, in the order of the network's parameters.

    `capacity` is the number of records that a pass should have at most: a batch of more is
    added in several.
    """

    def __init__(self, model: nn.Sequential, shape: Shape) -> None:
        self._layers = [out_of_place(layer) for layer in leaves(model)]
        self._parameters = [p for layer in self._layers for p in layer.parameters()]
        self.sum = torch.zeros_like(nn.utils.parameters_to_vector(self._parameters).detach())
        pieces = self.sum.split([p.numel() for p in self._parameters])
        self._sums = [s.view_as(p) for s, p in zip(pieces, self._parameters, strict=True)]
        self.dropped, self.capacity = self._trace(shape)

    def _trace(self, shape: Shape) -> tuple[list[tuple[nn.Dropout, Shape]], int]:
        """The dropout layers with what a record is there, and the capacity."""
        dropped: list[tuple[nn.Dropout, Shape]] = []
        values, h = 0, self.sum.new_zeros((1, *shape))
        with torch.no_grad():
            for layer in self._layers:
                if isinstance(layer, nn.Dropout):
                    dropped.append((layer, tuple(h.shape[1:])))
                else:
                    h = layer(h)
                if isinstance(layer, nn.Conv2d):
                    patches = prod(h.shape[2:]) * layer.weight[0].numel() * layer.groups
                    values += patches + layer.weight.numel()
                # Kept for the way back, its gradient, and a pool's indices or a mask.
                values += 3 * h.numel()
        return dropped, max(1, BUDGET // (values * self.sum.element_size()))

    def add(self, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor], loss: Loss) -> None:
        """Add the gradients of some records, each clipped to a norm of at most `clip`."""
        tape = Tape()
        with torch.enable_grad():
            total = loss(tape.through(self._layers, channels_last(x), masks), y).sum()
        tape.add_clipped(total, clip, self._sums)

    def logits(self, x: Tensor, masks: Sequence[Tensor]) -> Tensor:
        """What the network says of some records."""
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
    # The layer's own forward pass, which knows what padding is the 'same'.
    output: Tensor = layer._conv_forward(h, weight, bias)
    return output


def channels_last(x: Tensor) -> Tensor:
    """Images in the layout in which pooling and patches are several times faster.

    Of a single channel too: its values lie the same either way, but later layers take over
    the strides.
    """
    return torch.empty_like(x, memory_format=torch.channels_last).copy_(x) if x.dim() == 4 else x
