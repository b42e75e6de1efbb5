"""A network with the parameters of a checkpoint, or every reason why they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dpaudit.checks import listed
from dpaudit.errors import BadInput
from dpaudit.training import networks
from dpaudit.training.networks import NETWORKS, Shape
from dpaudit.training.state import State

Shapes = dict[str, Shape]


def load(
    network: Any, name: str, state: State, path: Path, shape: Shape, classes: int
) -> nn.Module:
    """The network, in eval mode, with this state; `shape` and `classes` are for advice alone."""
    if not isinstance(network, nn.Module):
        raise BadInput(f"{name} gave back a {type(network).__name__}, not a torch module")
    has, wants = _shapes(state), _shapes(network.state_dict())
    if wrong := list(mismatches(has, wants)):
        near = nearest(has, shape, classes, name)
        raise BadInput(f"{path} does not fit {name}: {'; '.join(wrong)}{near}")
    network.load_state_dict(state)
    strange = [n for n, t in network.state_dict().items() if not bool(torch.isfinite(t).all())]
    if strange:
        raise BadInput(
            f"{path}: {len(strange)} of its {len(wants)} tensors have values that are NaN or "
            f"infinite ({listed(strange)}); the training has diverged, and what such a model says "
            "cannot be scored"
        )
    return network.eval()


def mismatches(has: Shapes, wants: Shapes) -> Iterator[str]:
    """Everything that is missing, too much or of another shape."""
    for name, shape in wants.items():
        if name not in has:
            yield f"it has no {name} {_told(shape)}"
        elif has[name] != shape:
            yield f"its {name} is {_told(has[name])}, not {_told(shape)}"
    for name, shape in has.items():
        if name not in wants:
            yield f"its {name} {_told(shape)} is not in the network"


def nearest(has: Shapes, shape: Shape, classes: int, but: str) -> str:
    """Which of dpaudit's own networks has most of these tensors, in words; empty: none has any."""
    fits: dict[str, tuple[int, int]] = {}
    for name in NETWORKS:
        if name == but:
            continue
        try:
            with torch.device("meta"):  # nothing is drawn
                wants = _shapes(networks.build(name, shape, classes, 0.0).state_dict())
        except BadInput:
            continue  # it cannot take such records
        fits[name] = sum(has.get(key) == wanted for key, wanted in wants.items()), len(wants)
    best = max(fits, key=lambda name: fits[name][0] / fits[name][1], default=None)
    if best is None or fits[best][0] == 0:
        return ""
    found, of = fits[best]
    return f"; of dpaudit's networks {best} is nearest, {found} of its {of} tensors fit"


def cautions(network: nn.Module) -> list[str]:
    """Layers for which no accounting of DP-SGD holds, with the reason."""
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
    return found


def _shapes(state: State) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in state.items()}


def _told(shape: Shape) -> str:
    return " x ".join(map(str, shape)) or "one number"
