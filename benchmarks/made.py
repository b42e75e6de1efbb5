"""How a result file was made."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any


def about(command: str, packages: Sequence[str] = (), **told: Any) -> dict[str, Any]:
    """The command that prints these results again, the day, and what versions they are of."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return {"command": command, "date": day, **told, **versions(*packages, "dpaudit")}


def command(script: str) -> str:
    """How a script of this folder was called."""
    return shlex.join(["python", f"benchmarks/{script}", *sys.argv[1:]])


def versions(*packages: str) -> dict[str, str]:
    """Of these packages, by name."""
    return {name: version(name) for name in packages}
