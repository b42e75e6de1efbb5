"""How much memory data may take: files are measured against it before they are read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SHARE = 4
"""One part in so many of the memory may be data; the others are for copies and for training."""

CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""Where Linux says how much memory the processes of a container may have."""


def most() -> int:
    """The bytes that the arrays of a data set may take: a quarter of the memory there is."""
    there = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError, ValueError):  # no container, or one without a limit
        there.append(int(CONTAINER.read_text()))
    return min(there) // SHARE


def told(size: int) -> str:
    """A number of bytes in the unit that suits it."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):,.1f} {unit}"
    return f"{size} bytes"
