"""What a classifier releases of the canary, and what its usefulness is measured by."""

from __future__ import annotations

import math
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


# ----------------------------------------------------------------
# What a user may have got wrong without noticing.


NO_DROPOUT = "without dropout, MC-dropout statistics show nothing of their own"
ONE_SAMPLE = "with one MC-dropout sample the deviation is 0 and says nothing"


def delta_too_large(delta: float, records: int) -> list[str]:
    """A warning of a delta that makes a claim empty."""
    if delta * records < 1:
        return []
    return [
        f"delta {delta:g} is not below 1/{records}: such a claim would even allow to publish a "
        "whole record now and then"
    ]


def batch_too_large(batch: int, records: int) -> list[str]:
    """A warning of a batch that there are not enough records for."""
    if batch <= records:
        return []
    return [
        f"a batch of {batch:,} is more than the {records:,} records: every step takes all of them, "
        "as with --batch full"
    ]


def start_not_learned(loss: float, classes: int) -> list[str]:
    """A warning of crafted initial parameters at which ordinary records still have gradients."""
    if loss < math.log(classes) / 2:
        return []
    return [
        f"the network that the adversary trained beforehand has a mean loss of {loss:.3g} on the "
        f"records, where guessing has {math.log(classes):.3g}: they still move it, which hides the "
        "canary"
    ]


def gradient_too_small(norm: float, clip: float) -> list[str]:
    """A warning of a canary that clipping leaves as it is: it cannot scale a gradient up."""
    if norm >= clip:
        return []
    return [
        f"the canary's gradient at the initial parameters has a norm of {norm:.3g}, below the "
        f"clip norm of {clip:g}: it moves a step less than a record may, so that this is not the "
        "worst case; another canary, or a smaller --clip, may show more"
    ]
