"""What a classifier releases of the canary, and what its usefulness is measured by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpaudit.outputs import softmax
from dpaudit.seeds import stream
from dpaudit.types import Array, Observation, Pair, Records, Trial

UTILITY_TRIALS, UTILITY_RECORDS, UTILITY_SAMPLES = 20, 500, 32
"""The first trials of each world also show their outputs on test records, to judge defences by."""

Ask = Callable[[Array], Array]
"""Records to logits (records, classes)."""

AskOften = Callable[[Array, int, int], Array]
"""Records, T and a seed to the probabilities of T passes with dropout (T, records, classes)."""


def observed(
    ask: Ask, ask_often: AskOften | None, pair: Pair, trial: Trial, samples: int
) -> Observation:
    """The canary's logits and probabilities, with `mc` from a network that has dropout."""
    canary, test = pair.canary.x[None], pair.test
    logits = ask(canary)[0]
    seen = {
        "logits": logits,
        "probabilities": softmax(logits),
        "accuracy": accuracy(ask, test),
    }
    if ask_often is not None:
        seen["mc"] = ask_often(canary, samples, stream(trial.seed, "mc"))[:, 0]
    if trial.index < UTILITY_TRIALS:
        x = test.x[:UTILITY_RECORDS]
        if ask_often is not None:
            outputs = ask_often(x, UTILITY_SAMPLES, stream(trial.seed, "utility"))
            seen["test_mc"] = outputs.astype(np.float16)
        else:
            seen["test_probabilities"] = softmax(ask(x))
    return seen


def accuracy(ask: Ask, test: Records) -> Array:
    """The share of test records that a classifier gets right."""
    guesses = ask(test.x).argmax(axis=1)
    return np.asarray(np.mean(guesses == test.y), dtype=np.float32)
