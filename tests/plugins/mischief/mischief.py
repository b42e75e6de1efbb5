"""Plug-ins that break their contracts, each in one way."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.protocols import Attack, CanaryBuilder, Defence, Estimator, Loader, Mechanism
from dpaudit.results import Bound
from dpaudit.types import Claim

NUMBER = 5


class Impostor(CanaryBuilder):
    """Would like to be the built-in of this name."""

    def build(self, data: Any, seed: int) -> Any:
        raise AssertionError("a built-in's name is the built-in's")


class Undescribed(CanaryBuilder):
    def build(self, data: Any, seed: int) -> Any:
        raise AssertionError


class Unmakeable(CanaryBuilder, Mechanism, Attack):
    """Cannot be made."""

    claim = build = run = features = fit = None  # type: ignore[assignment]

    def __init__(self) -> None:
        raise RuntimeError("no licence\nfor this machine")


class Unbuildable(CanaryBuilder):
    """Cannot build its pair."""

    def build(self, data: Any, seed: int) -> Any:
        raise KeyError("no such record")


class Raising(Loader, Defence, Estimator):
    """Raises whatever it is asked."""

    def load(self, seed: int) -> Any:
        raise ConnectionError("the server is away")

    def protect(self, seen: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    def bound(self, outcome: Any, delta: float) -> Any:
        raise ZeroDivisionError("division by zero")


class Garbage(Loader, CanaryBuilder, Defence, Estimator):
    """Gives back what nobody asked for."""

    def load(self, seed: int) -> Any:
        return [1, 2, 3]

    def build(self, data: Any, seed: int) -> Any:
        return None

    def protect(self, seen: Any) -> Any:
        return dict.fromkeys(seen, "garbage")

    def bound(self, outcome: Any, delta: float) -> Any:
        return 3.0


class Erasing(Defence):
    """Releases nothing any more."""

    def protect(self, seen: Any) -> Any:
        return {}


class Endless(Estimator):
    """A bound that is no number."""

    def bound(self, outcome: Any, delta: float) -> Any:
        return Bound(float("nan"), delta, 0.999999, "endless", "none", "as given", 1.0)


class Bold(Endless):
    """A bound at a confidence that nobody asked for."""

    def bound(self, outcome: Any, delta: float) -> Any:
        return Bound(0.5, delta, 0.5, "bold", "none", "as given", 1.0)


class Assuming(Endless):
    """A bound that assumes what nobody knows."""

    def bound(self, outcome: Any, delta: float) -> Any:
        return Bound(0.5, delta, 0.999999, "assuming", "luck", "as given", 1.0)


class Centred(Defence):
    """A defence that looks at all trials at once."""

    def protect(self, seen: Any) -> Any:
        return {"values": seen["values"] - seen["values"].mean()}


class Comparing(Attack):
    """An attack that looks at all trials at once."""

    needs = frozenset({"values"})

    def features(self, seen: Any, known: Any) -> Any:
        return seen["values"].reshape(-1, 1).argsort(axis=0)

    def fit(self, features: Any, worlds: Any, criterion: Any) -> Any:
        raise AssertionError


class Unclaimed(Mechanism):
    """Promises nothing."""

    def run(self, pair: Any, trials: Any) -> Any:
        return [{"values": np.zeros(1)} for _ in trials]


class Wordy(Unclaimed):
    """Releases words instead of numbers."""

    claim = Claim(1.0, 0.0)

    def run(self, pair: Any, trials: Any) -> Any:
        return [{"values": "the canary was in"} for _ in trials]


@dataclass
class Unreleased(Attack):
    """Needs what nobody releases."""

    needs = frozenset({"gradients"})

    def features(self, seen: Any, known: Any) -> Any:
        return seen["gradients"]

    def fit(self, features: Any, worlds: Any, criterion: Any) -> Any:
        return None


class Blind(Unreleased):
    """Fails at its first look."""

    needs = frozenset({"values"})


class Ruleless(Blind):
    """Chooses no rule."""

    def features(self, seen: Any, known: Any) -> Any:
        return seen["values"]
