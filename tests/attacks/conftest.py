"""Synthetic trials that look like what MC dropout releases about a canary."""

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest

from dpaudit.estimators.trials import Trials
from dpaudit.outputs import with_statistics
from dpaudit.protocols import Attack
from dpaudit.rates import BoundCriterion
from dpaudit.types import Array, Known, Observations

Game = tuple[Observations, Array, Known]


def _play(
    per_world: int,
    seed: int,
    *,
    shift: float = 0.0,
    spread: float = 1.0,
    samples: int = 30,
    classes: int = 3,
) -> Game:
    """Observations of `per_world` trials out and in, the worlds, and what is known.

    With the canary in, the model's logit is higher by `shift` of its standard deviations, and
    its dropout noise is multiplied by `spread`. The defaults leak nothing at all.
    """
    rng = np.random.default_rng(seed)
    worlds = np.repeat([0, 1], per_world)
    label = classes - 1
    logits = rng.normal(size=(2 * per_world, classes))
    logits[:, label] += shift * worlds
    noise = np.exp(0.2 * rng.normal(size=2 * per_world)) * np.where(worlds, spread, 1.0)
    passes = logits[:, None, :] + noise[:, None, None] * rng.normal(
        size=(2 * per_world, samples, classes)
    )
    mc = np.exp(passes)
    mc /= mc.sum(axis=-1, keepdims=True)
    seen = {"logits": logits.astype(np.float32), "mc": mc.astype(np.float32)}
    return dict(with_statistics(seen)), worlds, {"label": np.array(label)}


def _trials(attack: Attack, per_world: int, seed: int, **leak: Any) -> Trials:
    """What an attack looks at in the trials of `play`."""
    seen, worlds, known = _play(per_world, seed, **leak)
    return Trials(attack.features(seen, known), worlds)


def _certified(attack: Attack, per_world: int, seed: int, **leak: Any) -> float:
    """The Clopper-Pearson bound of a rule chosen on some trials, on as many others."""
    bound = BoundCriterion(1e-5)
    rule = _trials(attack, per_world, seed, **leak).fit(attack, bound)
    counts = _trials(attack, per_world, seed + 1000, **leak).count(rule)
    return max(0.0, float(bound(*astuple(counts))))


@pytest.fixture
def play() -> Callable[..., Game]:
    return _play


@pytest.fixture
def trials() -> Callable[..., Trials]:
    return _trials


@pytest.fixture
def certified() -> Callable[..., float]:
    return _certified
