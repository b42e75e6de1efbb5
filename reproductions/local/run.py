"""The errors of frequency estimators when users hide their parameter, as the paper's Figs. 2 to 4.

Takagi, Cao and Yoshikawa, Concealing the Parameter of Local Differential Privacy (in Japanese):
users report by randomized response, and which of two parameters each one uses is hidden or
public. Errors are means of squares over seeded experiments; both ways promise the same E'.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from dpaudit.papers.local.users import Population, strength
from reproductions.local.utility import as_strong, errors
from reproductions.made import about, command

WEAK, STRONG = 0.8, 0.6
"""Probabilities of a true answer of the two parameters."""

SHARES = np.round(np.linspace(0.02, 0.98, 49), 2)
"""Shares of the weak parameter for Fig. 2."""

HELPS = np.round(np.linspace(0.44, 0.66, 12), 2)
"""Shares where hiding promises more than the parameter alone, for Fig. 3."""

TRUTHS = np.round(np.linspace(0, 1, 11), 1)
"""True shares of yes for Fig. 4."""

ESTIMATORS = ("hidden unbiased", "hidden mle", "public unbiased", "public mle")


def population(share: float) -> Population:
    """Return users of whom this share has the weak parameter."""
    return Population.of_binary([WEAK, STRONG], [share, 1 - share])


def strengths() -> list[dict[str, float]]:
    """Return E' of both parameters by the share of the weak one (Fig. 2)."""
    return [
        {
            "share": float(x),
            "weak": float(strength(population(x), 0)),
            "strong": float(strength(population(x), 1)),
        }
        for x in SHARES
    ]


def by_share(rounds: int) -> list[dict[str, float]]:
    """Return the errors of 100 users, half of whom say yes, by the share (Fig. 3)."""
    return [
        {"share": float(x)}
        | errors(population(x), as_strong(population(x)), 100, 0.5, rounds, seed=1)
        for x in HELPS
    ]


def by_truth(rounds: int, users: int) -> list[dict[str, float]]:
    """Return the errors times the number of users, by the true share of yes (Fig. 4)."""
    equal = population(0.5)
    found = []
    for truth in TRUTHS:
        measured = errors(equal, as_strong(equal), users, float(truth), rounds, seed=2)
        found.append({"truth": float(truth)} | {n: users * e for n, e in measured.items()})
    return found


def draw(found: dict[str, Any], file: Path) -> None:
    """Draw the three figures side by side."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    looks = dict(zip(ESTIMATORS, ("C0-", "C0--", "C1-", "C1--"), strict=True))
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    x = [row["share"] for row in found["fig2"]]
    for kind, name in (("weak", "answers truly .8"), ("strong", "answers truly .6")):
        panels[0].plot(x, [row[kind] for row in found["fig2"]], label=name)
    panels[0].set(xlabel="share of users with .8", ylabel="E'", ylim=(0, None))
    for name, look in looks.items():
        for axes, key, rows in ((panels[1], "share", "fig3"), (panels[2], "truth", "fig4")):
            xs, ys = zip(*((row[key], row[name]) for row in found[rows]), strict=True)
            axes.plot(xs, ys, look, label=name.replace("mle", "most likely"))
    panels[1].set(xlabel="share of users with .8, 100 users", ylabel="mean squared error")
    panels[2].set(xlabel="true share of yes, 1,000 users", ylabel="users x mean squared error")
    for axes in panels[1:]:
        axes.set_ylim(0, None)
    panels[0].legend(frameon=False, fontsize=8)
    panels[2].legend(frameon=False, fontsize=8)
    figure.savefig(file, dpi=110)


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=10_000, show_default=True)
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--figure", type=click.Path(dir_okay=False, path_type=Path))
def main(rounds: int, json_file: Path | None, figure: Path | None) -> None:
    """Print the errors of the four estimators, and write or draw them."""
    found: dict[str, Any] = {
        "about": about(command("local.run"), ("numpy",), rounds=rounds),
        "fig2": strengths(),
        "fig3": by_share(rounds),
        "fig4": by_truth(rounds, 1000),
    }
    least = min(found["fig2"], key=lambda row: row["weak"])
    click.echo(f"E' of the weak parameter is least, {least['weak']:.3f}, at {least['share']:.2f}")
    click.echo(f"{'share':>7}" + "".join(f"{name:>17}" for name in ESTIMATORS))
    for row in found["fig3"]:
        click.echo(f"{row['share']:7.2f}" + "".join(f"{row[n]:17.4f}" for n in ESTIMATORS))
    click.echo(f"{'truth':>7}" + "".join(f"{name:>17}" for name in ESTIMATORS))
    for row in found["fig4"]:
        click.echo(f"{row['truth']:7.1f}" + "".join(f"{row[n]:17.2f}" for n in ESTIMATORS))
    if json_file:
        json_file.write_text(json.dumps(found, indent=1) + "\n")
    if figure:
        draw(found, figure)


if __name__ == "__main__":
    main()
