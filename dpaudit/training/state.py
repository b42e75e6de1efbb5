"""A checkpoint on disk: tensors by name, read as data, never as code.

Pickles run code when they are loaded. Only torch's restricted reader (`weights_only=True`) opens
one here, which knows tensors and plain containers and refuses everything else.
"""

from __future__ import annotations

import pickle
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dpaudit.checks import listed
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.files import open_file
from dpaudit.training import networks
from dpaudit.training.networks import NETWORKS, Shape

# ----------------------------------------------------------------
# A checkpoint on disk: tensors by name, read as data, never as code.
#
# Pickles run code when they are loaded. Only torch's restricted reader (`weights_only=True`) opens
# one here, which knows tensors and plain containers and refuses everything else.


State = dict[str, Tensor]

RECIPE = "torch.save(model.state_dict(), 'model.pt')"
WRAPPED = ("state_dict", "model_state_dict", "module_state_dict", "model", "module")
"""Where training loops put the parameters beside other things."""

PREFIXES = ("_module.", "module.", "_orig_mod.")
"""What Opacus, DataParallel and torch.compile put before every name."""


def read(path: Path) -> State:
    """The tensors of a .pt, .pth or .safetensors file, by their names there."""
    with open_file(path, "a checkpoint") as file:
        start = file.read(8)
    if not start:
        raise BadInput(
            f"{path}: it is empty; save the parameters again: {RECIPE}",
            "file-empty",
            value=str(path),
        )
    if path.suffix.lower() == ".safetensors":
        return _safetensors(path)
    if zipfile.is_zipfile(path):
        _refuse_bomb(path)
    return _tensors(path, _unpickled(path))


def renamed(state: State, network: Collection[str]) -> State:
    """The same by a network's own names: without what wrappers put before every one of them."""
    if set(state) == set(network):
        return state
    own = dict(zip(_bare(network), network, strict=True))
    stripped = zip(_bare(state), state.values(), strict=True)
    return {own.get(name, name): tensor for name, tensor in stripped}


def _bare(names: Collection[str]) -> list[str]:
    found = list(names)
    while prefix := next(
        (p for p in PREFIXES if found and all(n.startswith(p) for n in found)), ""
    ):
        found = [name[len(prefix) :] for name in found]
    return found


def _unpickled(path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats, which are data too
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if "Unsupported" in str(error) or "GLOBAL" in str(error):
            raise BadInput(
                f"{path}: it is a whole pickled model, or holds other Python objects, which may "
                f"run code and are not opened; save its parameters alone: {RECIPE}",
                "holds-code",
                value=str(path),
            ) from error
        raise _damaged(path, error) from error
    except MemoryError as error:
        raise BadInput(
            f"{path}: it does not fit into memory", "out-of-memory", value=str(path)
        ) from error
    except Exception as error:
        if "TorchScript" in str(error):
            raise BadInput(
                f"{path}: it is a TorchScript archive, which is code and is not opened; save the "
                f"parameters alone: {RECIPE}",
                "holds-code",
                value=str(path),
            ) from error
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> BadInput:
    told = " ".join(str(error).split())[:100]
    told = told if " " in told else type(error).__name__  # a bare number tells nobody anything
    return BadInput(
        f"{path}: it is cut short, damaged or no checkpoint ({told}); save it again",
        "file-damaged",
        value=str(path),
    )


def _refuse_bomb(path: Path) -> None:
    """Refuse an archive that declares more than it holds: torch stores tensors uncompressed."""
    try:
        with zipfile.ZipFile(path) as archive:
            declared = sum(entry.file_size for entry in archive.infolist())
    except Exception as error:  # zipfile raises many things on damaged archives
        raise _damaged(path, error) from error
    if declared > path.stat().st_size:
        raise BadInput(
            f"{path}: it declares {declared:,} bytes and has {path.stat().st_size:,}; it is no "
            "checkpoint of torch",
            "file-inflates",
            value=str(path),
        )


def _tensors(path: Path, loaded: Any) -> State:
    for name in WRAPPED:
        if isinstance(loaded, Mapping) and _is_state(loaded.get(name)):
            loaded = loaded[name]
            break
    if not _is_state(loaded):
        what = f"a {type(loaded).__name__}"
        if isinstance(loaded, Mapping):
            what = f"{', '.join(map(str, list(loaded)[:6])) or 'nothing'}"
        raise BadInput(
            f"{path}: it holds {what}, and no tensors by name; save it with {RECIPE}",
            "no-tensors",
            value=str(path),
        )
    return dict(loaded)


def _is_state(loaded: Any) -> bool:
    return (
        isinstance(loaded, Mapping)
        and bool(loaded)
        and all(isinstance(k, str) and isinstance(v, Tensor) for k, v in loaded.items())
    )


def _safetensors(path: Path) -> State:
    try:
        from safetensors.torch import load_file
    except ImportError as error:
        raise BadInput(
            f"{path}: .safetensors files are read with safetensors, which does not import; pip "
            "install 'dpaudit[safetensors]'",
            "needs-package",
            value="safetensors",
        ) from error
    try:
        loaded: State = load_file(path, device="cpu")
    except MemoryError as error:
        raise BadInput(
            f"{path}: it does not fit into memory", "out-of-memory", value=str(path)
        ) from error
    except Exception as error:
        raise _damaged(path, error) from error
    if not loaded:
        raise BadInput(f"{path}: it holds no tensors", "no-tensors", value=str(path))
    return loaded


# ----------------------------------------------------------------
# A network with the parameters of a checkpoint, or every reason why they do not fit.


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
    with wrap_errors(name, f"does not take the parameters of {path}"):
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


# ----------------------------------------------------------------
# Layers of a trained network for which no accounting of DP-SGD holds.


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
