"""What a journal says of a Bayesian network's leak: by what is released, passes and rounding.

Each way of releasing is judged in three ways. The published estimate tunes its thresholds on the
models that it is scored on. Its null is the same search with shuffled worlds. What is valid is a
bound whose rule was fixed on other models, and the AUC of a score that was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bayesian_games import SAMPLES, Game
from delong import Estimate, auc, difference

from dpaudit import registry, settled
from dpaudit.audit import Run
from dpaudit.compare import Defended
from dpaudit.defences import named
from dpaudit.defences.chain import Composable
from dpaudit.journal import Journal
from dpaudit.played import Played, read
from dpaudit.protocols import scoring
from dpaudit.rates import PointCriterion
from dpaudit.types import OUT, Array, Observations, Scores

SETS = ("loss", "mean+std", "min+max", "all-four")
"""What the paper's Fig. 5 compares: the plain network, and three sets of statistics."""

SINGLES = ("mean", "inv_std", "min", "max")
ATTACKS = (*SETS, *SINGLES, "learned")

PASSES = (1, 2, 5, 10, 50, 100, 500)
"""T of Fig. 6, but for the 1,000 that there are."""

UNITS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Of Fig. 8."""

BINS = 40


@dataclass(frozen=True)
class Only(Composable):
    """Releases what has these names, and nothing else: one of the network's two uses."""

    called: str
    names: tuple[str, ...]

    def protect(self, seen: Observations) -> Observations:
        return {name: seen[name] for name in self.names}

    def __str__(self) -> str:
        return self.called


PLAIN = Only("plain", ("logits", "probabilities"))
BAYESIAN = Only("passes", ("mc", "mean", "std"))
MEAN_STD = "mean-std"


def few(passes: int) -> str:
    """The name under which so many passes are released, and nothing else."""
    return f"passes + fewer-samples:{passes}"


def rounded(unit: float) -> str:
    """The name under which mean and deviation are released as multiples of a unit."""
    return f"{MEAN_STD} + quantize:{unit}"


@dataclass(frozen=True)
class Asked:
    """How many ways of releasing are judged: all of the paper's, or a few for a quick look."""

    passes: Sequence[int] = PASSES
    units: Sequence[float] = UNITS

    def views(self) -> list[Any]:
        """Every way, as a defence."""
        fewer = [BAYESIAN + named(f"fewer-samples:{t}").defence for t in self.passes]
        return [PLAIN, BAYESIAN, MEAN_STD, *fewer, *map(rounded, self.units)]


def answered(game: Game, journal: Path, asked: Asked) -> dict[str, Any]:
    """Everything that the figures and the three answers need of one game."""
    views = asked.views()
    compared = Run(journal.parent).compared(views, attacks=ATTACKS)
    with Journal.read(journal) as opened:
        played = read(opened)
        canary = settled.canary(opened)
        accuracy = float(np.mean([float(a) for a in opened.arrays("accuracy")]))
        seconds = opened.seconds / len(played.worlds)
    assert canary is not None
    return {
        "game": {k: v for k, v in asdict(game).items() if k != "given"},
        "claim": compared.claim.epsilon,
        "training": dict(played.facts.get("training", {})),
        "label": canary.y,
        "canary": picture(canary.x),
        "accuracy": accuracy,
        "seconds": seconds,
        "released": {one.defence: _judged(one) for one in compared.defended[1:]},
        "aucs": aucs(played, asked),
        "means": {str(t): histogram(played, t) for t in (2, SAMPLES)},
    }


def _judged(found: Defended) -> dict[str, Any]:
    """The published estimate of each attack, its null and its bounds; and what it is good for."""
    bounds: dict[str, dict[str, float]] = {}
    for bound in found.bounds:
        kind = "outright" if bound.assumption == "none" else "by_curve"
        bounds.setdefault(bound.attack, {})[kind] = bound.epsilon
    attacks = {
        one.attack: {
            "estimate": one.epsilon_in_sample,
            "spread": one.epsilon_in_sample_std,
            "null": one.null_mean,
            "null_95": one.null_q95,
            **bounds[one.attack],
        }
        for one in found.published
    }
    useful = None if found.utility is None else asdict(found.utility)
    return {"attacks": attacks, "strongest": found.strongest, "utility": useful}


def aucs(played: Played, asked: Asked) -> list[dict[str, Any]]:
    """The AUC of every score, and how much it is above that of what it is compared with.

    The paper's first question compares with the plain output, the second with all passes and the
    third with unrounded numbers.
    """
    seen = {str(view): view for view in map(named, asked.views())}
    plain, passes = str(PLAIN), str(BAYESIAN)
    base: dict[tuple[str, str], Scores] = {}

    def scores(view: str, attack: str) -> Scores:
        if (view, attack) not in base:
            base[view, attack] = scored(played.after(seen[view]), attack)
        return base[view, attack]

    pairs = [((plain, "loss"), None), ((plain, "learned"), None)]
    pairs += [((passes, one), (plain, "loss")) for one in SINGLES]
    pairs += [((view, "learned"), (plain, "learned")) for view in (passes, MEAN_STD)]
    for t in asked.passes:
        pairs += [((few(t), one), (passes, one)) for one in (*SINGLES, "learned")]
    for unit in asked.units:
        pairs += [((rounded(unit), one), (MEAN_STD, one)) for one in ("mean", "inv_std", "learned")]
    return [
        _row(*one, scores(*one), *(() if other is None else (*other, scores(*other))))
        for one, other in pairs
    ]


def _row(
    view: str, attack: str, ours: Scores, beside: str = "", than: str = "", theirs: Any = None
) -> dict[str, Any]:
    row = {"released": view, "attack": attack, "models": len(ours.out) + len(ours.inn)}
    row |= _told("auc", auc(ours))
    if theirs is not None:
        row |= {"beside": beside, "than": than, **_told("more", difference(ours, theirs))}
    return row


def _told(name: str, found: Estimate) -> dict[str, float]:
    return {name: found.value, f"{name}_error": found.error}


def scored(played: Played, attack: str) -> Scores:
    """An attack's scores: of all models where it is fixed, of the judging half where learned."""
    made = registry.make("attacks", attack)
    trials = played.trials(attack, made)
    choosing, judging = trials.halves()
    rule = choosing.fit(made, PointCriterion(played.claim.delta))
    return (trials if scoring(made) == "fixed" else judging).scores(rule)


def histogram(played: Played, passes: int) -> dict[str, Any]:
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


def find(rows: Sequence[Mapping[str, Any]], released: str, attack: str) -> Mapping[str, Any]:
    """The row of one attack on one way of releasing."""
    return next(r for r in rows if (r["released"], r["attack"]) == (released, attack))
