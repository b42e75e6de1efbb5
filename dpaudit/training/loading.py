"""A network with the parameters of a checkpoint, or every reason why they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dpaudit.checks import listed
from dpaudit.errors import BadInput, blamed
from dpaudit.training import networks
from dpaudit.training.networks import NETWORKS, Shape
from dpaudit.training.state import State, renamed

Shapes = dict[str, Shape]

FORMS = {
    "is_sparse": "sparse numbers",
    "is_quantized": "quantized numbers",
    "is_meta": "no numbers",
    "is_complex": "complex numbers",
    "is_floating_point": "floats",
}
"""What a tensor can hold; anything else are whole numbers, or truth values."""


def load(
    network: Any, name: str, state: State, path: Path, shape: Shape, classes: int
) -> nn.Module:
    """The network, in eval mode, with this state; `shape` and `classes` are for advice alone."""
    if not isinstance(network, nn.Module):
        raise BadInput(
            f"{name} gave back a {type(network).__name__}, not a torch module",
            "wrong-type",
            value=type(network).__name__,
        )
    own = _own(network, name)
    state = renamed(state, own)
    if wrong := list(mismatches(state, own)):
        near = nearest(_shapes(state), shape, classes, name)
        raise BadInput(
            f"{path} does not fit {name}: {'; '.join(wrong)}{near}",
            "shape-mismatch",
            value=str(path),
        )
    with blamed(name, f"does not take the parameters of {path}"):
        network.load_state_dict(state)
    strange = [n for n, t in network.state_dict().items() if not bool(torch.isfinite(t).all())]
    if strange:
        raise BadInput(
            f"{path}: {len(strange)} of its {len(own)} tensors have values that are NaN or "
            f"infinite ({listed(strange)}); the training has diverged, and what such a model says "
            "cannot be scored",
            "not-finite",
            value=str(path),
        )
    return network.eval()


def _own(network: nn.Module, name: str) -> State:
    """The tensors that a network has, untrained."""
    own: State = network.state_dict()
    if lazy := [n for n, tensor in own.items() if nn.parameter.is_lazy(tensor)]:
        raise BadInput(
            f"{name} gave back a network whose {listed(lazy)} have no shape before a first batch; "
            "give it one there, or name the sizes",
            "lazy-parameters",
            value=name,
        )
    return own


def mismatches(has: State, wants: State) -> Iterator[str]:
    """Everything that is missing, too much, of another shape or of another kind of numbers."""
    for name, tensor in wants.items():
        if name not in has:
            yield f"it has no {name} {_told(tensor.shape)}"
        elif has[name].shape != tensor.shape:
            yield f"its {name} is {_told(has[name].shape)}, not {_told(tensor.shape)}"
        elif (form := _form(has[name])) != (wanted := _form(tensor)):
            yield f"its {name} holds {form}, not {wanted}"
    for name, tensor in has.items():
        if name not in wants:
            yield f"its {name} {_told(tensor.shape)} is not in the network"


def _form(tensor: Tensor) -> str:
    for test, words in FORMS.items():
        found = getattr(tensor, test)
        if found() if callable(found) else found:
            return words
    return "truth values" if tensor.dtype == torch.bool else "whole numbers"


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


def _shapes(state: State) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in state.items()}


def _told(shape: Shape) -> str:
    return " x ".join(map(str, shape)) or "one number"
