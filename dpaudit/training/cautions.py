"""Layers of a trained network for which no accounting of DP-SGD holds."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from dpaudit.checks import listed
from dpaudit.training.state import State


def buffers(network: Any) -> State:
    """What a network keeps beside its parameters, but for layers that are known to."""
    if not isinstance(network, nn.Module):
        return {}
    known = {
        id(buffer)
        for layer in network.modules()
        if isinstance(
            layer, (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)
        )
        for buffer in layer.buffers()
    }
    return {
        name: buffer.detach().clone()
        for name, buffer in network.named_buffers()
        if id(buffer) not in known and buffer.is_floating_point()
    }


def cautions(network: nn.Module, untrained: State | None = None) -> list[str]:
    """Layers for which no accounting of DP-SGD holds, with the reason.

    `untrained` are the buffers of the network before it was given what it has learned.
    """
    found = []
    layers = list(network.named_modules())
    mixing = [name for name, layer in layers if isinstance(layer, nn.modules.batchnorm._BatchNorm)]
    if mixing:
        found.append(
            f"the network has batch normalisation ({listed(mixing)}), which mixes the records of a "
            "batch and keeps their statistics without noise: clipping per record does not bound "
            "what one of them changes, so that no accountant's epsilon holds for it; take "
            "GroupNorm instead"
        )
    tracking = [
        name
        for name, layer in layers
        if isinstance(layer, nn.modules.instancenorm._InstanceNorm) and layer.track_running_stats
    ]
    if tracking:
        found.append(
            f"the network has instance normalisation that keeps running statistics "
            f"({listed(tracking)}) of the records without noise, which no accountant's epsilon "
            "covers; set track_running_stats=False"
        )
    scaling = [name for name, layer in layers if getattr(layer, "max_norm", None) is not None]
    if scaling:
        found.append(
            f"the network has an embedding with max_norm ({listed(scaling)}), which scales down, "
            "without noise, the rows that a batch looks up: who was in it shows in them, and no "
            "accountant's epsilon covers that; leave max_norm out"
        )
    now = buffers(network)
    kept = [name for name, old in (untrained or {}).items() if not torch.equal(now[name], old)]
    if kept:
        found.append(
            f"the network has buffers that are not those of an untrained one ({listed(kept)}): "
            "what a training keeps there of its records has no noise, and no accountant's epsilon "
            "covers it, unless it follows from the parameters or was drawn at random"
        )
    return found
