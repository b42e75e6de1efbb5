"""dpaudit tells how much anything that claims differential privacy provably leaks.

In Python::

    import dpaudit as dp
    data   = dp.data.load("digits")
    target = dp.mechanisms.DPSGD(data, dp.Privacy(epsilon=8.0), dp.Training(epochs=60))
    pair   = dp.canaries.AdvMaxLoss(recipe=target.recipe).build(data, seed=1)
    run    = dp.play(target, pair, models=1000, out="runs/digits")
    print(run.report())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_MODULES = (
    "attacks",
    "canaries",
    "data",
    "defences",
    "estimators",
    "mechanisms",
    "results",
    "testing",
    "types",
)
if TYPE_CHECKING:
    from dpaudit.audit import play as play
    from dpaudit.audit.folder import Run as Run
    from dpaudit.config.settings import Attacker as Attacker
    from dpaudit.config.settings import Privacy as Privacy
    from dpaudit.config.settings import Training as Training

_NAMES = {
    "Run": "dpaudit.audit.folder",
    "play": "dpaudit.audit",
    "Attacker": "dpaudit.config.settings",
    "Privacy": "dpaudit.config.settings",
    "Training": "dpaudit.config.settings",
}

__all__ = [*_NAMES, *_MODULES]


def __getattr__(name: str) -> Any:
    """Import on first use, so that `dpaudit --help` answers at once."""
    if name in _MODULES:
        return import_module(f"dpaudit.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'dpaudit' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
