"""Make a kit: draw canaries, flip their coins, and write it all, whole or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpaudit import checks
from dpaudit.data.arrays import as_given, as_records
from dpaudit.errors import BadInput
from dpaudit.files import probe_folder
from dpaudit.kits import sealed, source
from dpaudit.kits.kinds import KINDS
from dpaudit.kits.kit import About, Kit, marked
from dpaudit.kits.writing import Contents, write
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
            checks.at_least("count", count, FEWEST)
            or (f"count must be at most {MOST:,}, not {count:,}" if count > MOST else None),
            None if seed is None else checks.at_least("seed", seed, 0),
        ]
    )
    if out.exists() or out.is_symlink():
        raise BadInput(f"{out}: it is there already; a kit is made once, so choose another --out")
    probe_folder(out)
    root = secrets.randbits(63) if seed is None else seed
    given = source.opened(data, root, options or {})
    made = KINDS[kind](given, count, root)
    x = as_given(made.x, given.shape, given.dtype)
    # As they will be read again: what a file rounds is rounded before it is hashed.
    canaries = as_records(x, made.y)
    seal = sealed.sealed(count, marked(canaries), seed)
    about = About(
        kind=kind,
        made=made.how,
        count=count,
        classes=given.data.classes,
        shape=list(canaries.x.shape[1:]),
        data=given.data.name,
        coins=FROM_SYSTEM if seed is None else FROM_SEED,
        canaries=seal.canaries,
        commitment=sealed.commitment(seal.content()),
        dpaudit=versions()["dpaudit"],
    )
    contents = Contents(about, seal, x, canaries, given, made.rows)
    # Beside its place, so that it can be moved there in one go.
    fresh = out.absolute().with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    try:
        fresh.parent.mkdir(parents=True, exist_ok=True)
        write(contents, fresh)
        fresh.rename(out.absolute())
    except OSError as error:
        raise BadInput(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return Kit(out, about, canaries)
