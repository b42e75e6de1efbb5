"""The arrays of a .npz file. Their headers are read first: a small file can declare any amount."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from dpaudit.data import memory
from dpaudit.errors import BadInput
from dpaudit.types import Array

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
    taken, most = sum(it.size * max(it.itemsize, 4) for it in blanks), memory.most()
    if taken > most:
        raise Unusable(
            f"its arrays take {memory.told(taken)} of memory, and a quarter of what there is "
            f"here, {memory.told(most)}, may be data; save fewer records",
            "file-too-large",
            value=taken,
        )


def _damaged(name: str, error: Exception) -> Unusable:
    """Whatever the bytes of an array do to zipfile, zlib and numpy, as one sentence."""
    reason = " ".join(str(error).split())[:100] or type(error).__name__
    return Unusable(f"{name} is damaged ({reason}); save it again", "array-damaged", option=name)
