"""The page in a kit that says what to do with it."""

from __future__ import annotations

import csv
import glob
import io
import os
import secrets
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import checks
from dpaudit.checkpoint.kits import kinds, kit
from dpaudit.checkpoint.kits.kinds import KINDS, Source
from dpaudit.checkpoint.kits.kit import CANARIES, PUBLIC, SEALED, About, Kit, Sealed, marked
from dpaudit.data.arrays import as_given, as_records
from dpaudit.data.fingerprints import marks
from dpaudit.errors import BadInput, write_error
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.selections import GuessNumbers
from dpaudit.files import probe_folder
from dpaudit.types import Array, Records
from dpaudit.versions import versions

DELTA, CONFIDENCE = 1e-5, 0.95

GIVEN_IMAGES = (
    "Your network is given float32 of (records, channels, height, width), bytes divided by 255; "
    "`--preprocess MODULE:FUNCTION` makes of such a batch what it takes instead, such as another "
    "order of axes, or normalised pixels."
)
GIVEN_TABLE = (
    "Your network is given the rows of numbers of `canaries.npz`: of a table as dpaudit reads it, "
    "numbers scaled by their bounds and other columns one-hot. If it takes other features, ask it "
    "yourself."
)


def reach(count: int, curve: bool = False) -> float:
    """The largest epsilon that so many canaries could show; by a Gaussian `curve`, or outright."""
    numbers = GuessNumbers.of(count)
    sure = numbers.each(CONFIDENCE)
    return numbers.ceiling(OneRunFDP(sure) if curve else OneRun(sure), count, DELTA)


def readme(about: About, add: Sequence[str], everyone: Sequence[str]) -> str:
    """README.md; `add` are the files to train on, and `everyone` those of all canaries."""
    what = (
        f"{about.count:,} canaries for {about.data}: {about.made}. A fair coin for each of them, "
        f"independent of all others, said whether it is trained on. The coins were {about.coins}."
    )
    adding, all_of = (" or ".join(f"`{file}`" for file in files) for files in (add, everyone))
    given = _paragraph(GIVEN_TABLE if about.shape[:2] == [1, 1] else GIVEN_IMAGES)
    outright, by_curve = reach(about.count), reach(about.count, curve=True)
    shows = _paragraph(
        f"So many canaries can show an epsilon of at most {outright:.2f} (delta 1e-5, 95 % "
        f"confidence, assuming nothing of the training), or {by_curve:.2f} if the claim states a "
        "Gaussian curve (`--curve gaussian`, which is then taken on trust). A higher claim cannot "
        "be refuted with them. A model from which they cannot be guessed better than by chance "
        "shows 0, which is no proof that nothing leaks."
    )
    return f"""# A canary kit

{_paragraph(what)}

## What to do

1. Keep this commitment where it cannot be changed, before you train. It is the SHA-256 of
   `sealed.json`, and shows later that the coins are those of today without telling them now:

       {about.commitment}

2. Add all of {adding} to your training data, as
   records like all others, and train as you always do: the same steps, batches, noise and clipping.
   Add nothing else of this folder, leave nothing out, and do not look at single canaries to steer
   the training. What the accountant needs to know (the number of records, the sampling rate) is
   what it is with them. A canary counts as one record: none may be put in twice or weighted
   otherwise.
3. Score the trained model, once, by a score that you have settled on (`--score`):

       dpaudit checkpoint model.pt --network MODULE:FUNCTION --kit THIS_FOLDER --claim EPSILON,DELTA

   or, with any framework, ask it yourself about all of {all_of},
   and give what it says of each:

       dpaudit checkpoint --predictions predictions.csv --kit THIS_FOLDER --claim EPSILON,DELTA

   The columns are `canary` (its number, from 0) and either `loss`, or `p0`, `p1`, ... for
   probabilities, or `z0`, `z1`, ... for logits.

{given}

Looks at the coins are counted in `looks.txt`: another model, score or number of guesses is held to
a higher confidence. Make a kit for each training. Whoever trains needs only what is added;
`sealed.json` is for whoever audits.

## What it can show

{shows}

## Files

- `kit.json`: what everybody may know. `sealed.json`: the coins; `dpaudit checkpoint` opens it, and
  refuses it if anything was changed.
- {all_of}: all canaries, by their numbers, whether trained on or not.
- {adding}: those to train on.

`dpaudit canaries show THIS_FOLDER` draws them. Canaries made from records of the data are as
confidential as those records.
"""


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 100)


# ----------------------------------------------------------------
# The files of a kit: canaries as the data came, coins sealed, and a page that says what to do.


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


# ----------------------------------------------------------------
# Make a kit: draw canaries, flip their coins, and write it all, whole or not at all.


FEWEST, MOST = 10, 100_000
"""Canaries: what fewer show is next to nothing."""

FROM_SYSTEM = "drawn from the operating system's randomness"
FROM_SEED = "drawn from --seed: whoever knows it knows the coins, so this kit is for tests only"


def make(
    data: str,
    out: Path,
    kind: str = "mislabelled",
    count: int = 1000,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Kit:
    """The kit that was written to a new folder."""
    checks.refuse(
        [
            checks.one_of("kind", kind, KINDS),
            checks.whole("count", count, FEWEST, MOST),
            None if seed is None else checks.at_least("seed", seed, 0),
        ]
    )
    if out.exists() or out.is_symlink():
        said = "it is there already; a kit is made once, so choose another --out"
        raise BadInput(f"{out}: {said}", "file-exists", option="out", value=str(out))
    probe_folder(out)
    root = secrets.randbits(63) if seed is None else seed
    given = kinds.opened(data, root, options or {})
    made = KINDS[kind](given, count, root)
    x = as_given(made.x, given.shape, given.dtype)
    # As they will be read again: what a file rounds is rounded before it is hashed.
    canaries = as_records(x, made.y)
    _refuse_alike(canaries)
    about = About(
        kind=kind,
        made=made.how,
        count=count,
        classes=given.data.classes,
        shape=list(canaries.x.shape[1:]),
        data=given.data.name,
        coins=FROM_SYSTEM if seed is None else FROM_SEED,
        canaries=marked(canaries),
        dpaudit=versions()["dpaudit"],
    )
    seal = kit.seal(count, about.hash, seed)
    about = replace(about, commitment=kit.commitment_of(seal.content()))
    contents = Contents(about, seal, x, canaries, given, made.rows)
    _place(contents, out.absolute(), named=out)
    return Kit(out, about, canaries)


def _refuse_alike(canaries: Records) -> None:
    """Refuse two that are the same: the one that is in would speak for the other."""
    same = len(canaries) - len(set(marks(canaries.x)))
    if same:
        raise BadInput(
            f"{same:,} of {len(canaries):,} canaries are the same as another one, as the data "
            "keeps them; take fewer (--count), or another --kind",
            "canaries-alike",
            option="count",
            value=same,
        )


def _place(contents: Contents, out: Path, named: Path) -> None:
    """Write a kit beside its place and move it there in one go."""
    fresh = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        write(contents, fresh)
        fresh.rename(out)
    except OSError as error:
        raise write_error(named, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _sweep(out: Path) -> None:
    """Take away what a process that was killed had written of the same kit."""
    for left in out.parent.glob(f".{glob.escape(out.name)}.*.tmp"):
        writer = left.name.split(".")[-2]
        if writer.isdigit() and not _alive(int(writer)):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's
    return True
