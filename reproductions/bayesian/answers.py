"""What a journal says of a Bayesian network's leak: by what is released, passes and rounding.

Each way of releasing is judged in three ways. The in-sample estimate tunes its thresholds on the
models that it is scored on. Its null is the same estimate on shuffled labels. The valid answers
are a bound and an AUC, of a rule and a score that were fixed on other models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import registry
from dpaudit.defences import NamedDefence, named_defence
from dpaudit.defences.chain import Composable
from dpaudit.estimators.published import published_estimate
from dpaudit.journal import Journal
from dpaudit.judging import facts
from dpaudit.judging.panel import AUTO, EstimatorPanel
from dpaudit.judging.run_data import RunData, read_run
from dpaudit.judging.utility import utility
from dpaudit.protocols import has_fixed_score
from dpaudit.results import Scores
from dpaudit.types import OUT, Array, Observations
from reproductions.bayesian.delong import CONFIDENCE, Estimate, auc, difference
from reproductions.bayesian.games import SAMPLES, Game

SETS = ("mean+std", "min+max", "all-four")
"""What the paper's Fig. 5 compares with the loss of the plain network."""

SINGLES = ("mean", "inv_std", "min", "max")

PASSES = (1, 2, 5, 10, 50, 100, 500)
"""T of Fig. 6, but for the 1,000 that there are."""

UNITS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Of Fig. 8."""

TESTED = 32
"""Passes on test records: more of them cannot be compared there."""

BINS = 40


@dataclass(frozen=True)
class Only(Composable):
    """Releases what has these names, and nothing else: one of the network's two uses."""

    called: str
    names: tuple[str, ...]

    def protect(self, seen: Observations) -> Observations:
        return {name: seen[name] for name in self.names if name in seen}

    def __str__(self) -> str:
        return self.called


PLAIN = Only("plain", ("logits", "probabilities"))
BAYESIAN = Only("passes", ("mc", "mean", "std"))
MEAN_STD = "mean-std"


def few(passes: int) -> str:
    """The name under which so many passes are released, and nothing else."""
    return str(BAYESIAN) if passes == SAMPLES else f"{BAYESIAN} + fewer-samples:{passes}"


def rounded(unit: float) -> str:
    """The name under which mean and deviation are released as multiples of a unit; 0: as is."""
    return f"{MEAN_STD} + quantize:{unit}" if unit else MEAN_STD


@dataclass(frozen=True)
class View:
    """A way of releasing, and what is asked of it.

    `beside` is the way that its AUCs are compared with, by the same scores unless `than` says by
    which; none for the plain output, which is where comparisons begin. Bounds are by what assumes
    nothing, and those `by_curve` also by the claim's kind of training.
    """

    released: NamedDefence
    estimates: tuple[str, ...]
    bounds: tuple[str, ...]
    aucs: tuple[str, ...]
    beside: str | None = None
    than: str | None = None
    useful: bool = True
    by_curve: bool = False


def views(passes: Sequence[int] = PASSES, units: Sequence[float] = UNITS) -> list[View]:
    """All ways, those before others that are compared with them.

    The paper's first question compares with the plain output, the second with all passes and the
    third with numbers that are not rounded.
    """
    every = (*SETS, *SINGLES)
    fitted = ("mean+std", "learned")
    return [
        View(
            *(named_defence(PLAIN), ("loss",), ("loss", "learned"), ("loss", "learned")),
            useful=False,
            by_curve=True,
        ),
        View(
            *(named_defence(BAYESIAN), every, (*every, "learned"), SINGLES, str(PLAIN), "loss"),
            by_curve=True,
        ),
        View(named_defence(BAYESIAN), (), (), ("learned",), str(PLAIN), useful=False),
        View(named_defence(MEAN_STD), ("mean+std",), fitted, ("learned",), str(PLAIN)),
        View(
            named_defence(MEAN_STD), (), (), ("mean", "inv_std"), str(PLAIN), "loss", useful=False
        ),
        *(
            View(
                named_defence(BAYESIAN + named_defence(f"fewer-samples:{t}").defence),
                *(every, fitted, (*SINGLES, "learned"), str(BAYESIAN)),
                useful=t <= TESTED,
            )
            for t in passes
        ),
        *(
            View(
                named_defence(rounded(unit)),
                *(("mean+std",), fitted, ("mean", "inv_std", "learned"), MEAN_STD),
            )
            for unit in units
        ),
    ]


