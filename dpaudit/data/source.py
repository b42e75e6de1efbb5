"""Load a data set by a file's path, a folder's path or a plug-in's name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpaudit import registry
from dpaudit.checks import at_least, refuse
from dpaudit.data.arrays import hash_arrays
from dpaudit.data.csv_table import Csv
from dpaudit.data.folder import ImageFolder
from dpaudit.data.npz import Npz
from dpaudit.data.split import subset
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.protocols import Loader
from dpaudit.types import Data

BARE = {
    "npz": "npz is a kind of file; give the file's path, which ends in .npz",
    "csv": "csv is a kind of file; give the file's path, which ends in .csv or .csv.gz",
    "folder": "folder is a kind of data; give the folder's path, such as ./images",
}
"""Loaders that `dpaudit list` names but that are used by a path, each with the refusal."""


def load(
    source: str,
    seed: int = 0,
    *,
    size: int | None = None,
    root: str | os.PathLike[str] | None = None,
    download: bool = False,
    label: str | None = None,
    bounds: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Data:
    """Load the data set of that name, or the file or folder at that path, split by the seed.

    A path ends in .npz, .csv or .csv.gz, or leads to a folder of images; write ./name for a
    folder that has the name of a data set. `size` is the number of records of the pool; the
    other sets shrink in proportion. The other options go to the loaders that take them: `root`
    and `download` are for downloaded sets; `label`, `bounds` and `ignore` describe the columns
    of a table.
    """
    refuse([None if size is None else at_least("size", size, 1)])
    options = {
        "root": root,
        "download": bool(download),
        "label": label,
        "bounds": _texts(bounds),
        "ignore": _texts(ignore),
    }
    with wrap_errors(f"the data set {source}"):
        data = make_loader(source, options).load(seed)
        if not isinstance(data, Data):
            raise TypeError(f"it returned {type(data).__name__}, not Data")
    return data if size is None else subset(data, size, seed)


def fingerprint(data: Data) -> str:
    """SHA-256 of all that training can see: shapes, types, bytes and the number of classes.

    The configuration of a run holds it, so that a run cannot resume on other data.
    """
    return hash_arrays(f"classes {data.classes}", data.pool, data.shadow, data.test)


def make_loader(source: str, options: Mapping[str, Any]) -> Loader:
    """Return the loader of a source; refuse options that it does not take."""
    if source in BARE:
        raise BadInput(BARE[source], "needs-path", option="data", value=source)
    by_path = _path_loader(source)
    parameters = inspect.signature(by_path or _plugin(source)).parameters
    # Not `if value`: an empty text is a value, which must be passed on.
    given = {name: it for name, it in options.items() if it not in (None, False, ())}
    if unused := [name for name in given if name not in parameters]:
        flags = ["--data-root" if name == "root" else f"--{name}" for name in unused]
        them = "it" if len(unused) == 1 else "them"
        text = f"{source} takes no {' and no '.join(flags)}; leave {them} out"
        raise BadInput(text, "no-effect", option=unused[0], value=unused)
    if by_path:
        return by_path(source, **given)
    # Options that are not given are passed on only where the loader has no default.
    required = {
        name: options[name]
        for name, parameter in parameters.items()
        if name in options and parameter.default is parameter.empty
    }
    loader: Loader = registry.make("data", source, **{**required, **given})
    return loader


def absolute(source: str) -> str:
    """Return an absolute path for a path, and a name as it is."""
    if source in BARE or not _path_loader(source):
        return source
    return os.path.abspath(os.path.expanduser(source))


def _path_loader(source: str) -> Callable[..., Loader] | None:
    """Return the loader of a path; None for a name, also where a folder has the same name."""
    if source.lower().endswith(".npz"):
        return Npz
    if source.lower().endswith((".csv", ".csv.gz")):
        return Csv
    if source in registry.names("data"):
        return None
    has_folders = any(sep in source for sep in (os.sep, os.altsep) if sep)
    return ImageFolder if has_folders or os.path.isdir(os.path.expanduser(source)) else None


def _plugin(source: str) -> Callable[..., Any]:
    if source not in registry.names("data"):
        text = (
            f"{registry.unknown('data', source, registry.names('data'))} (for a file give its "
            "path, which ends in .npz, .csv or .csv.gz; for a folder of images its path, such as "
            "./images)"
        )
        raise BadInput(text, "unknown-name", option="data", value=source)
    plugin: Callable[..., Any] = registry.load("data", source)
    return plugin


def _texts(given: Sequence[str]) -> tuple[str, ...]:
    """Several texts; a single one is not split into letters."""
    return (given,) if isinstance(given, str) else tuple(given)
