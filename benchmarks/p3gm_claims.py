"""What the paper says of the order of methods, asked of kept results.

Differences are fold by fold, between methods that had the same records. Folds share most of what
they train on, so that an interval of three of them describes and proves little.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import click
from p3gm_data import LOADERS
from p3gm_methods import CLASSIFIERS, TABLE_2

Rows = Sequence[dict[str, Any]]

CLAIMS = {
    "C1: PGM is about as good as VAE": ("pgm", "vae"),
    "C3: P3GM ends above AE": ("p3gm", "ae"),
    "C3: P3GM ends above DP-VAE": ("p3gm", "dp-vae"),
    "noise costs: PGM above P3GM": ("pgm", "p3gm"),
}


class Difference(NamedTuple):
    """Of two methods on a data set: the mean over folds, and half of a 95 % interval."""

    data: str
    folds: int
    mean: float
    half: float

    def __str__(self) -> str:
        half = f"± {self.half:.3f}" if math.isfinite(self.half) else "(one fold)"
        return f"  {self.data:<15}{self.mean:+.3f} {half:<12}{self.folds} folds"


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


def table_2(rows: Rows) -> Iterator[str]:
    """Credit by classifier, as the paper's Table 2 has it: AUROC and AUPRC, ours and theirs."""
    for (i, name), method in product(enumerate(CLASSIFIERS), ("vae", "pgm", "p3gm")):
        each = [r["each"][i] for r in rows if (r["data"], r["method"]) == ("credit", method)]
        if each:
            ours = "  ".join(f"{mean(column):.4f}" for column in zip(*each, strict=True))
            theirs = "  ".join(f"{x:.4f}" for x in TABLE_2[name][method])
            yield f"  {name:<22}{method:<8}{ours}    {theirs}"


@click.command()
@click.argument("kept", type=click.Path(exists=True, path_type=Path))
def main(kept: Path) -> None:
    """Print the paper's claims beside what the kept results say."""
    rows = json.loads(kept.read_text())["rows"]
    for claim, (one, other) in CLAIMS.items():
        click.echo(claim)
        for difference in differences(rows, one, other):
            click.echo(str(difference))
    click.echo("Table 2: credit, AUROC and AUPRC here, and in the paper")
    for line in table_2(rows):
        click.echo(line)


if __name__ == "__main__":
    main()
