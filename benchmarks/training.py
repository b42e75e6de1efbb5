"""How much faster each backend takes a step of DP-SGD than Opacus does.

All contenders take turns in one process on one thread, a block of steps each, round after round;
what counts is the process's CPU time, so that a busy machine disturbs all of them alike. A
speed-up is that of one round; shown are the median and the range over the rounds.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import click
from malloc import tune

SGEMM = 1024

BARS = {
    "W1": {"native": 12, "torch": 2},
    "W2": {"native": 5, "torch": 2},
    "W3": {"native": 8, "torch": 1.5},
}
"""The least speed-up over Opacus that dpaudit promises itself."""


@dataclass
class Times:
    """Milliseconds of CPU time per step of each contender, a number per round."""

    step: dict[str, list[float]] = field(default_factory=dict)
    mc_dropout: dict[str, list[float]] = field(default_factory=dict)
    sgemm: list[float] = field(default_factory=list)
    flops: int = 0

    def speedups(self, name: str) -> list[float]:
        """Opacus over a backend, round by round."""
        return [a / b for a, b in zip(self.step["opacus"], self.step[name], strict=True)]

    def sgemm_share(self, name: str) -> float:
        """A backend's FLOP per second over those of torch's matrix product."""
        pairs = zip(self.step[name], self.sgemm, strict=True)
        return median(self.flops / step * product / (2 * SGEMM**3) for step, product in pairs)

    def mc_steps(self, name: str) -> float:
        """The passes of MC dropout in steps of the same backend."""
        pairs = zip(self.mc_dropout[name], self.step[name], strict=True)
        return median(passes / step for passes, step in pairs)

    def summary(self) -> dict[str, Any]:
        """What is written as JSON."""
        names = [name for name in self.step if name != "opacus"]
        return {
            "opacus_ms": median(self.step["opacus"]),
            "ms": {name: median(self.step[name]) for name in names},
            "speedup": {name: median(self.speedups(name)) for name in names},
            "range": {name: _range(self.speedups(name)) for name in names},
            "sgemm_share": self.sgemm_share("native") if "native" in names else None,
            "mc_steps": {name: self.mc_steps(name) for name in self.mc_dropout},
        }


def timed(run: Callable[[], object], repeats: int = 1) -> float:
    """Milliseconds of CPU time per repeat."""
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3 / repeats


def measure(make: Callable[[], Any], rounds: int, share: float) -> tuple[Times, dict[str, str]]:
    """One workload: the times, and why some backends are left out."""
    import torch
    from contenders import Opacus, backends

    workload = make()
    taken, left_out = backends(workload)
    runners = {"opacus": Opacus(workload), **taken}
    for runner in runners.values():
        runner.run(4)  # compiles, allocates and checks what is done but once
    a = torch.rand(SGEMM, SGEMM)
    # A fast backend takes more steps, so that its block is long enough to be timed.
    block = max(1, round(workload.steps * share))
    steps = {name: block * {"torch": 2, "native": 4}.get(name, 1) for name in runners}
    times = Times(flops=workload.flops())
    order, shuffle = list(runners), random.Random(0)
    for _ in range(rounds):
        times.sgemm.append(timed(lambda: [a @ a for _ in range(4)], 4))
        shuffle.shuffle(order)
        for name in order:
            spent = timed(lambda name=name: runners[name].run(steps[name]), steps[name])
            times.step.setdefault(name, []).append(spent)
            if name in taken and workload.mc_dropout:
                times.mc_dropout.setdefault(name, []).append(timed(taken[name].predict))
    return times, left_out


@click.command()
@click.option("--quick", is_flag=True, help="Fewer steps: under a minute.")
@click.option("--rounds", type=click.IntRange(5), default=7, show_default=True)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
@click.option("--figure", type=click.Path(path_type=Path), help="Draw the speed-ups, e.g. a.png.")
def main(quick: bool, rounds: int, json_file: Path | None, figure: Path | None) -> None:
    """Time a step of DP-SGD with every backend against Opacus."""
    click.echo(tune())

    import torch
    from memory import peak_mb
    from workloads import WORKLOADS

    torch.set_num_threads(1)
    results: dict[str, Any] = {}
    for name, make in WORKLOADS.items():
        times, left_out = measure(make, 5 if quick else rounds, 0.25 if quick else 1.0)
        results[name] = times.summary()
        click.echo(f"\n{name}  {make().title}")
        for line in table(results[name], BARS[name]):
            click.echo(line)
        for backend, reason in left_out.items():
            click.echo(f"  {backend} is left out: {reason}")
    contenders = [*results["W2"]["speedup"], *([] if quick else ["opacus"])]
    results["W2"]["peak_mb"] = {name: peak_mb(name, "W2") for name in contenders}
    peaks = (f"{name} {peak:.0f} MB" for name, peak in results["W2"]["peak_mb"].items())
    click.echo("\nPeak memory above the start on W2: " + ", ".join(peaks))
    if json_file:
        json_file.write_text(json.dumps(results, indent=2) + "\n")
    if figure:
        draw(results, figure)


def table(summary: dict[str, Any], bars: dict[str, float]) -> list[str]:
    """A line per contender."""
    head = f"  {'':8}{'ms a step':>10}{'speed-up':>10}  {'range':<16}{'bar':<12}"
    lines = [f"{head}1000 MC passes" if summary["mc_steps"] else head.rstrip()]
    lines.append(f"  {'opacus':8}{summary['opacus_ms']:10.2f}{1:10.2f}")
    for name, speedup in summary["speedup"].items():
        low, high = summary["range"][name]
        bar = f"{bars[name]:g} {'met' if speedup >= bars[name] else 'MISSED'}"
        line = f"  {name:8}{summary['ms'][name]:10.2f}{speedup:10.2f}  "
        line += f"{f'[{low:.2f}..{high:.2f}]':<16}{bar:<12}"
        passes = summary["mc_steps"].get(name)
        lines.append(line.rstrip() if passes is None else f"{line}{passes:.1f} steps")
    if summary["sgemm_share"] is not None:
        lines.append(f"  native does {summary['sgemm_share']:.0%} of the FLOP/s of torch's sgemm")
    return lines


def draw(results: dict[str, Any], path: Path) -> None:
    """The speed-ups as bars, a group for each workload."""
    from matplotlib.figure import Figure

    from dpaudit.report import drawing

    names = list(results["W1"]["speedup"])
    colours = {"native": drawing.IN, "torch": drawing.OUT}
    height, whiskers = 0.8 / len(names), {"fmt": "none", "capsize": 2, "elinewidth": 1}
    with drawing.style():
        figure = Figure(figsize=(drawing.WIDTH, 1.2 + 0.45 * len(names) * len(results)))
        figure.set_layout_engine("constrained")
        axes = figure.subplots()
        for i, name in enumerate(names):
            taken = {j: r for j, r in enumerate(results.values()) if name in r["speedup"]}
            rows = [j + (i - (len(names) - 1) / 2) * height for j in taken]
            middles = [result["speedup"][name] for result in taken.values()]
            ranges = [result["range"][name] for result in taken.values()]
            spread = zip(middles, ranges, strict=True)
            errors = list(zip(*[(m - low, high - m) for m, (low, high) in spread], strict=True))
            axes.barh(rows, middles, 0.9 * height, color=colours[name], label=name)
            axes.errorbar(middles, rows, xerr=errors, color=drawing.INK, **whiskers)
            for row, middle, (_, high) in zip(rows, middles, ranges, strict=True):
                beside = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
                axes.annotate(f"{middle:.1f}×", (high, row), **beside)
        axes.axvline(1, color=drawing.MUTED, linewidth=1)
        axes.set_yticks(range(len(results)), list(results))
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlabel("steps while Opacus takes one: median and range of the rounds")
        axes.set_title("Speed-up over Opacus, CPU time on one thread")
        figure.legend(loc="outside lower right", ncols=len(names))
        figure.savefig(path, dpi=150)


def _range(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


if __name__ == "__main__":
    main()
