"""Defences on a classifier's outputs, and the functions that defences share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.defences.chain import Composable
from dpaudit.errors import BadInput
from dpaudit.outputs import CHUNK, labels_of, softmax, with_statistics
from dpaudit.types import OWN, Array, Observations

PREDICTIONS = ("mean", "probabilities")
"""Probabilities (rows, classes): of a Bayesian network, and of a plain one."""


def need(who: object, seen: Observations, *names: str) -> None:
    """Reject observations without these names: nothing would be released at all."""
    if missing := [name for name in names if name not in seen]:
        there = ", ".join(sorted(seen.keys() - {OWN})) or "nothing"
        message = f"the defence {who} needs {' and '.join(missing)}; there is {there}"
        raise BadInput(message, "missing-observations", value=tuple(missing))


def predictions(who: object, seen: Observations) -> dict[str, Array]:
    """All predictions in double precision; rejects observations without any."""
    found = {name: p for name, p in numbers(seen).items() if name in PREDICTIONS}
    if not found:
        need(who, seen, "probabilities")
    return found


def numbers(seen: Observations) -> dict[str, Array]:
    """All released numbers but the single passes; probabilities are made of logits if missing."""
    names = (*PREDICTIONS, "std", "values")
    found = {n: np.asarray(seen[n], dtype=np.float64) for n in names if n in seen}
    if "logits" in seen and "probabilities" not in seen:
        found["probabilities"] = softmax(np.asarray(seen["logits"], dtype=np.float64))
    return found


def with_logits(kept: Observations, seen: Observations) -> Observations:
    """The kept numbers, and the logarithms of their probabilities if logits were released."""
    if "logits" not in seen or "probabilities" not in kept:
        return kept
    with np.errstate(divide="ignore", invalid="ignore"):
        return {**kept, "logits": np.log(kept["probabilities"])}


def each_pass(
    who: object, seen: Observations, change: Callable[[Array], Array]
) -> dict[str, Array]:
    """Change all predictions, and every pass of MC dropout, with mean and deviation anew.

    If only the mean is released, it is changed, and the deviation is dropped: that of the changed
    passes cannot be known.
    """
    kept = {name: change(p) for name, p in predictions(who, seen).items()}
    if "mc" not in seen:
        return kept
    mc = np.asarray(seen["mc"])
    passes = np.empty(mc.shape, np.float32)
    rows = max(1, CHUNK // max(1, mc[:1].size))
    for i in range(0, len(mc), rows):
        passes[i : i + rows] = change(mc[i : i + rows].astype(np.float64))
    return {**kept, **with_statistics({"mc": passes})}


@dataclass(frozen=True)
class LabelOnly(Composable):
    """label-only releases the largest class, and no probability.

    That class is 1 and all others are 0, for the mean of MC dropout and for the output without
    dropout. A record with no single largest class has no 1. An attack sees only whether the
    canary's class is the label.

    Utility: the accuracy stays. Confidence, calibration and posterior are lost.
    """

    name = "label-only"

    def protect(self, seen: Observations) -> Observations:
        kept = {
            name: (labels_of(p)[:, None] == np.arange(p.shape[-1])).astype(np.float64)
            for name, p in predictions(self, seen).items()
        }
        return with_logits(kept, seen)


@dataclass(frozen=True)
class TopK(Composable):
    """top-k:K releases the K largest probabilities as they are, and 0 for all other classes.

    For MC dropout these are the K largest means and their std. The single passes are not released,
    because some of them would show other classes. Among equal probabilities the lower class number
    comes first. If the canary's class is not among the K, its probability and its std are 0, so an
    attack learns that it was not among them.

    Utility: the label and the K probabilities stay. The other classes are missing in calibration,
    likelihood and posterior.
    """

    name = "top-k"
    k: int

    def __post_init__(self) -> None:
        checks.refuse([checks.of("k", checks.at_least("the K of top-k", self.k, 1))])

    def protect(self, seen: Observations) -> Observations:
        shown = {name: (p, self._largest(p)) for name, p in predictions(self, seen).items()}
        kept = {name: np.where(largest, p, 0.0) for name, (p, largest) in shown.items()}
        if "std" in seen and "mean" in shown:
            kept["std"] = np.where(shown["mean"][1], seen["std"], 0.0)
        return with_logits(kept, seen)

    def _largest(self, p: Array) -> Array:
        """A mask of the K largest classes of each row."""
        rank = np.argsort(np.argsort(-p, axis=-1, kind="stable"), axis=-1, kind="stable")
        return rank < self.k


@dataclass(frozen=True)
class ClipConfidence(Composable):
    """clip-confidence:P lets no probability exceed P; other classes get the excess.

    They share it in proportion to their own probabilities, and evenly if these are 0. Each pass of
    MC dropout is clipped, and mean and std are computed again. If only the mean is released, it is
    clipped and the std is left out. P is above 0.5, so the largest class stays the largest.

    Utility: no label of a single pass changes. Correct predictions above P lose likelihood. Passes
    above P become alike, so the posterior's spread shrinks where the network was surest.
    """

    name = "clip-confidence"
    p: float

    def __post_init__(self) -> None:
        checks.refuse(
            [checks.of("p", checks.in_range("the P of clip-confidence", self.p, 0.5, 1, ends="(]"))]
        )

    def protect(self, seen: Observations) -> Observations:
        return with_logits(each_pass(self, seen, self._capped), seen)

    def _capped(self, p: Array) -> Array:
        # P is above one half, so that one class at most is above it.
        above = p > self.p
        others = np.where(above, 0.0, p)
        total = others.sum(axis=-1, keepdims=True)
        even = ~above / max(1, p.shape[-1] - 1)
        share = np.divide(others, total, out=even, where=total > 0)
        capped = np.where(above, self.p, (1 - self.p) * share)
        return np.where(above.any(axis=-1, keepdims=True), capped, p)


@dataclass(frozen=True)
class Temperature(Composable):
    """temperature:TAU divides all logits by TAU; above 1, probabilities become flatter.

    p^(1/TAU), scaled to add up to 1, in every pass of MC dropout; mean and std are computed again.
    If only the mean is released, the mean is changed and the std is left out.

    It hides nothing from an adversary that knows TAU: a power of TAU undoes it, except for what a
    mean over passes has mixed. It only stops attacks with thresholds for other outputs.

    Utility: the label of a single pass stays; the label of the mean may change where passes
    disagree. Confidence and the posterior's spread shrink for all records alike. That helps
    calibration where the network was too sure and harms it elsewhere.
    """

    name = "temperature"
    tau: float

    def __post_init__(self) -> None:
        checks.refuse([checks.of("tau", checks.positive("the temperature", self.tau))])

    def protect(self, seen: Observations) -> Observations:
        kept = each_pass(self, seen, self._flatter)
        if "logits" in seen:
            with np.errstate(over="ignore"):
                kept["logits"] = np.asarray(seen["logits"], dtype=np.float64) / self.tau
        return kept

    def _flatter(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # The largest is 0 at every TAU, so that one near 0 leaves the label and no NaN.
            return softmax(np.log(p / p.max(axis=-1, keepdims=True)) / self.tau)


@dataclass(frozen=True)
class FewerSamples(Composable):
    """fewer-samples:T keeps the first T passes of MC dropout, and their mean and std.

    All passes, if there are no more than T. The output without dropout is unchanged.

    Utility: mean and std become noisier as T falls, and so do label, calibration and posterior.
    With T = 1 the std is 0. Utility is measured on at most 32 passes per test record, so a T above
    32 shows no change there.

    RQ2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian
    Neural Network.
    """

    name = "fewer-samples"
    samples: int

    def __post_init__(self) -> None:
        checks.refuse(
            [checks.of("samples", checks.at_least("the number of fewer-samples", self.samples, 1))]
        )

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, "mc")
        others = {name: seen[name] for name in ("logits", "probabilities") if name in seen}
        return {**others, **with_statistics({"mc": np.asarray(seen["mc"])[:, : self.samples]})}


@dataclass(frozen=True)
class MeanOnly(Composable):
    """mean-only releases the mean of MC dropout, without the std and the single passes.

    Utility: label and probabilities of the mean stay. The posterior is lost except for its mean.
    """

    name = "mean-only"

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, "mean")
        return {"mean": seen["mean"]}


@dataclass(frozen=True)
class MeanStd(Composable):
    """mean-std releases the mean and the std of MC dropout, without the single passes.

    Minimum and maximum of the passes, and the output without dropout, are not released.

    Utility: unchanged for most users. The label is that of the mean, and the posterior keeps its
    first two moments; its tails and its shape are lost.

    Recommended by Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network, who find that all four statistics leak more than these two.
    """

    name = "mean-std"

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, "mean", "std")
        return {name: seen[name] for name in ("mean", "std")}
