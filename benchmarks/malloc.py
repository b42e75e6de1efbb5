"""The same settings of glibc's malloc for everything that is timed."""

from __future__ import annotations

import os
import sys

TUNED = {
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
    "MALLOC_TOP_PAD_": str(2**28),
    "MALLOC_MMAP_MAX_": "0",
    "OMP_NUM_THREADS": "1",
}
"""Keeps freed blocks in the process: worth up to a factor of two to torch."""


def tune() -> str:
    """Start this script anew where it has no such settings yet; then say which they are."""
    if any(os.environ.get(name) != value for name, value in TUNED.items()):
        # glibc reads them when the process starts.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | TUNED)
    settings = " ".join(f"{name}={value}" for name, value in TUNED.items())
    return f"One thread, CPU time, tuned malloc: {settings}"
