"""The files of a kit: canaries as the data came, coins sealed, and a page that says what to do."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpaudit.checkpoint.kits.kit import CANARIES, PUBLIC, SEALED, About
from dpaudit.checkpoint.kits.readme import readme
from dpaudit.checkpoint.kits.sealed import Sealed
from dpaudit.checkpoint.kits.source import Source
from dpaudit.types import Array, Records

ADD = "add_to_training"
ALL = "canaries"


@dataclass(frozen=True)
class Contents:
    """What is written; `x` in the layout of the data, `rows` where that is a table."""

    about: About
    sealed: Sealed
    x: Array
    canaries: Records
    source: Source
    rows: Sequence[Sequence[str]] | None


def write(kit: Contents, folder: Path) -> None:
    """All files, into a folder that is made for them."""
    folder.mkdir()
    put_in = kit.sealed.put_in
    (folder / PUBLIC).write_bytes(kit.about.content())
    (folder / SEALED).write_bytes(kit.sealed.content())
    np.savez_compressed(folder / CANARIES, x=kit.x, y=kit.canaries.y)
    np.savez_compressed(folder / f"{ADD}.npz", x=kit.x[put_in], y=kit.canaries.y[put_in])
    forms = [".npz"]
    if kit.source.table is not None and kit.rows is not None:
        header = kit.source.table.cells.header
        some = [row for row, coin in zip(kit.rows, put_in, strict=True) if coin]
        (folder / f"{ALL}.csv").write_text(_text(header, kit.rows), encoding="utf-8", newline="")
        (folder / f"{ADD}.csv").write_text(_text(header, some), encoding="utf-8", newline="")
        forms.append(".csv")
    if kit.source.folders is not None:
        for name, chosen in ((ALL, np.ones(len(put_in), dtype=bool)), (ADD, put_in)):
            _write_images(kit, kit.source.folders, folder / name, chosen)
        forms.append("/")
    add, everyone = ([f"{name}{form}" for form in forms] for name in (ADD, ALL))
    (folder / "README.md").write_text(readme(kit.about, add, everyone), encoding="utf-8")


def _text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def _write_images(kit: Contents, classes: Sequence[str], folder: Path, chosen: Array) -> None:
    for name, number, picture in _pictures(kit, classes, chosen):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / f"canary_{number:06d}.png").write_bytes(picture)


def _pictures(
    kit: Contents, classes: Sequence[str], chosen: Array
) -> Iterator[tuple[str, int, bytes]]:
    # Here, because Pillow takes a while to import.
    from PIL import Image

    for i in np.flatnonzero(chosen):
        pixels = np.moveaxis(kit.x[i], 0, -1)
        file = io.BytesIO()
        Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG")
        yield classes[int(kit.canaries.y[i])], int(i), file.getvalue()
