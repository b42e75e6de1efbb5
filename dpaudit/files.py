"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dpaudit.errors import BadInput, is_full, kind_of, unwritable


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace a file by new content; a failure at any instant leaves the old one as it was."""
    given = Path(path)
    try:
        if given.exists() and not given.is_file():
            given.write_bytes(content)  # a pipe or a terminal: nothing to replace
        else:
            _replace(Path(os.path.realpath(given)), content)
    except OSError as error:
        raise unwritable(path, error) from error


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
