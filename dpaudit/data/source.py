"""What names a data set: a file's path, a folder's path or a plug-in's name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpaudit import registry
from dpaudit.checks import refuse
from dpaudit.data.csv_table import Csv
from dpaudit.data.folder import ImageFolder
from dpaudit.data.npz import Npz
from dpaudit.errors import BadInput
from dpaudit.protocols import Loader

FLAGS = {
    "root": "--data-root",
    "download": "--download",
    "label": "--label",
    "bounds": "--bounds",
    "ignore": "--ignore",
}
"""What may be said of a data set beside its name, as the command line spells it."""

HOW = (
    "a file is named by its path, which ends in .npz, .csv or .csv.gz, "
    "and a folder of images by its path, such as ./images"
)

BARE = {
    "npz": "npz is a kind of file; name the file by its path, which ends in .npz",
    "csv": "csv is a kind of file; name the file by its path, which ends in .csv or .csv.gz",
    "folder": "folder is a kind of data; name the folder by its path, such as ./images",
}
"""The loaders that are known by a name, for `dpaudit list`, but used by a path."""


def loader(source: str, options: Mapping[str, Any]) -> Loader:
    """What reads the source, given the options that it asks for; an option unasked is refused."""
    if source in BARE:
        raise BadInput(BARE[source], "needs-path", option="data", value=source)
    by_path = _by_path(source)
    asked = inspect.signature(by_path or _plugin(source)).parameters
    # Not `if value`: an empty text was said, and must not be passed over.
    given = {name: it for name, it in options.items() if it not in (None, False, ())}
    refuse([_unasked(source, [name for name in given if name not in asked])])
    if by_path:
        return by_path(source, **given)
    # What was not said is offered only where it is required: its own default is the loader's.
    required = {name: options[name] for name in options if _required(asked.get(name))}
    made: Loader = registry.make("data", source, **{**required, **given})
    return made


def absolute(source: str) -> str:
    """A path as an absolute one, so that it means the same from another folder; a name as is."""
    if source in BARE or not _by_path(source):
        return source
    return os.path.abspath(os.path.expanduser(source))


def _by_path(source: str) -> Callable[..., Loader] | None:
    """What reads a path; None for a name, which wins over a folder of the same name."""
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
        known = registry.unknown("data", source, registry.names("data"))
        raise BadInput(f"{known} ({HOW})", "unknown-name", option="data", value=source)
    plugin: Callable[..., Any] = registry.load("data", source)
    return plugin


def _required(parameter: inspect.Parameter | None) -> bool:
    return parameter is not None and parameter.default is parameter.empty


def _unasked(source: str, names: Sequence[str]) -> BadInput | None:
    if not names:
        return None
    flags = " and no ".join(FLAGS[name] for name in names)
    said = f"{source} takes no {flags}; leave {'it' if len(names) == 1 else 'them'} out"
    return BadInput(said, "no-effect", option=names[0], value=list(names))
