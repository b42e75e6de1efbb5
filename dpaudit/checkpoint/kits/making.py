"""Make a kit: draw canaries, flip their coins, and write it all, whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpaudit import checks
from dpaudit.checkpoint.kits import sealed, source
from dpaudit.checkpoint.kits.kinds import KINDS
from dpaudit.checkpoint.kits.kit import About, Kit, marked
from dpaudit.checkpoint.kits.writing import Contents, write
from dpaudit.data.arrays import as_given, as_records
from dpaudit.data.fingerprints import marks
from dpaudit.errors import BadInput, unwritable
from dpaudit.files import probe_folder
from dpaudit.types import Records
from dpaudit.versions import versions

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
    given = source.opened(data, root, options or {})
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
    seal = sealed.sealed(count, about.hash, seed)
    about = replace(about, commitment=sealed.commitment(seal.content()))
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
        raise unwritable(named, error) from error
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
