"""What is kept of P3GM's benchmark, beside the paper, in the tables that docs/p3gm.md has.

Differences are fold by fold, between methods that had the same records. Folds share most of what
they train on, so that an interval over them describes and proves little.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import click

from reproductions.p3gm.data import LOADERS
from reproductions.p3gm.methods import CLASSIFIERS, ELSEWHERE, METHODS, PUBLISHED, QUIET, TABLE_2

Rows = Sequence[dict[str, Any]]

CLAIMS = {
    "C1: PGM above VAE": ("pgm", "vae"),
    "C3: P3GM above DP-VAE": ("p3gm", "dp-vae"),
    "C3: P3GM above AE": ("p3gm", "ae"),
    "the same, less noise": ("p3gm" + QUIET, "ae" + QUIET),
    "privacy costs: PGM above P3GM": ("pgm", "p3gm"),
}


class Difference(NamedTuple):
    """Of two methods on a data set: the mean over folds, and half of a 95 % interval."""

    data: str
    folds: int
    mean: float
    half: float

    def __str__(self) -> str:
        half = f" ± {short(self.half)}" if math.isfinite(self.half) else ""
        return f"{self.mean:+.3f}".replace("0.", ".") + half


def differences(rows: Rows, one: str, other: str) -> Iterator[Difference]:
    """By how much one method is above another, of the first score (AUROC, or accuracy)."""
    from scipy.stats import t

    for name in LOADERS:
        by = {
            (r["method"], r["fold"]): r["scores"][0]
            for r in rows
            if r["data"] == name and r["method"] in (one, other)
        }
        folds = [fold for method, fold in by if method == one and (other, fold) in by]
        apart = [by[one, fold] - by[other, fold] for fold in folds]
        if not apart:
            continue
        k, half = len(apart), math.inf
        if k > 1:
            half = float(t.ppf(0.975, k - 1)) * stdev(apart) / math.sqrt(k)
        yield Difference(name, k, mean(apart), half)


# ---------------------------------------------------------------- tables


def short(x: float) -> str:
    """Three digits after the point, and none before it where there is none but 0."""
    return f"{x:.3f}".removeprefix("0")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _headed(heads: Sequence[str]) -> Iterator[str]:
    yield _line(heads)
    yield "|" + "---|" * len(heads)


def _means(rows: Rows, name: str, method: str) -> list[float]:
    """Over folds, of each score."""
    found = [r["scores"] for r in rows if (r["data"], r["method"]) == (name, method)]
    return [mean(column) for column in zip(*found, strict=True)]


def _scores(rows: Rows, names: Sequence[str], which: int) -> Iterator[str]:
    """A row a data set: means of all methods, and what the paper has in brackets."""
    known = [*METHODS, *ELSEWHERE]
    kinds = [m for m in known if any(_cell(rows, name, m, which) for name in names)]
    yield from _headed(["data", "folds", *kinds])
    for name in names:
        folds = {r["fold"] for r in rows if r["data"] == name}
        cells = (_cell(rows, name, method, which) or "-" for method in kinds)
        yield _line([name, str(len(folds)), *cells])


def _cell(rows: Rows, name: str, method: str, which: int) -> str:
    ours, paper = _means(rows, name, method), PUBLISHED.get((name, method))
    here = [short(ours[which])] if ours else []
    return " ".join(here + ([f"({short(paper[which])})"] if paper else []))


def _orders(rows: Rows) -> Iterator[str]:
    """A row a data set: by how much one method is above another."""
    by = {
        (claim, d.data): str(d) for claim, pair in CLAIMS.items() for d in differences(rows, *pair)
    }
    yield from _headed(["", *CLAIMS])
    for name in LOADERS:
        if any((claim, name) in by for claim in CLAIMS):
            yield _line([name, *(by.get((claim, name), "-") for claim in CLAIMS)])


def _table_2(rows: Rows) -> Iterator[str]:
    """Credit by classifier: AUROC and AUPRC of methods that are there, the paper's in brackets."""
    kinds = [m for m in ("vae", "pgm", "p3gm") if _means(rows, "credit", m)]
    yield from _headed(["", *(f"{m}, {score}" for m, score in product(kinds, ("AUROC", "AUPRC")))])
    for i, name in enumerate(CLASSIFIERS):
        cells = []
        for method in kinds:
            each = [r["each"][i] for r in rows if (r["data"], r["method"]) == ("credit", method)]
            ours = [mean(column) for column in zip(*each, strict=True)]
            theirs = TABLE_2[name][method]
            cells += [f"{short(x)} ({short(p)})" for x, p in zip(ours, theirs, strict=True)]
        yield _line([name, *cells])


def tables(rows: Rows) -> dict[str, list[str]]:
    """Lines of each table, by what stands above it; the paper's numbers are in brackets."""
    here = [name for name in LOADERS if any(r["data"] == name for r in rows)]
    by = {n: len(next(r["scores"] for r in rows if r["data"] == n)) for n in here}
    pictures = [name for name in here if by[name] == 1]
    others = [name for name in here if by[name] == 2]
    made = {
        "Accuracy (Table 4)": _scores(rows, pictures, 0) if pictures else (),
        "AUROC (Table 3)": _scores(rows, others, 0) if others else (),
        "AUPRC (Table 3)": _scores(rows, others, 1) if others else (),
        "Credit by classifier (Table 2)": _table_2(rows) if "credit" in here else (),
        "One method above another": _orders(rows),
    }
    return {title: list(lines) for title, lines in made.items()}


def printed(rows: Rows) -> str:
    """The tables below their titles."""
    made = tables(rows).items()
    return "\n".join(chain.from_iterable((title, "", *lines, "") for title, lines in made if lines))


@click.command()
@click.argument("kept", type=click.Path(exists=True, path_type=Path))
def main(kept: Path) -> None:
    """Print the tables."""
    click.echo(printed(json.loads(kept.read_text())["rows"]))


if __name__ == "__main__":
    main()
