"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by new content; a failure at any instant leaves the old one as it was."""
    target = Path(os.path.realpath(path))
    # Not tempfile: its files are for the owner's eyes only, and these are for others too.
    fresh = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)
