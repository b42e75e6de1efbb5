"""The versions of all that changes a trial's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

NAMES = ("dpaudit", "numpy", "scipy", "torch", "opacus", "dp-accounting")


def versions() -> dict[str, str]:
    """By name, as they are installed here."""
    return {name: version(name) for name in NAMES}


def version_differences(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """What differs, in words; empty where nothing does."""
    return "; ".join(
        f"{name} {there.get(name)} there, {now} here"
        for name, now in here.items()
        if there.get(name) != now
    )
