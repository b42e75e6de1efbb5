"""A checkpoint's tensors by name: read as data, and loaded into a network.

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
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from dpaudit.checks import excerpt
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.files import open_file
from dpaudit.training import networks
from dpaudit.training.networks import NETWORKS, Shape

State = dict[str, Tensor]

SAVE = "torch.save(model.state_dict(), 'model.pt')"
WRAPPED = ("state_dict", "model_state_dict", "module_state_dict", "model", "module")
"""Keys under which training loops save the parameters beside other things."""

PREFIXES = ("_module.", "module.", "_orig_mod.")
"""The prefixes that Opacus, DataParallel and torch.compile put before every name."""

FORMS = {
    "is_sparse": "sparse numbers",
    "is_quantized": "quantized numbers",
    "is_meta": "no numbers",
    "is_complex": "complex numbers",
    "is_floating_point": "floats",
}
"""The kinds of numbers in a tensor; all others are whole numbers or truth values."""


def read(path: Path) -> State:
    """The tensors of a .pt, .pth or .safetensors file, by their names there."""
    with open_file(path, "a checkpoint") as file:
        start = file.read(8)
    if not start:
        raise _unusable(path, f"it is empty; save the parameters again: {SAVE}", "file-empty")
    try:
        if path.suffix.lower() == ".safetensors":
            return _safetensors(path)
        if zipfile.is_zipfile(path):
            _refuse_bomb(path)
        return _tensors(path, _unpickled(path))
    except BadInput:
        raise
    except MemoryError as error:
        raise _unusable(path, "it does not fit into memory", "out-of-memory") from error
    except Exception as error:  # zipfile, pickle and torch raise many things on damaged files
        reason = " ".join(str(error).split())[:100]
        reason = reason if " " in reason else type(error).__name__  # not a bare number
        message = f"it is cut short, damaged or no checkpoint ({reason}); save it again"
        raise _unusable(path, message, "file-damaged") from error


def _unusable(path: Path, message: str, code: str) -> BadInput:
    return BadInput(f"{path}: {message}", code, value=str(path))


def _unpickled(path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats, which are data too
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        if "Unsupported" not in str(error) and "GLOBAL" not in str(error):
            raise
        message = "a whole pickled model, or holds other Python objects, which may run code"
        raise _holds_code(path, message) from error
    except Exception as error:
        if "TorchScript" not in str(error):
            raise
        raise _holds_code(path, "a TorchScript archive, which is code") from error


def _holds_code(path: Path, message: str) -> BadInput:
    message = f"it is {message}, and is not opened; save the parameters alone: {SAVE}"
    return _unusable(path, message, "holds-code")


def _refuse_bomb(path: Path) -> None:
    """Refuse an archive that declares more than it holds: torch stores tensors uncompressed."""
    with zipfile.ZipFile(path) as archive:
        declared = sum(entry.file_size for entry in archive.infolist())
    if declared > (size := path.stat().st_size):
        message = f"it declares {declared:,} bytes and has {size:,}; it is no checkpoint of torch"
        raise _unusable(path, message, "file-inflates")


def _tensors(path: Path, loaded: Any) -> State:
    for name in WRAPPED:
        if isinstance(loaded, Mapping) and _is_state(loaded.get(name)):
            loaded = loaded[name]
            break
    if not _is_state(loaded):
        held = f"a {type(loaded).__name__}"
        if isinstance(loaded, Mapping):
            held = ", ".join(map(str, list(loaded)[:6])) or "nothing"
        message = f"it holds {held}, and no tensors by name; save it with {SAVE}"
        raise _unusable(path, message, "no-tensors")
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
        message = "safetensors, which reads .safetensors files, does not import"
        message = f"{path}: {message}; pip install 'dpaudit[safetensors]'"
        raise BadInput(message, "needs-package", value="safetensors") from error
    loaded: State = load_file(path, device="cpu")
    if not loaded:
        raise _unusable(path, "it holds no tensors", "no-tensors")
    return loaded


def unwrap(state: State, network: Collection[str]) -> State:
    """The state by a network's own names, without the prefixes that wrappers put before them."""
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


