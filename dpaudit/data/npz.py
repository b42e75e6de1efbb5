"""A user's own data in numpy's file format: read as data, never as a pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile

from dpaudit.checks import listed, refuse
from dpaudit.data.arrays import as_records, problems, problems_of_few
from dpaudit.data.split import split
from dpaudit.errors import BadInput
from dpaudit.opened import opened
from dpaudit.types import Array, Data, Records

TRAIN_TEST = ("x_train", "y_train", "x_test", "y_test")
WHOLE = ("x", "y")
WAY_OUT = (
    "save it with np.savez(path, x=x, y=y) "
    "or np.savez(path, x_train=..., y_train=..., x_test=..., y_test=...)"
)


@dataclass(frozen=True)
class Npz:
    """Your own data: a .npz file with x_train, y_train, x_test, y_test, or with x, y.

    Of x_train 5 parts in 7 become the pool for D and 2 shadow models' own; x_test is the test
    set. Of x 1000 parts in 1797 become the pool, 400 shadow models' own and 397 the test set.
    Where any of the four names is there, all four must be; other arrays are ignored.

    x is (n, features), (n, height, width), (n, channels, height, width) or (n, height, width,
    channels), with 1, 3 or 4 channels; where the last two could both be meant, channels come
    first. A flat record stays flat, as an image of height 1. uint8 is divided by 255; floats
    and bools are taken as they are (images are expected in [0, 1]); other integers are
    refused, because their scale cannot be known.

    y is (n,) or (n, 1): whole numbers 0, 1, 2 and so on, each on at least 9 records to train
    on. All problems of a file are reported at once. Pickled arrays are never opened.
    """

    path: str | os.PathLike[str]

    def load(self, seed: int) -> Data:
        path = Path(os.path.expanduser(self.path))
        try:
            arrays, unreadable = _read(path)
            refuse([*unreadable, *problems(arrays)], about=str(path))
            return _data(path.name, arrays, seed)
        except MemoryError as error:
            raise BadInput(f"{path}: it does not fit into memory; save fewer records") from error


def layout(path: str | os.PathLike[str]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """The shape of one of a file's records, the type of its values, whether it has a test set."""
    arrays, _ = _read(Path(os.path.expanduser(path)))
    x = arrays["x" if "x" in arrays else "x_train"]
    return x.shape[1:], x.dtype, "x" not in arrays


def few(path: str | os.PathLike[str]) -> Records:
    """All records of a file with x, y, of which there may be any number of each class."""
    file = Path(os.path.expanduser(path))
    try:
        arrays, unreadable = _read(file, wanted=WHOLE)
        refuse(unreadable, about=str(file))
        refuse(problems_of_few(arrays["x"], arrays["y"]), about=str(file))
        return as_records(arrays["x"], arrays["y"])
    except MemoryError as error:
        raise BadInput(f"{file}: it does not fit into memory; save fewer records") from error


def named(
    path: Path, names: Sequence[str], way_out: str, wanted: str = "a .npz file"
) -> tuple[dict[str, Array], list[str]]:
    """Those of the named arrays that a file of numbers has, and the names of all that it has."""
    try:
        with opened(path, wanted) as content:
            archive = np.load(content, allow_pickle=False)
            if not isinstance(archive, NpzFile):
                raise BadInput(f"{path}: it is a single array without a name; {way_out}")
            found = {name: np.asarray(archive[name]) for name in names if name in archive.files}
            return found, archive.files
    except BadInput:
        raise
    except MemoryError as error:
        raise BadInput(f"{path}: it does not fit into memory; save fewer numbers") from error
    except Exception as error:
        # Damaged archives make zipfile, zlib and numpy raise many things; a pickle is refused.
        raise BadInput(
            f"{path}: it is not a .npz file of numbers, or it is damaged; {way_out}"
        ) from error


def _data(name: str, arrays: Mapping[str, Array], seed: int) -> Data:
    if "x" in arrays:
        records, test = as_records(arrays["x"], arrays["y"]), None
    else:
        records = as_records(arrays["x_train"], arrays["y_train"])
        test = as_records(arrays["x_test"], arrays["y_test"])
    return split(name, records, classes=int(records.y.max()) + 1, seed=seed, test=test)


def _read(path: Path, wanted: Sequence[str] | None = None) -> tuple[dict[str, Array], list[str]]:
    """The arrays that can be read, and why the others cannot."""
    try:
        with opened(path, "a .npz file") as file:
            return _wanted(np.load(file, allow_pickle=False), wanted)
    except (BadInput, MemoryError):
        raise
    except (ValueError, EOFError) as error:
        # numpy takes what it does not know for a pickle, and refuses that.
        raise BadInput(f"{path}: it is not a .npz file; {WAY_OUT}") from error
    except Exception as error:
        # A damaged archive makes zipfile raise many things, not only its own BadZipFile.
        raise BadInput(f"{path}: it is cut short or damaged; save it again") from error


def _wanted(
    archive: NpzFile | Array, wanted: Sequence[str] | None
) -> tuple[dict[str, Array], list[str]]:
    if not isinstance(archive, NpzFile):
        return {}, [f"it is a single array without a name; {WAY_OUT}"]
    names = archive.files
    wanted = wanted or (TRAIN_TEST if set(TRAIN_TEST) & set(names) else WHOLE)
    arrays: dict[str, Array] = {}
    unreadable: list[str] = []
    if missing := [name for name in wanted if name not in names]:
        there = listed([repr(name) for name in names], most=10) or "nothing"
        unreadable.append(f"it has no {', no '.join(missing)} (it has {there}); {WAY_OUT}")
    for name in wanted:
        if name in names:
            try:
                arrays[name] = _array(archive, name)
            except BadInput as error:
                unreadable.append(str(error))
    return arrays, unreadable


def _array(archive: NpzFile, name: str) -> Array:
    """One array; whatever its bytes do to zipfile, zlib and numpy becomes one sentence."""
    try:
        array = archive[name]
    except MemoryError as error:
        raise BadInput(f"{name} does not fit into memory; save fewer records") from error
    except Exception as error:
        if isinstance(error, ValueError) and "allow_pickle" in str(error):
            raise BadInput(
                f"{name} holds Python objects, which may run code and are not opened; "
                "save it as numbers"
            ) from error
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise BadInput(f"{name} is damaged ({reason}); save it again") from error
    if not isinstance(array, np.ndarray):
        raise BadInput(f"{name} is not an array; {WAY_OUT}")
    return array
