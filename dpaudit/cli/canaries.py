"""`dpaudit canaries`: make a kit of canaries to train with, and look at one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import DATA, option
from dpaudit.cli.output import FIGURES, Destination, Progress

if TYPE_CHECKING:
    from dpaudit.checkpoint.kits import Kit


@click.group("canaries")
def command() -> None:
    """Make a canary kit to train with; show it.

    A kit has records to add to a training set, each put in by a fair coin, and the coins in a
    sealed file. dpaudit checkpoint then measures how much the trained model leaks of them.
    """


KIT = Group(
    "Kit",
    option("--count N  Number of canaries, of which half are put in.", default=1000),
    option(
        "--kind [mislabelled|adv|blank|random]  Records of the data under another label, or with "
        "adversarial noise; empty ones with marks; random ones.",
        default="mislabelled",
    ),
    option("--out PATH  A new folder for the kit.", required=True),
    option(
        "--seed INTEGER  For tests: make the same kit again.  [default: the system's randomness]"
    ),
)


@command.command("make", cls=Command, groups=(DATA, KIT))
def make(
    data: str | None, count: int, kind: str, out: Path, seed: int | None, **given: Any
) -> None:
    """Draw canaries and flip a coin for each.

    Writes the canaries, those to add to the training set, the sealed coins and a README that says
    what to do, in the form in which the data came (.npz, and .csv or a folder of PNGs).

    \b
        dpaudit canaries make --data train.npz --count 1000 --out kit
        dpaudit canaries make --data people.csv --label income --bounds age=0:120 --out kit
    """
    from dpaudit.checkpoint import kits
    from dpaudit.checkpoint.kits.making import reach

    given["root"] = given.pop("data_root")
    with Progress() as progress:
        progress.say(f"making {kind} canaries")
        kit = kits.make(data or "digits", out, kind, count, seed, given)
    most, gaussian = reach(count), reach(count, curve=True)
    limits = f"{most:.2f}, or {gaussian:.2f} if a Gaussian curve is claimed"
    click.echo(_describe(kit, f"They can show an epsilon of at most {limits}."))
    click.echo(
        f"\nAdd {out / 'add_to_training.npz'} to your training set and train; {out / 'README.md'} "
        f"says how.\nKeep this commitment where it cannot be changed:\n{kit.about.commitment}"
    )


@command.command("show")
@click.argument("kit", type=click.Path(path_type=Path))
@click.option(
    "--figure",
    type=Destination(*FIGURES),
    help="Where they are drawn, as .png or .svg.  [default: canaries.png in the kit]",
)
def show(kit: Path, figure: Path | None) -> None:
    """Draw the canaries of a kit.

    KIT is its folder. The coins stay sealed; they are checked against their commitment.

    \b
        dpaudit canaries show kit
    """
    from dpaudit.checkpoint import kits
    from dpaudit.report import drawing, figure_records

    found = kits.read(kit)
    found.open_coins()
    where = figure or kits.writable(kit, "canaries.png")
    drawing.dump(figure_records.draw_kit(found.canaries, found.flat), where)
    click.echo(_describe(found))
    click.echo(f"The sealed coins are intact: {found.about.commitment}\nDrawn in {where}")


def _describe(kit: Kit, *more: str) -> str:
    from dpaudit.report.document import Text
    from dpaudit.report.to_terminal import write_blocks

    about = kit.about
    size = " x ".join(map(str, about.shape))
    lines = [
        f"{about.count:,} canaries for {about.data}: {about.made}.",
        f"{about.classes} classes, records of {size}; coins {about.coins}.",
        *more,
    ]
    return write_blocks([Text(lines)])
