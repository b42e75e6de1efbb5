"""dpaudit tells how much anything that claims differential privacy provably leaks.

In Python::

    import dpaudit as dp
    data   = dp.data.load("digits")
    target = dp.mechanisms.DPSGD(data, network="cnn-small", epsilon=8.0, epochs=60)
    pair   = dp.canaries.AdvMaxLoss(recipe=target.recipe).build(data, seed=1)
    run    = dp.play(target, pair, models=1000, out="runs/digits")
    print(run.report())
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = (
    "attacks",
    "canaries",
    "data",
    "defences",
    "estimators",
    "mechanisms",
    "selections",
    "testing",
    "types",
)
_AUDIT = ("Run", "play")

__all__ = [*_AUDIT, *_MODULES]


def __getattr__(name: str) -> Any:
    """Import on first use, so that `dpaudit --help` answers at once."""
    if name in _MODULES:
        return import_module(f"dpaudit.{name}")
    if name in _AUDIT:
        return getattr(import_module("dpaudit.audit"), name)
    raise AttributeError(f"module 'dpaudit' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