def load(
    network: Any, name: str, state: State, path: Path, shape: Shape, classes: int
) -> nn.Module:
    """The network, in eval mode, with this state; `shape` and `classes` are for advice alone."""
    if not isinstance(network, nn.Module):
        kind = type(network).__name__
        raise BadInput(f"{name} returned a {kind}, not a torch module", "wrong-type", value=kind)
    own: State = network.state_dict()
    if lazy := [n for n, tensor in own.items() if nn.parameter.is_lazy(tensor)]:
        message = (
            f"{name} returned a network whose {excerpt(lazy)} have no shape before a first batch"
        )
        message += "; pass it a batch there, or name the sizes"
        raise BadInput(message, "lazy-parameters", value=name)
    state = unwrap(state, own)
    if wrong := list(_mismatches(state, own)):
        near = _nearest(state, shape, classes, name)
        message = f"{path} does not fit {name}: {'; '.join(wrong)}{near}"
        raise BadInput(message, "shape-mismatch", value=str(path))
    with wrap_errors(name, f"does not take the parameters of {path}"):
        network.load_state_dict(state)
    strange = [n for n, t in network.state_dict().items() if not bool(torch.isfinite(t).all())]
    if strange:
        message = f"{len(strange)} of its {len(own)} tensors have values that are NaN or infinite"
        message += f" ({excerpt(strange)}): the training has diverged, and nothing can be scored"
        raise _unusable(path, message, "not-finite")
    return network.eval()


def _mismatches(has: State, wants: State) -> Iterator[str]:
    """Every tensor that is missing, too much, of another shape or of another kind of numbers."""
    for name, tensor in wants.items():
        if name not in has:
            yield f"it has no {name} {_size(tensor.shape)}"
        elif has[name].shape != tensor.shape:
            yield f"its {name} is {_size(has[name].shape)}, not {_size(tensor.shape)}"
        elif (form := _form(has[name])) != (wanted := _form(tensor)):
            yield f"its {name} holds {form}, not {wanted}"
    for name, tensor in has.items():
        if name not in wants:
            yield f"its {name} {_size(tensor.shape)} is not in the network"


def _form(tensor: Tensor) -> str:
    for test, words in FORMS.items():
        found = getattr(tensor, test)
        if found() if callable(found) else found:
            return words
    return "truth values" if tensor.dtype == torch.bool else "whole numbers"


def _size(shape: Shape) -> str:
    return " x ".join(map(str, shape)) or "one number"


def _nearest(has: State, shape: Shape, classes: int, but: str) -> str:
    """A clause that names the built-in network with most of these tensors; empty if none has."""
    best, fits, of = "", 0, 1
    for name in NETWORKS:
        try:
            with torch.device("meta"):  # nothing is drawn
                wants = networks.build(name, shape, classes, 0.0).state_dict()
        except BadInput:
            continue  # it cannot take such records
        found = sum(n in has and has[n].shape == tensor.shape for n, tensor in wants.items())
        if name != but and found / len(wants) > fits / of:
            best, fits, of = name, found, len(wants)
    if not best:
        return ""
    return f"; of dpaudit's networks {best} is nearest, {fits} of its {of} tensors fit"


def buffers(network: Any) -> State:
    """The floating-point buffers of a network, but those of normalisation layers."""
    if not isinstance(network, nn.Module):
        return {}
    known = {
        id(buffer)
        for layer in network.modules()
        if isinstance(layer, (_BatchNorm, _InstanceNorm))
        for buffer in layer.buffers()
    }
    return {
        name: buffer.detach().clone()
        for name, buffer in network.named_buffers()
        if id(buffer) not in known and buffer.is_floating_point()
    }


def layer_warnings(network: nn.Module, untrained: State | None = None) -> list[str]:
    """Warnings of layers for which no accounting of DP-SGD holds, with the reason.

    `untrained` are the buffers of the network before it was given what it has learned.
    """
    now, layers = buffers(network), list(network.named_modules())
    mixing = [n for n, layer in layers if isinstance(layer, _BatchNorm)]
    tracking = [
        n for n, layer in layers if isinstance(layer, _InstanceNorm) and layer.track_running_stats
    ]
    scaling = [n for n, layer in layers if getattr(layer, "max_norm", None) is not None]
    changed = [n for n, old in (untrained or {}).items() if not torch.equal(now[n], old)]
    reasons = {
        "batch normalisation ({}), which mixes the records of a batch and keeps their statistics "
        "without noise: clipping per record does not bound the influence of one of them, so that "
        "no accountant's epsilon holds; take GroupNorm instead": mixing,
        "instance normalisation that keeps running statistics ({}) of the records without noise, "
        "which no accountant's epsilon covers; set track_running_stats=False": tracking,
        "an embedding with max_norm ({}), which scales down, without noise, the rows that a batch "
        "looks up: they show which records were in it, and no accountant's epsilon covers that; "
        "leave max_norm out": scaling,
        "buffers that are not those of an untrained one ({}): a training keeps information on its "
        "records there without noise, and no accountant's epsilon covers it, unless it follows "
        "from the parameters or was drawn at random": changed,
    }
    return [f"the network has {r.format(excerpt(names))}" for r, names in reasons.items() if names]
