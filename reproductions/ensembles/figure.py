"""Figs. 3 to 5 of the paper on aggregated private learners, drawn from a result file."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

KINDS = (("aggregated", "aggregated", "C0o-"), ("private", "one private learner", "C1s-"))


@click.command()
@click.argument("results", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--figure", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(results: Path, figure: Path) -> None:
    """Draw accuracy by epsilon on the three data sets of the paper."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    rows = [r for r in json.loads(results.read_text())["experiments"] if r["name"][:3] == "Fig"]
    drawn, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for axes, row in zip(panels, rows, strict=True):
        axes.axhline(row["pooled"], color="C2", ls="--", label="all data, no noise")
        axes.axhline(row["local"][0], color="0.4", ls="-.", label="each alone, no noise")
        for kind, label, look in KINDS:
            mean, deviation = np.array(row[kind]).T
            axes.errorbar(row["epsilons"], mean, deviation, fmt=look, capsize=2, label=label)
        axes.set(xscale="log", xlabel="epsilon", title=row["name"], ylim=(0.2, 1.03))
    panels[0].set_ylabel("accuracy on the test set")
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    drawn.savefig(figure, dpi=110)


if __name__ == "__main__":
    main()
