"""The paper's experiments with aggregated private learners, and what it claims of them.

Minami, Sato, Arai and Nakagawa, Aggregating Differentially Private Weak Learners, Figs. 3 to 5.
What the paper leaves open (regularisation, temperature, scaling, organisations of the medical
tables) is chosen here so that learners without noise come near to its numbers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.data.csv_table import table
from dpaudit.ensemble import Exchange, Weighting
from dpaudit.ensemble.experiment import Measured, measured
from dpaudit.ensemble.scaling import Scaling
from dpaudit.ensemble.sources import Split, breast_cancer, shuffled, sphere

GRID = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
USUAL = Weighting()

HARM = 0.03
"""So much less accuracy, of an aggregate than alone, counts as none."""

PIMA = {
    "pregnant": 20,
    "glucose": 300,
    "pressure": 150,
    "triceps": 100,
    "insulin": 1000,
    "mass": 80,
    "pedigree": 3,
    "age": 100,
}
"""Of each column a bound that is known without the data; all of them begin at 0."""


@dataclass(frozen=True)
class Experiment:
    """Data, who has them, and how they learn."""

    name: str
    source: Callable[[int], Split]
    organisations: int
    lam: float
    epsilons: Sequence[float] = GRID
    weighting: Weighting = USUAL
    paper: str = ""

    def measured(self, seed: int) -> Measured:
        """One run, with data or a split of its own."""
        split = self.source(seed)
        exchange = Exchange.of(split.train, self.organisations)
        return measured(exchange, split.test, self.epsilons, self.lam, self.weighting, seed)


@dataclass(frozen=True)
class Found:
    """Means over several runs: of accuracies, and of their deviation over organisations."""

    experiment: Experiment
    runs: Sequence[Measured]

    def summary(self) -> dict[str, Any]:
        """What is written as JSON; `error` is the deviation of a mean from run to run."""
        one = self.experiment
        more = min(1, len(self.runs) - 1)  # of a sample; of one run there is no deviation
        local = [(run.local.mean, run.local.std) for run in self.runs]
        told: dict[str, Any] = {
            "name": one.name,
            "organisations": one.organisations,
            "lam": one.lam,
            **vars(one.weighting),
            "runs": len(self.runs),
            "paper": one.paper,
            "pooled": _rounded([run.pooled for run in self.runs]),
            "local": _rounded(local),
            "epsilons": list(one.epsilons),
        }
        for kind in ("private", "aggregated"):
            each = np.array(
                [[(a.mean, a.std) for a in getattr(run, kind)] for run in self.runs]
            ).reshape(len(self.runs), len(one.epsilons), 2)
            told[kind] = _rounded(each)
            told[f"{kind}_error"] = np.round(each[..., 0].std(axis=0, ddof=more), 4).tolist()
        return told


def _rounded(each: Any) -> Any:
    return np.round(np.mean(each, axis=0), 4).tolist()


def offset(seed: int) -> Split:
    """The sphere of the .559: 2.5 % of training points are of one class."""
    return sphere(seed, offset=0.6).with_intercept()


def diabetes(seed: int) -> Split:
    """Pima Indians Diabetes, from the folder that DPAUDIT_DATA names.

    Every column is in [0, 1] by its bound, and divided by sqrt(8), so that no row is longer than 1.
    (What scikit-learn has as `load_diabetes` is another set, for regression.)
    """
    path = Path(os.environ.get("DPAUDIT_DATA", ".")) / "pima.csv.gz"
    bounds = [f"{column}=0:{highest}" for column, highest in PIMA.items()]
    records = table(path, "diabetes", bounds, ()).records
    return shuffled(Scaling(bound=math.sqrt(len(PIMA))).of(records), 600, seed)


def experiments() -> list[Experiment]:
    """Figs. 3 to 5, and what stands beside Fig. 3."""
    fig_3 = Experiment("Fig. 3: sphere", sphere, 100, 0.1, paper="pooled .999, local .559")
    regularised: dict[float, Sequence[float]] = {0.01: (0.5, 1.0), 1e-3: (), 1e-5: ()}
    weighed = {
        "beta .1": Weighting(beta=0.1),
        "start 1": Weighting(start=1),
        "signs": Weighting(reading="sign"),
        "one step": Weighting(average="single"),
    }
    return [
        fig_3,
        *(
            replace(fig_3, name=f"sphere, lam {lam:g}", lam=lam, epsilons=grid, paper="")
            for lam, grid in regularised.items()
        ),
        *(
            replace(fig_3, name=f"sphere, {how}", weighting=by, epsilons=(2.0, 50.0), paper="")
            for how, by in weighed.items()
        ),
        Experiment("sphere, offset .6", offset, 100, 1e-6, (1.0, 10.0, 50.0)),
        Experiment(
            "Fig. 4: breast cancer",
            breast_cancer,
            8,
            1e-5,
            paper="pooled .9231, local close to it, aggregated neither better nor much worse",
        ),
        Experiment(
            "Fig. 5: diabetes",
            diabetes,
            60,
            0.1,
            paper="pooled .6488, local about 20 % below, aggregated in between",
        ),
    ]


# ---------------------------------------------------------------- what the paper claims


def claims(found: Sequence[dict[str, Any]]) -> list[str]:
    """C1 to C3, each with the numbers that hold it or do not."""
    by = {one["name"].partition(":")[0]: one for one in found}
    told = []
    if "Fig. 3" in by:
        told += [_grows(by["Fig. 3"]), _better(by["Fig. 3"])]
    if "Fig. 5" in by:
        told.append(_better(by["Fig. 5"]))
    if "Fig. 4" in by:
        told.append(_harmless(by["Fig. 4"]))
    return told


def _grows(one: dict[str, Any]) -> str:
    means = [mean for mean, _ in one["aggregated"]]
    errors = np.hypot(one["aggregated_error"][:-1], one["aggregated_error"][1:])
    grown = np.diff(means) > -2 * errors / np.sqrt(one["runs"])
    shown = ", ".join(f"{mean:.3f}" for mean in means)
    return f"C1, aggregates are the better the larger epsilon is: {_held(grown)} ({shown})"


def _better(one: dict[str, Any]) -> str:
    where = one["name"].partition(": ")[2]
    return f"C2, aggregates beat learning alone on {where}: {_from(one, 0.0)}"


def _harmless(one: dict[str, Any]) -> str:
    return (
        f"C3, aggregates do no harm on breast cancer, up to {HARM:g} of accuracy: "
        f"{_from(one, HARM)}"
    )


def _from(one: dict[str, Any], less: float) -> str:
    """From which epsilon on aggregates are above what is learned alone, less so much."""
    local, means = one["local"][0], [mean for mean, _ in one["aggregated"]]
    first = len(means)
    while first and means[first - 1] > local - less:
        first -= 1
    if first == len(means):
        return f"NOT HELD ({means[-1]:.3f} at epsilon {one['epsilons'][-1]:g}, {local:.3f} alone)"
    return f"from epsilon {one['epsilons'][first]:g} on ({means[first]:.3f}, {local:.3f} alone)"


def _held(parts: Any) -> str:
    return "held" if np.all(parts) else "NOT HELD"
