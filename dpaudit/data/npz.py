"""The arrays of a .npz file. Their headers are read first: a small file can declare any amount."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from dpaudit import files
from dpaudit.checks import listed, refuse
from dpaudit.data.arrays import as_records, form_problems, problems, problems_of_few
from dpaudit.data.split import split
from dpaudit.errors import BadInput
from dpaudit.files import in_file, open_file
from dpaudit.protocols import Loader
from dpaudit.types import Array, Data, Records

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""The first bytes of a zip file, and those of one that is empty."""

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
"""Readers by version; version 3 is only for records whose fields have names."""

LONGEST_HEADER = 10_000
"""Bytes, the most that numpy takes; a longer header would be read into memory first."""


class Unusable(BadInput):
    """Why an archive or one of its arrays is not taken; the file's name is not said."""


class Archive:
    """A .npz file that is open; `way_out` says how to save another. No pickle is ever read."""

    def __init__(self, file: BinaryIO, way_out: str) -> None:
        start = file.read(len(npy.MAGIC_PREFIX))
        file.seek(0)
        if start == npy.MAGIC_PREFIX:
            raise Unusable(f"it is a single array without a name; {way_out}", "single-array")
        if not start.startswith(ZIP):
            raise Unusable(f"it is not a .npz file; {way_out}", "wrong-format")
        try:
            self._zip = zipfile.ZipFile(file)
        except Exception as error:
            # A damaged archive makes zipfile raise many things, not only its own BadZipFile.
            raise Unusable("it is cut short or damaged; save it again", "file-damaged") from error
        self._entries = {e.filename.removesuffix(".npy"): e for e in self._zip.infolist()}
        self._way_out = way_out

    @property
    def names(self) -> list[str]:
        """All arrays, by name."""
        return list(self._entries)

    def blank(self, name: str) -> Array:
        """Zeros of the shape and type that an array declares, which take no memory.

        An array that holds another number of bytes than it declares is refused.
        """
        entry = self._entries[name]
        try:
            with self._zip.open(entry) as member:
                start = member.read(npy.MAGIC_LEN)
                if not start.startswith(npy.MAGIC_PREFIX):
                    raise Unusable(
                        f"{name} is not an array; {self._way_out}", "not-an-array", option=name
                    )
                length = int.from_bytes(member.read(2 if start[-2] == 1 else 4), "little")
                if length > LONGEST_HEADER:
                    raise Unusable(
                        f"{name} is damaged (a header of {length:,} bytes); {self._way_out}",
                        "file-damaged",
                        option=name,
                        value=length,
                    )
                member.seek(npy.MAGIC_LEN)
                shape, _, dtype = HEADERS[start[-2], start[-1]](member)
                there = entry.file_size - member.tell()
            if dtype.hasobject:
                raise Unusable(
                    f"{name} holds Python objects, which may run code and are not opened; "
                    "save it as numbers",
                    "holds-objects",
                    option=name,
                )
            blank = np.broadcast_to(np.zeros((), dtype), shape)
        except BadInput:
            raise
        except Exception as error:
            raise _damaged(name, error) from error
        if blank.nbytes != there:
            raise Unusable(
                f"{name} is damaged (it declares {blank.nbytes:,} bytes and holds {there:,}); "
                "save it again",
                "array-damaged",
                option=name,
                value=[blank.nbytes, there],
            )
        return blank

    def read(self, name: str) -> Array:
        """The array itself; look at its blank first."""
        try:
            with self._zip.open(self._entries[name]) as member:
                array: Array = npy.read_array(member, allow_pickle=False)
                member.read(1)  # at the end the checksum is compared
            return array
        except MemoryError:
            raise Unusable(
                f"{name} does not fit into memory; save fewer records", "out-of-memory", option=name
            ) from None
        except Exception as error:
            raise _damaged(name, error) from error


def refuse_too_large(blanks: Iterable[Array]) -> None:
    """Refuse arrays that together take more memory than data may have."""
    # As they are, or as the float32 that they become.
    taken, most = sum(it.size * max(it.itemsize, 4) for it in blanks), files.memory_limit()
    if taken > most:
        raise Unusable(
            f"its arrays take {files.size_text(taken)} of memory, and a quarter of what there is "
            f"here, {files.size_text(most)}, may be data; save fewer records",
            "file-too-large",
            value=taken,
        )


def _damaged(name: str, error: Exception) -> Unusable:
    """Whatever the bytes of an array do to zipfile, zlib and numpy, as one sentence."""
    reason = " ".join(str(error).split())[:100] or type(error).__name__
    return Unusable(f"{name} is damaged ({reason}); save it again", "array-damaged", option=name)


# ----------------------------------------------------------------
# A user's own data in numpy's file format: read as data, never as a pickle.


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
    with open_file(Path(os.path.expanduser(path)), "a .npz file") as file:
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
        with open_file(path, wanted) as content:
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
        with open_file(path, "a .npz file", follow) as file:
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
