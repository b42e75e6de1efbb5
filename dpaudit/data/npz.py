"""A user's .npz file: its arrays are read as data, never as a pickle, and each header first."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from dpaudit import files
from dpaudit.checks import excerpt, refuse
from dpaudit.data.arrays import as_records, form_problems, problems, problems_of_few
from dpaudit.data.split import split
from dpaudit.errors import BadInput, one_line
from dpaudit.files import add_path, open_file
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
    If a file has one of the four names, it must have all four; other arrays are ignored.

    x is (n, features), (n, height, width), (n, channels, height, width) or (n, height, width,
    channels), with 1, 3 or 4 channels; if both of the last two are possible, channels come
    first. A flat record stays flat, as an image of height 1. uint8 is divided by 255; floats
    and bools are used as they are (images should be in [0, 1]); other integers are refused,
    because their scale is unknown.

    y is (n,) or (n, 1): whole numbers 0, 1, 2 and so on, each on at least 9 records to train
    on. All problems of a file are reported at once. Pickled arrays are never opened, and arrays
    that would take more than a quarter of the memory are refused before they are unpacked.
    """

    path: str | os.PathLike[str]

    def load(self, seed: int) -> Data:
        path = Path(os.path.expanduser(self.path))
        with add_path(path):
            arrays, unreadable = _read(path)
            refuse([*unreadable, *problems(arrays)])
            if "x" in arrays:
                records, test = as_records(arrays["x"], arrays["y"]), None
            else:
                records = as_records(arrays["x_train"], arrays["y_train"])
                test = as_records(arrays["x_test"], arrays["y_test"])
            return split(path.name, records, int(records.y.max()) + 1, seed, test=test)


