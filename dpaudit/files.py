"""Files of the user, opened with care, and files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dpaudit.errors import BadInput, is_full, kind_of, write_error

LOOP = "it is a loop of symbolic links; make it lead to {wanted}"


@contextmanager
def open_file(path: Path, wanted: str, follow: bool = True) -> Iterator[BinaryIO]:
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


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file by new content; a failure at any instant leaves the old one as it was."""
    given = Path(path)
    try:
        if given.exists() and not given.is_file():
            given.write_bytes(content)  # a pipe or a terminal: nothing to replace
        else:
            _replace(Path(os.path.realpath(given)), content)
    except OSError as error:
        raise write_error(path, error) from error


def probe_folder(folder: Path) -> None:
    """Refuse a folder that cannot be made, and leave everything as it was."""
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise kind_of(error, BadInput)(
            f"the folder {folder} cannot be made ({error.strerror or error}); choose another --out",
            "" if is_full(error) else "folder-unwritable",
            option="out",
            value=str(folder),
        ) from error
    finally:
        for path in absent:
            with suppress(OSError):
                path.rmdir()


def _replace(target: Path, content: bytes) -> None:
    # Not tempfile: its files are for the owner's eyes only, and these are for others too.
    fresh = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    fresh.unlink(missing_ok=True)  # of a killed process, or a link that leads elsewhere
    try:
        with fresh.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)


# ----------------------------------------------------------------
# How much memory data may take: files are measured against it before they are read.


SHARE = 4
"""One part in so many of the memory may be data; the others are for copies and for training."""

CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""Where Linux says how much memory the processes of a container may have."""


def memory_limit() -> int:
    """The bytes that the arrays of a data set may take: a quarter of the memory there is."""
    there = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # no container, or one without a limit
        there.append(int(CONTAINER.read_text()))
    return min(there) // SHARE


def size_text(size: int) -> str:
    """A number of bytes in the unit that suits it."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):,.1f} {unit}"
    return f"{size} bytes"
