"""A user's own data in numpy's file format: read as data, never as a pickle."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.checks import listed, refuse
from dpaudit.data.archive import Archive, Unusable, refuse_too_large
from dpaudit.data.arrays import as_records, form_problems, problems, problems_of_few
from dpaudit.data.split import split
from dpaudit.errors import BadInput
from dpaudit.files import in_file, opened
from dpaudit.protocols import Loader
from dpaudit.types import Array, Data, Records

TRAIN_TEST = ("x_train", "y_train", "x_test", "y_test")
WHOLE = ("x", "y")
WAY_OUT = (
    "save it with np.savez(path, x=x, y=y) "
    "or np.savez(path, x_train=..., y_train=..., x_test=..., y_test=...)"
)


@dataclass(frozen=True)
class Npz(Loader):
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
    on. All problems of a file are reported at once. Pickled arrays are never opened, and arrays
    that would take more than a quarter of the memory are refused before they are unpacked.
    """

    path: str | os.PathLike[str]

    def load(self, seed: int) -> Data:
        path = Path(os.path.expanduser(self.path))
        try:
            arrays, unreadable = _read(path)
            refuse([*unreadable, *problems(arrays)], about=str(path))
            return _data(path.name, arrays, seed)
        except MemoryError as error:
            raise _too_much(path) from error


def layout(path: str | os.PathLike[str]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """The shape of one of a file's records, the type of its values, whether it has a test set."""
    with opened(Path(os.path.expanduser(path)), "a .npz file") as file:
        archive = Archive(file, WAY_OUT)
        whole = "x_train" not in archive.names
        x = archive.blank("x" if whole else "x_train")
    return x.shape[1:], x.dtype, not whole


def few(path: str | os.PathLike[str], follow: bool = True) -> Records:
    """All records of a file with x, y, of which there may be any number of each class.

    Without `follow`, a symbolic link is refused.
    """
    file = Path(os.path.expanduser(path))
    try:
        arrays, unreadable = _read(file, WHOLE, follow)
        refuse(unreadable, about=str(file))
        refuse(problems_of_few(arrays["x"], arrays["y"]), about=str(file))
        return as_records(arrays["x"], arrays["y"])
    except MemoryError as error:
        raise _too_much(file) from error


def named(
    path: Path, names: Sequence[str], way_out: str, wanted: str = "a .npz file"
) -> tuple[dict[str, Array], list[str]]:
    """Those of the named arrays that a file of numbers has, and the names of all that it has."""
    try:
        with opened(path, wanted) as content:
            archive = Archive(content, way_out)
            present = [name for name in names if name in archive.names]
            refuse_too_large(archive.blank(name) for name in present)
            return {name: archive.read(name) for name in present}, archive.names
    except Unusable as error:
        raise in_file(path, error) from error


def _data(name: str, arrays: Mapping[str, Array], seed: int) -> Data:
    if "x" in arrays:
        records, test = as_records(arrays["x"], arrays["y"]), None
    else:
        records = as_records(arrays["x_train"], arrays["y_train"])
        test = as_records(arrays["x_test"], arrays["y_test"])
    return split(name, records, classes=int(records.y.max()) + 1, seed=seed, test=test)


def _too_much(path: Path) -> BadInput:
    said = "it does not fit into memory; save fewer records"
    return BadInput(f"{path}: {said}", "out-of-memory", value=str(path))


def _read(
    path: Path, wanted: Sequence[str] | None = None, follow: bool = True
) -> tuple[dict[str, Array], list[BadInput]]:
    """The arrays that can be read, and why the others cannot.

    An array whose shape or type is of no use is not unpacked: zeros take its place.
    """
    try:
        with opened(path, "a .npz file", follow) as file:
            archive = Archive(file, WAY_OUT)
            blanks, unreadable = _blanks(archive, wanted)
            sound = [name for name, blank in blanks.items() if not any(form_problems(name, blank))]
            refuse_too_large(blanks[name] for name in sound)
            arrays: dict[str, Array] = {}
            for name, blank in blanks.items():
                with _told(unreadable):
                    arrays[name] = archive.read(name) if name in sound else blank
            return arrays, unreadable
    except Unusable as error:
        raise in_file(path, error) from error


def _blanks(
    archive: Archive, wanted: Sequence[str] | None
) -> tuple[dict[str, Array], list[BadInput]]:
    """What the wanted arrays declare to be, and why others are not there."""
    names = archive.names
    wanted = wanted or (TRAIN_TEST if set(TRAIN_TEST) & set(names) else WHOLE)
    blanks: dict[str, Array] = {}
    unreadable: list[BadInput] = []
    if missing := [name for name in wanted if name not in names]:
        there = listed([repr(name) for name in names], most=10) or "nothing"
        said = f"it has no {', no '.join(missing)} (it has {there}); {WAY_OUT}"
        unreadable.append(BadInput(said, "missing-arrays", value=missing))
    for name in wanted:
        if name in names:
            with _told(unreadable):
                blanks[name] = archive.blank(name)
    return blanks, unreadable


@contextmanager
def _told(problems: list[BadInput]) -> Iterator[None]:
    """Add the reason to a list where an array cannot be used."""
    try:
        yield
    except Unusable as error:
        problems.append(error)
