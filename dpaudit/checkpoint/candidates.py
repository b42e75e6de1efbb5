"""The records that a model is asked about, and which of them it was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from scipy.stats import binom

from dpaudit.checkpoint.kits import Kit
from dpaudit.checkpoint.kits.kit import Looks
from dpaudit.data import npz
from dpaudit.data.arrays import record_hashes
from dpaudit.errors import BadInput
from dpaudit.seeds import generator
from dpaudit.types import Array, Records

Coins: TypeAlias = Literal["kit", "stated", "supposed"]
"""Who says that a fair coin put each record in: a kit, the user, or nobody."""

UNFAIR = 1e-3
"""Fair coins fall as unevenly as that in one of so many audits: then none was tossed."""


@dataclass(frozen=True)
class Candidates:
    """Records in an order that says nothing of `put_in`: which of them were trained on."""

    records: Records
    put_in: Array
    classes: int
    coins: Coins
    about: str
    commitment: str | None = None
    looks: Looks | None = None
    """Where looks at the coins are counted: in a kit."""
    shared: int = 0
    """Records that are on both sides."""

    def __post_init__(self) -> None:
        if not 0 < int(self.put_in.sum()) < len(self.put_in):
            said = "all records are of one side, in or out; an audit needs both"
            raise BadInput(said, "one-side")
        if int(self.records.y.max()) >= self.classes:
            most = int(self.records.y.max())
            raise BadInput(
                f"there are labels up to {most}, which is more than {self.classes} classes",
                "unknown-labels",
                option="classes",
                value=most,
            )

    @property
    def fair(self) -> bool:
        """Whether fair coins may have fallen like this."""
        n, inn = len(self.put_in), int(self.put_in.sum())
        rarer = min(binom.cdf(inn, n, 0.5), binom.sf(inn - 1, n, 0.5))
        return self.coins == "kit" or 2 * float(rarer) >= UNFAIR

    @property
    def flat(self) -> bool:
        """Whether a record is a row of numbers."""
        return self.records.x.shape[1:3] == (1, 1)


def of_kit(kit: Kit, commitment: str | None = None) -> Candidates:
    """All canaries of a kit, and its coins, if they are those of the beginning."""
    about = kit.about
    said = f"{about.count:,} canaries for {about.data}: {about.made}; coins {about.coins}"
    coins = kit.open_coins(commitment)
    looks = Looks(kit.path)
    return Candidates(kit.canaries, coins, about.classes, "kit", said, about.commitment, looks)


def of_members(
    members: Path, nonmembers: Path, stated: bool, classes: int | None, seed: int
) -> Candidates:
    """Records that were trained on and others, mixed: of equal scores the order decides."""
    inn, out = npz.read_records(members), npz.read_records(nonmembers)
    if inn.x.shape[1:] != out.x.shape[1:]:
        raise BadInput(
            f"records of {members} have the shape {inn.x.shape[1:]} and those of {nonmembers} "
            f"{out.x.shape[1:]}; they must be alike",
            "shape-mismatch",
            option="nonmembers",
            value=[inn.x.shape[1:], out.x.shape[1:]],
        )
    x, y = np.concatenate([inn.x, out.x]), np.concatenate([inn.y, out.y])
    put_in = np.arange(len(y)) < len(inn)
    mixed = generator(seed, "checkpoint", "members").permutation(len(y))
    return Candidates(
        Records(x[mixed], y[mixed]),
        put_in[mixed],
        int(y.max()) + 1 if classes is None else classes,
        "stated" if stated else "supposed",
        f"{len(inn):,} members ({members}) and {len(out):,} others ({nonmembers})",
        shared=len(_labelled(inn) & _labelled(out)),
    )


def _labelled(records: Records) -> set[tuple[bytes, int]]:
    return set(zip(record_hashes(records.x), records.y.tolist(), strict=True))