def record_layout(path: str | os.PathLike[str]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """The shape of one of a file's records, the type of its values, whether it has a test set."""
    with open_file(Path(os.path.expanduser(path)), "a .npz file") as file:
        archive = Archive(file, WAY_OUT)
        whole = "x_train" not in archive.names
        x = archive.blank("x" if whole else "x_train")
    return x.shape[1:], x.dtype, not whole


def read_records(path: str | os.PathLike[str], follow: bool = True) -> Records:
    """Read all records of a file with x, y; any number of each class will do.

    Without `follow`, a symbolic link is refused.
    """
    file = Path(os.path.expanduser(path))
    with add_path(file):
        arrays, unreadable = _read(file, WHOLE, follow)
        refuse(unreadable)
        refuse(problems_of_few(arrays["x"], arrays["y"]))
        return as_records(arrays["x"], arrays["y"])


def read_arrays(
    path: Path, names: Sequence[str], way_out: str, wanted: str = "a .npz file"
) -> tuple[dict[str, Array], list[str]]:
    """Read those of the named arrays that a file has; return them and the names of all its arrays.

    `way_out` says how to save a file that can be read.
    """
    with open_file(path, wanted) as content, add_path(path):
        archive = Archive(content, way_out)
        present = [name for name in names if name in archive.names]
        _refuse_too_large(archive.blank(name) for name in present)
        return {name: archive.read(name) for name in present}, archive.names


def missing_arrays(missing: Sequence[str], there: Sequence[str], way_out: str) -> BadInput:
    """The problem of arrays that a file lacks, beside the names of those that it has."""
    names = excerpt([repr(name) for name in there], most=10) or "nothing"
    text = f"it has no {', no '.join(missing)} (it has {names}); {way_out}"
    return BadInput(text, "missing-arrays", value=missing)


def _read(
    path: Path, wanted: Sequence[str] = (), follow: bool = True
) -> tuple[dict[str, Array], list[BadInput]]:
    """Read the arrays that can be read; return the problems of the others.

    An array whose shape or type is of no use is not unpacked: zeros take its place.
    """
    unreadable: list[BadInput] = []
    blanks: dict[str, Array] = {}
    arrays: dict[str, Array] = {}
    with open_file(path, "a .npz file", follow) as file:
        archive = Archive(file, WAY_OUT)
        there = archive.names
        wanted = wanted or (TRAIN_TEST if set(TRAIN_TEST) & set(there) else WHOLE)
        if missing := [name for name in wanted if name not in there]:
            unreadable.append(missing_arrays(missing, there, WAY_OUT))
        for name in wanted:
            with _collect(unreadable):
                if name in there:
                    blanks[name] = archive.blank(name)
        sound = [name for name, blank in blanks.items() if not any(form_problems(name, blank))]
        _refuse_too_large(blanks[name] for name in sound)
        for name, blank in blanks.items():
            with _collect(unreadable):
                arrays[name] = archive.read(name) if name in sound else blank
    return arrays, unreadable


@contextmanager
def _collect(problems: list[BadInput]) -> Iterator[None]:
    """Add a refusal to a list instead of raising it."""
    try:
        yield
    except BadInput as error:
        problems.append(error)


ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""The first bytes of a zip file, and those of one that is empty."""

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
"""Readers by version; version 3 is only for records whose fields have names."""

LONGEST_HEADER = 10_000
"""Bytes, the most that numpy accepts; numpy would read a longer header into memory first."""


class Archive:
    """An open .npz file; `way_out` says how to save another.

    A small file can declare arrays of any size, so that headers are read before arrays. No pickle
    is ever read.
    """

    def __init__(self, file: BinaryIO, way_out: str) -> None:
        start = file.read(len(npy.MAGIC_PREFIX))
        file.seek(0)
        if start == npy.MAGIC_PREFIX:
            raise BadInput(f"it is a single array without a name; {way_out}", "single-array")
        if not start.startswith(ZIP):
            raise BadInput(f"it is not a .npz file; {way_out}", "wrong-format")
        try:
            self._zip = zipfile.ZipFile(file)
        except Exception as error:
            # A damaged archive makes zipfile raise many errors, not only its own BadZipFile.
            raise BadInput("it is cut short or damaged; save it again", "file-damaged") from error
        self._entries = {e.filename.removesuffix(".npy"): e for e in self._zip.infolist()}
        self._way_out = way_out
        self.names = list(self._entries)

    def blank(self, name: str) -> Array:
        """Zeros of the shape and type that an array declares, which take no memory.

        An array that holds another number of bytes than it declares is refused.
        """
        with self._member(name) as member:
            start = member.read(npy.MAGIC_LEN)
            if not start.startswith(npy.MAGIC_PREFIX):
                text = f"{name} is not an array; {self._way_out}"
                raise BadInput(text, "not-an-array", option=name)
            length = int.from_bytes(member.read(2 if start[-2] == 1 else 4), "little")
            if length > LONGEST_HEADER:
                text = f"{name} is damaged (a header of {length:,} bytes); {self._way_out}"
                raise BadInput(text, "file-damaged", option=name, value=length)
            member.seek(npy.MAGIC_LEN)
            shape, _, dtype = HEADERS[start[-2], start[-1]](member)
            there = self._entries[name].file_size - member.tell()
            if dtype.hasobject:
                text = f"{name} holds Python objects, which may run code; save it as numbers"
                raise BadInput(text, "holds-objects", option=name)
            blank = np.broadcast_to(np.zeros((), dtype), shape)
        if blank.nbytes != there:
            text = f"{name} is damaged: {there:,} bytes instead of {blank.nbytes:,}; save it again"
            raise BadInput(text, "array-damaged", option=name, value=[blank.nbytes, there])
        return blank

    def read(self, name: str) -> Array:
        """The array itself; check its blank first."""
        with self._member(name) as member:
            array: Array = npy.read_array(member, allow_pickle=False)
            member.read(1)  # at the end the checksum is compared
        return array

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        """Open an array; turn every error of zipfile, zlib and numpy into one refusal."""
        try:
            with self._zip.open(self._entries[name]) as member:
                yield member
        except (BadInput, MemoryError):
            raise
        except Exception as error:
            text = f"{name} is damaged ({one_line(error, 100)}); save it again"
            raise BadInput(text, "array-damaged", option=name) from error


def _refuse_too_large(blanks: Iterable[Array]) -> None:
    """Refuse arrays that together take more memory than data may have."""
    # In their own type, or in the float32 that they become.
    size, most = sum(it.size * max(it.itemsize, 4) for it in blanks), files.memory_limit()
    if size > most:
        text = f"its arrays take {files.size_text(size)} of memory; data may take a quarter of it, "
        text += f"here {files.size_text(most)}; save fewer records"
        raise BadInput(text, "file-too-large", value=size)
