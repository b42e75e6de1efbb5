"""A user's file, opened; whatever is in the way is said in one sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dpaudit.errors import BadInput


@contextmanager
def opened(path: Path, wanted: str) -> Iterator[BinaryIO]:
    """The bytes of a regular file; `wanted` says what it should be, such as 'a .npz file'."""
    try:
        if os.path.isdir(path):
            raise BadInput(f"{path}: it is a folder; give the path of {wanted}")
        if path.exists() and not path.is_file():
            # A pipe or a device would be waited for, perhaps for ever.
            raise BadInput(f"{path}: it is not a regular file; give the path of {wanted}")
        with _open(path) as file:
            yield file
    except FileNotFoundError as error:
        raise BadInput(f"{path}: there is no such file; check the path") from error
    except OSError as error:
        said = f"it cannot be read ({error.strerror or error}); check the path and its permissions"
        raise BadInput(f"{path}: {said}") from error


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except ValueError as error:
        raise FileNotFoundError from error  # no file's name can have a NUL