def answered(game: Game, journal: Path, asked: Sequence[View]) -> dict[str, Any]:
    """Everything that the figures and the three answers need of one game."""
    with Journal.read(journal) as opened:
        played = read_run(opened)
        canary = facts.stored_canary(opened)
        assert canary is not None
        known: dict[tuple[str, str], Scores] = {}
        released: dict[str, Any] = {}
        for view in asked:
            found = judged(view, played.after(view.released), known)
            if view.useful and (useful := utility(opened, played.known, view.released)):
                found["utility"] = asdict(useful)
            _merge(released.setdefault(str(view.released), {}), found)
        accuracy = float(np.mean([float(a) for a in opened.arrays("accuracy")]))
        return {
            "game": {k: v for k, v in asdict(game).items() if k != "given"},
            "claim": played.claim.epsilon,
            "training": dict(played.facts.training),
            "label": canary.y,
            "canary": picture(canary.x),
            "accuracy": accuracy,
            "released": released,
            "means": {str(t): histogram(played, t) for t in (2, SAMPLES)},
        }


def _merge(into: dict[str, Any], found: dict[str, Any]) -> None:
    for name, one in found.items():
        into.setdefault(name, {}).update(one)


def judged(view: View, seen: RunData, known: dict[tuple[str, str], Scores]) -> dict[str, Any]:
    """Estimates with their nulls, bounds and AUCs; `known` are the scores of views before it."""
    delta, seed = seen.claim.delta, seen.seed
    estimates, bounds, aucs = {}, {}, {}
    for name in dict.fromkeys((*view.estimates, *view.bounds, *view.aucs)):
        attack = registry.make("attacks", name)
        trials = seen.trials(name, attack)
        panel = EstimatorPanel.of(AUTO, attack, seen.claim, seed)
        if name in view.estimates:
            p = published_estimate(name, attack, trials, delta, seed)
            estimates[name] = [
                p.epsilon_in_sample,
                p.epsilon_in_sample_std,
                p.null_mean,
                p.null_q95,
            ]
        if name in view.bounds:
            fixed = panel.fix(attack, trials, always=False)
            judges = panel if view.by_curve else replace(panel, names=panel.names[-1:])
            found = judges.bounds(fixed, CONFIDENCE, CONFIDENCE)
            bounds[name] = {b.assumption: b.epsilon for b in found}
        if name in view.aucs:
            # A score that is fixed has nothing to choose, and so all models.
            choosing, judging = trials.halves()
            rule = choosing.fit(attack, panel.criterion)
            scores = (trials if has_fixed_score(attack) else judging).scores(rule)
            known[str(view.released), name] = scores
            aucs[name] = _told(auc(scores))
            if view.beside:
                other = known[view.beside, view.than or name]
                aucs[name] += _told(difference(scores, other))
    return {"estimates": estimates, "bounds": bounds, "aucs": aucs}


def _told(found: Estimate) -> list[float]:
    return [found.value, found.error]


def histogram(played: RunData, passes: int) -> dict[str, Any]:
    """How the mean of so many passes, for the canary's class, is spread in both worlds."""
    label = int(np.asarray(played.known["label"]).item())
    mean = np.asarray(played.seen["mc"])[:, :passes, label].mean(axis=1, dtype=np.float64)
    edges = np.linspace(0.0, max(1e-9, float(mean.max())), BINS + 1)
    out = played.worlds == OUT
    return {
        "highest": float(edges[-1]),
        "out": np.histogram(mean[out], edges)[0].tolist(),
        "in": np.histogram(mean[~out], edges)[0].tolist(),
    }


def picture(x: Array) -> dict[str, Any]:
    """An image (channels, height, width) as whole numbers from 0 to 255, cut off there."""
    levels = np.rint(255 * np.clip(x, 0, 1)).astype(int)
    return {"shape": list(x.shape), "levels": levels.ravel().tolist()}
