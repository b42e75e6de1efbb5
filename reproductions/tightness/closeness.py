"""Certified epsilon against the claimed one, a panel per adversary, a line per number of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproductions.tightness.published import FIGURES

SEES = {
    "worst-case": "asks the trained model",
    "final-weights": "sees the trained parameters",
    "white-box": "sees every update",
    "per-step": "sees every step of two trainings",
}
"""The panels, weak to strong."""

SHADES = ("#8cc1e4", "#2f8ccb", "#004a78")
"""Fewest to most models: one colour, because it is one thing that grows."""

FREE = ("exact-scan", "one-run")
"""Estimators that stand beside others, and assume nothing."""

SIZE = 8.0


def draw(found: Sequence[dict[str, Any]], data: str, path: Path) -> None:
    """One PNG or SVG; what the same models show without any assumption is left out."""
    from matplotlib.figure import Figure

    from dpaudit.report import drawing

    curves = [one for one in found if one["row"]["estimator"] not in FREE]
    panels = [a for a in SEES if any(one["row"]["game"]["adversary"] == a for one in curves)]
    most = 1.06 * max((one["row"]["game"]["epsilon"] for one in curves), default=1)
    across = min(2, max(1, len(panels)))
    down = -(-len(panels) // across)
    sizes = sorted({one["row"]["per_world"] for one in curves if _trained(one) == "full"})
    shades = dict(zip(sizes, SHADES[-len(sizes) :], strict=True)) if sizes else {}
    with drawing.style():
        figure = Figure(figsize=(3.6 * across, 3.7 * down), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axes, adversary in zip(grid.flat, panels, strict=False):
            here = [one for one in curves if one["row"]["game"]["adversary"] == adversary]
            panel(axes, adversary, here, most, shades)
            if adversary == "worst-case":
                told(axes, data)
            axes.legend(loc="upper left", handlelength=1.4, borderaxespad=0.2)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        repetitions = max((len(one["bounds"]) for one in curves), default=0)
        words = (
            f"{data}: {repetitions} audits (dashes) and their mean",
            "full batches unless said",
        )
        title = "; ".join(words) if across > 1 else ";\n".join(words)
        figure.suptitle(title, fontsize=10, x=0.01, ha="left")
        figure.supxlabel("claimed epsilon", fontsize=10)
        figure.supylabel("epsilon that is certified at 95 %", fontsize=10)
        figure.savefig(path, dpi=200)


def panel(
    axes: Any,
    adversary: str,
    found: Sequence[dict[str, Any]],
    most: float,
    shades: Mapping[int, str],
) -> None:
    """One adversary: means, joined where only the claim differs, and all repetitions."""
    from dpaudit.report import drawing

    axes.plot([0, most], [0, most], color=drawing.MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate(
        *("all that is claimed", (0.46 * most, 0.48 * most)),
        **{"rotation": 45, "rotation_mode": "anchor", "transform_rotates_text": True},
        **{"color": drawing.MUTED, "fontsize": SIZE},
    )
    # Most models first, so that a legend has them in the order of the lines.
    lines = dict.fromkeys((_trained(one), one["row"]["per_world"]) for one in found)
    ordered = sorted(lines, key=lambda one: (one[0] != "full", -(one[1] or 0)))
    others = iter((("D", drawing.IN), ("s", drawing.CLAIM)))
    for how, n in ordered:
        points = sorted(
            (one for one in found if (_trained(one), one["row"]["per_world"]) == (how, n)),
            key=lambda one: one["row"]["game"]["epsilon"],
        )
        claimed = [one["row"]["game"]["epsilon"] for one in points]
        if how == "full":
            marker, color = "o", shades[n]
        else:
            marker, color = next(others)
        models = "" if n is None else f"{n:,} + {n:,} models"
        label = models if how == "full" else f"{models},\n{how}".lstrip(",\n")
        for x, one in zip(claimed, points, strict=True):
            dashes = {"markersize": 8, "markeredgewidth": 0.9}
            axes.plot([x] * len(one["bounds"]), one["bounds"], "_", color=color, **dashes)
        means = [one["mean"] for one in points]
        axes.plot(
            claimed, means, linewidth=1.3, marker=marker, markersize=3.6, color=color, label=label
        )
    axes.set_title(f"{adversary}: {SEES[adversary]}")
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    axes.set_aspect("equal")
    axes.grid(True)


def told(axes: Any, data: str) -> None:
    """The best that has been published of such an audit, in its place."""
    from dpaudit.report import drawing

    best = max((f for f in FIGURES if f.data == data), key=lambda f: f.reported, default=None)
    if best is not None:
        style = {"marker": "X", "linestyle": "none", "color": drawing.IN, "markersize": 7}
        label = f"{best.reported:g} as published,\nwhich is no bound"
        axes.plot([best.claimed], [best.reported], label=label, **style)


def _trained(one: dict[str, Any]) -> str:
    game = one["row"]["game"]
    if game["canaries"] is not None:
        return f"one training,\n{game['canaries']:,} canaries"
    if game["batch"] == "full":
        return "full"
    batches = f"batches of {game['batch']:,}"
    return batches if game["per_world"] else f"two trainings, {batches}"
