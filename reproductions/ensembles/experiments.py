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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.data.csv_table import table
from dpaudit.papers.ensemble import Scaling, Weighting
from dpaudit.types import Array
from reproductions.ensembles.exchange import Exchange
from reproductions.ensembles.experiment import Measured, measured
from reproductions.ensembles.sources import Split, breast_cancer, shuffled, sphere

GRID = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
USUAL = Weighting()

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
    perturbation: str = "objective"
    paper: str = ""

    def measured(self, seed: int) -> Measured:
        """One run, with data or a split of its own."""
        split = self.source(seed)
        exchange = Exchange.of(split.train, self.organisations)
        how = (self.epsilons, self.lam, self.weighting, seed, self.perturbation)
        return measured(exchange, split.test, *how)


@dataclass(frozen=True)
class Found:
    """Means over several runs: of accuracies, and of their deviation over organisations."""

    experiment: Experiment
    runs: Sequence[Measured]

    def summary(self) -> dict[str, Any]:
        """What is written as JSON; `error` is the deviation of a mean from run to run."""
        one = self.experiment
        pooled = np.array([run.pooled for run in self.runs])
        local = np.array([(run.local.mean, run.local.std) for run in self.runs])
        told: dict[str, Any] = {
            "name": one.name,
            "organisations": one.organisations,
            "lam": one.lam,
            "perturbation": one.perturbation,
            **vars(one.weighting),
            "runs": len(self.runs),
            "paper": one.paper,
            "pooled": _mean(pooled),
            "pooled_error": _error(pooled),
            "local": _mean(local),
            "local_error": _error(local[:, 0]),
            "epsilons": list(one.epsilons),
        }
        for kind in ("private", "aggregated"):
            each = np.array(
                [[(a.mean, a.std) for a in getattr(run, kind)] for run in self.runs]
            ).reshape(len(self.runs), len(one.epsilons), 2)
            told[kind] = _mean(each)
            told[f"{kind}_error"] = _error(each[..., 0])
        return told


def _mean(each: Array) -> Any:
    return np.round(each.mean(axis=0), 4).tolist()


def _error(each: Array) -> Any:
    """The deviation of a sample of runs; of one run there is none."""
    return np.round(each.std(axis=0, ddof=min(1, len(each) - 1)), 4).tolist()


def rare(seed: int, offset: float) -> Split:
    """The sphere of the .559, of which a plane off the centre leaves one class few points."""
    return sphere(seed, offset=offset).with_intercept()


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
    # Who weighs the sum of losses, and not their mean, by C = 100 has a lam of 1/(50 C) alone, and
    # of 1/(5000 C) with all data.
    off = [(0.6, 2e-4, ()), (0.6, 2e-6, ()), (0.6, 1e-6, (1.0, 10.0, 50.0)), (0.65, 1e-6, ())]
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
        replace(fig_3, name="sphere, output perturbation", perturbation="output", paper=""),
        *(
            Experiment(
                f"sphere, offset {x:g}, lam {lam:g}", partial(rare, offset=x), 100, lam, grid
            )
            for x, lam, grid in off
        ),
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
