"""A user's file, opened; whatever is in the way is said in one sentence."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dpaudit.errors import BadInput

LOOP = "it is a loop of symbolic links; make it lead to {wanted}"


@contextmanager
def opened(path: Path, wanted: str, follow: bool = True) -> Iterator[BinaryIO]:
    """The bytes of a regular file; `wanted` says what it should be, such as 'a .npz file'.

    A path that the user names may be a symbolic link. A file within a folder that somebody else
    made must not be one: without `follow` it is refused.
    """
    try:
        with _open(path, wanted, follow) as file:
            yield file
    except FileNotFoundError as error:
        said = "there is no such file; check the path"
        raise BadInput(f"{path}: {said}", "file-missing", value=str(path)) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            said = LOOP.format(wanted=wanted)
            raise BadInput(f"{path}: {said}", "link-loop", value=str(path)) from error
        said = f"it cannot be read ({error.strerror or error}); check the path and its permissions"
        raise BadInput(f"{path}: {said}", "file-unreadable", value=str(path)) from error


def in_file(path: str | os.PathLike[str], error: BadInput) -> BadInput:
    """The same error with the name of the file that it is about."""
    return BadInput(f"{path}: {error}", error.code, option=error.option, value=error.value)


def regular(path: Path, flags: int, wanted: str, follow: bool = True) -> int:
    """The descriptor of a regular file that is opened with `flags`, or one sentence.

    It is the opened file that is looked at: what a path leads to may change. To open a pipe does
    not wait for its other end.
    """
    if not follow and path.is_symlink():
        said = f"it is a symbolic link; {wanted} must be a regular file"
        raise BadInput(f"{path}: {said}", "is-link", value=str(path))
    held = 0 if follow else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | held | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except IsADirectoryError:
        raise _irregular(path, True, wanted) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise _irregular(path, stat.S_ISDIR(mode), wanted)


def _irregular(path: Path, folder: bool, wanted: str) -> BadInput:
    what = "it is a folder" if folder else "it is not a regular file"
    code = "is-folder" if folder else "not-regular"
    return BadInput(f"{path}: {what}; give the path of {wanted}", code, value=str(path))


def _open(path: Path, wanted: str, follow: bool) -> BinaryIO:
    try:
        return os.fdopen(regular(path, os.O_RDONLY, wanted, follow), "rb")
    except ValueError as error:
        if isinstance(error, BadInput):
            raise
        raise FileNotFoundError from error  # no file's name can have a NUL
