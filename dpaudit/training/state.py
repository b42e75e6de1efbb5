"""A checkpoint on disk: tensors by name, read as data, never as code.

Pickles run code when they are loaded. Only torch's restricted reader (`weights_only=True`) opens
one here, which knows tensors and plain containers and refuses everything else.
"""

from __future__ import annotations

import pickle
import warnings
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dpaudit.errors import BadInput
from dpaudit.files import opened

State = dict[str, Tensor]

RECIPE = "torch.save(model.state_dict(), 'model.pt')"
WRAPPED = ("state_dict", "model_state_dict", "module_state_dict", "model", "module")
"""Where training loops put the parameters beside other things."""

PREFIXES = ("_module.", "module.", "_orig_mod.")
"""What Opacus, DataParallel and torch.compile put before every name."""


def read(path: Path) -> State:
    """The tensors of a .pt, .pth or .safetensors file, by their names there."""
    with opened(path, "a checkpoint") as file:
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
