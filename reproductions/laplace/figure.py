"""What is left to use on Adult, by epsilon, drawn from a result file."""

from __future__ import annotations

import json
from pathlib import Path

import click

LOOKS = {
    "DP-SGD": ("black", "s"),
    "AnonymizingFirst": ("C2", "o"),
    "LearningFirst": ("C0", "^"),
    "AnonymizedLearning": ("C1", "D"),
}


@click.command()
@click.argument("results", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--figure", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(results: Path, figure: Path) -> None:
    """Draw accuracy and macro-F1; filled marks promise epsilon for the whole model."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    found = json.loads(results.read_text())["rows"]
    drawn, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for axes, measure in zip(panels, ("accuracy", "macro_f1"), strict=True):
        for method, line in (("no privacy", "--"), ("majority class", ":")):
            (row,) = (r for r in found if r["method"] == method)
            axes.axhline(row[measure], color="black", ls=line, lw=1, label=method)
        for method, (colour, mark) in LOOKS.items():
            for unit in ("whole model", "each parameter"):
                rows = [r for r in found if (r["method"], r["unit"]) == (method, unit)]
                if rows:
                    axes.errorbar(
                        [r["epsilon"] for r in rows],
                        [r[measure] for r in rows],
                        [r[f"{measure}_deviation"] for r in rows],
                        fmt=f"{mark}{'-' if unit == 'whole model' else ':'}",
                        color=colour,
                        markerfacecolor=colour if unit == "whole model" else "white",
                        label=f"{method}, {unit}",
                    )
        axes.set(xscale="log", xlabel="epsilon", title=measure.replace("_", "-"))
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    drawn.savefig(figure, dpi=110)


if __name__ == "__main__":
    main()
