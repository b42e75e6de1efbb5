"""The versions of the packages that change a trial's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

NAMES = ("dpaudit", "numpy", "scipy", "torch", "opacus", "dp-accounting")


def versions() -> dict[str, str]:
    """Return the installed versions by name."""
    return {name: version(name) for name in NAMES}


def version_differences(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Return the differences in words; empty if there are none."""
    return "; ".join(
        f"{name} {there.get(name)} there, {now} here"
        for name, now in here.items()
        if there.get(name) != now
    )
