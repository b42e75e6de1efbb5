"""Files: reading a user's files safely, writing whole files only, and the limit of memory."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dpaudit.errors import BadInput, kind_of, write_error


@contextmanager
def open_file(path: Path, wanted: str, follow: bool = True) -> Iterator[BinaryIO]:
    """Open a regular file for reading; `wanted` names what it should be, such as 'a .npz file'.

    A path that the user names may be a symbolic link. Without `follow`, for files in a folder that
    somebody else made, a link is refused.
    """
    try:
        with _open(path, wanted, follow) as file:
            yield file
    except FileNotFoundError as error:
        problem = _problem(path, "file-missing", "there is no such file; check the path")
        raise problem from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            sentence = f"it is a loop of symbolic links; make it lead to {wanted}"
            raise _problem(path, "link-loop", sentence) from error
        why = f"it cannot be read ({error.strerror or error}); check the path and its permissions"
        raise _problem(path, "file-unreadable", why) from error


def _problem(path: Path, code: str, sentence: str) -> BadInput:
    return BadInput(f"{path}: {sentence}", code, value=str(path))


@contextmanager
def add_path(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the path before each `BadInput` that lacks it, and report a lack of memory as one."""
    try:
        yield
    except BadInput as error:
        if str(error).startswith(f"{path}: "):
            raise
        raise error.with_sentence(f"{path}: {error}") from error
    except MemoryError as error:
        text = f"{path}: it does not fit into memory; use fewer records"
        raise BadInput(text, "out-of-memory", value=str(path)) from error


def regular(path: Path, flags: int, wanted: str, follow: bool = True) -> int:
    """Return the descriptor of a regular file that is opened with `flags`; refuse any other.

    The opened file is checked, because the path may change. Opening a pipe does not block.
    """
    if not follow and path.is_symlink():
        raise _problem(path, "is-link", f"it is a symbolic link; {wanted} must be a regular file")
    held = 0 if follow else os.O_NOFOLLOW
    is_folder = _problem(path, "is-folder", f"it is a folder; give the path of {wanted}")
    try:
        descriptor = os.open(path, flags | held | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except IsADirectoryError:
        raise is_folder from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise is_folder
    raise _problem(path, "not-regular", f"it is not a regular file; give the path of {wanted}")


def _open(path: Path, wanted: str, follow: bool) -> BinaryIO:
    try:
        return os.fdopen(regular(path, os.O_RDONLY, wanted, follow), "rb")
    except ValueError as error:
        if isinstance(error, BadInput):
            raise
        raise FileNotFoundError from error  # a path with a NUL


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file's content; a failure at any instant leaves the old file."""
    given = Path(path)
    try:
        if given.exists() and not given.is_file():
            given.write_bytes(content)  # a pipe or a terminal: nothing to replace
        else:
            _replace(Path(os.path.realpath(given)), content)
    except OSError as error:
        raise write_error(path, error) from error


def probe_folder(folder: Path) -> None:
    """Refuse a folder that cannot be made; leave the file system unchanged."""
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        sentence = f"the folder {folder} cannot be made ({why}); choose another --out"
        kind = kind_of(error, BadInput)
        raise kind(sentence, "folder-unwritable", option="out", value=str(folder)) from error
    finally:
        for path in absent:
            with suppress(OSError):
                path.rmdir()


def _replace(target: Path, content: bytes) -> None:
    # Not tempfile, whose files only their owner may read.
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


CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""The file in which Linux states the memory of a container."""


def memory_limit() -> int:
    """Return the bytes that a data set may take: a quarter of all memory, as it will be copied."""
    there = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # no container, or one without a limit
        there.append(int(CONTAINER.read_text()))
    return min(there) // 4


def size_text(size: int) -> str:
    """Return a number of bytes in a readable unit."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):,.1f} {unit}"
    return f"{size} bytes"
