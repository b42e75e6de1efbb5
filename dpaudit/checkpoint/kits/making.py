"""Make a kit: draw canaries, flip their coins, and write all files, whole or not at all."""

from __future__ import annotations

import csv
import glob
import os
import secrets
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import checks
from dpaudit.checkpoint.kits import kit
from dpaudit.checkpoint.kits.kinds import KINDS, TrainingData, read_data
from dpaudit.checkpoint.kits.kit import PUBLIC, SEALED, Kit, KitFacts, SealedCoins, fingerprint
from dpaudit.data.arrays import as_given, as_records, record_hashes
from dpaudit.errors import BadInput, write_error
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run import GuessNumbers
from dpaudit.files import probe_folder
from dpaudit.types import Array, Records
from dpaudit.versions import versions

FEWEST, MOST = 10, 100_000
"""Canaries of a kit; fewer show next to nothing."""

FROM_SYSTEM = "drawn from the operating system's randomness"
FROM_SEED = "drawn from --seed: the seed reveals the coins, so this kit is for tests only"

ALL, ADD = "canaries", "add_to_training"


def make(
    data: str,
    out: Path,
    kind: str = "mislabelled",
    count: int = 1000,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Kit:
    """Write a kit to a new folder; return it."""
    checks.refuse(
        [
            checks.one_of("kind", kind, KINDS),
            checks.whole("count", count, FEWEST, MOST),
            None if seed is None else checks.at_least("seed", seed, 0),
        ]
    )
    if out.exists() or out.is_symlink():
        text = f"{out}: it exists already; a kit is made once, so choose another --out"
        raise BadInput(text, "file-exists", option="out", value=str(out))
    probe_folder(out)
    root = secrets.randbits(63) if seed is None else seed
    training = read_data(data, root, options or {})
    made = KINDS[kind](training, count, root)
    x = as_given(made.x, training.shape, training.dtype)
    # As they will be read again: values are rounded as in a file before they are hashed.
    canaries = as_records(x, made.y)
    if same := len(canaries) - len(set(record_hashes(canaries.x))):
        # Of two equal canaries, the one that is in would speak for the other.
        text = f"{same:,} of {count:,} canaries equal others; lower --count or take another --kind"
        raise BadInput(text, "canaries-alike", option="count", value=same)
    about = KitFacts(
        kind=kind,
        made=made.how,
        count=count,
        classes=training.data.classes,
        shape=list(canaries.x.shape[1:]),
        data=training.data.name,
        coins=FROM_SYSTEM if seed is None else FROM_SEED,
        canaries=fingerprint(canaries),
        dpaudit=versions()["dpaudit"],
    )
    seal = kit.seal(count, about.hash, seed)
    about = replace(about, commitment=kit.commitment_of(seal.content()))
    _place(_Contents(about, seal, x, canaries, training, made.rows), out.absolute(), named=out)
    return Kit(out, about, canaries)


@dataclass(frozen=True)
class _Contents:
    """The contents of a kit; `x` in the layout of the data, `rows` if that is a table."""

    about: KitFacts
    sealed: SealedCoins
    x: Array
    canaries: Records
    training: TrainingData
    rows: Sequence[Sequence[str]] | None


def _place(contents: _Contents, out: Path, named: Path) -> None:
    """Write a kit beside its place and move it there in one go."""
    fresh = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        # Remove what a killed process had written of the same kit.
        for left in out.parent.glob(f".{glob.escape(out.name)}.*.tmp"):
            writer = left.name.split(".")[-2]
            if writer.isdigit() and not _alive(int(writer)):
                shutil.rmtree(left, ignore_errors=True)
        _write(contents, fresh)
        fresh.rename(out)
    except OSError as error:
        raise write_error(named, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's
    return True


def _write(contents: _Contents, folder: Path) -> None:
    """Write all files into a new folder."""
    folder.mkdir()
    put_in, training = contents.sealed.put_in, contents.training
    (folder / PUBLIC).write_bytes(contents.about.content())
    (folder / SEALED).write_bytes(contents.sealed.content())
    for name, chosen in ((ALL, np.ones_like(put_in)), (ADD, put_in)):
        x, y = contents.x[chosen], contents.canaries.y[chosen]
        np.savez_compressed(folder / f"{name}.npz", x=x, y=y)
        if training.table is not None and contents.rows is not None:
            rows = [row for row, coin in zip(contents.rows, chosen, strict=True) if coin]
            with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([training.table.cells.header, *rows])
        if training.folders is not None:
            classes = [training.folders[label] for label in y]
            _write_images(folder / name, np.flatnonzero(chosen), classes, x)
    forms = [".npz"]
    forms += [".csv"] if contents.rows is not None else []
    forms += ["/"] if training.folders is not None else []
    add, everyone = ([f"{name}{form}" for form in forms] for name in (ADD, ALL))
    (folder / "README.md").write_text(readme(contents.about, add, everyone), encoding="utf-8")


def _write_images(folder: Path, numbers: Array, classes: Sequence[str], x: Array) -> None:
    from PIL import Image

    for number, name, image in zip(numbers, classes, np.moveaxis(x, 1, -1), strict=True):
        (folder / name).mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
        picture.save(folder / name / f"canary_{number:06d}.png")


# ---------------------------------------------------------------- the page for the user


DELTA, CONFIDENCE = 1e-5, 0.95
WIDTH = 100


def reach(count: int, curve: bool = False) -> float:
    """The largest epsilon that `count` canaries could show; with `curve`, of a Gaussian curve."""
    numbers = GuessNumbers.of(count)
    sure = numbers.each(CONFIDENCE)
    return numbers.ceiling(OneRunFDP(sure) if curve else OneRun(sure), count, DELTA)


def readme(about: KitFacts, add: Sequence[str], everyone: Sequence[str]) -> str:
    """The text of README.md; `add` are the files to train on, `everyone` those of all canaries."""
    import jinja2

    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("dpaudit.checkpoint.kits", ""), keep_trailing_newline=True
    )
    pages.filters["fill"] = lambda text: textwrap.fill(" ".join(text.split()), WIDTH)
    return pages.get_template("README.md.jinja").render(
        about=about,
        table=about.shape[:2] == [1, 1],
        adding=" or ".join(f"`{file}`" for file in add),
        all_of=" or ".join(f"`{file}`" for file in everyone),
        outright=reach(about.count),
        by_curve=reach(about.count, curve=True),
    )
