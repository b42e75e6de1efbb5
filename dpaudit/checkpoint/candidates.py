"""The records that a model is queried on, and which of them it was trained on."""

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
"""The source of the statement that a fair coin put each record in: a kit, the user, or none."""

UNFAIR = 1e-3
"""The share of audits in which fair coins are taken for unfair ones."""


@dataclass(frozen=True)
class Candidates:
    """Records in an order that is independent of `put_in`: which of them were trained on."""

    records: Records
    put_in: Array
    classes: int
    coins: Coins
    about: str
    commitment: str | None = None
    looks: Looks | None = None
    """The counter of looks at the coins, in a kit."""
    shared: int = 0
    """Records that are on both sides."""

    def __post_init__(self) -> None:
        if not 0 < int(self.put_in.sum()) < len(self.put_in):
            raise BadInput("all records are members, or none; an audit needs both", "one-side")
        if (most := int(self.records.y.max())) >= self.classes:
            text = f"there are labels up to {most}, which is more than {self.classes} classes"
            raise BadInput(text, "unknown-labels", option="classes", value=most)

    @property
    def fair(self) -> bool:
        """True if fair coins give such a split in at least a share UNFAIR of audits."""
        n, inn = len(self.put_in), int(self.put_in.sum())
        rarer = min(binom.cdf(inn, n, 0.5), binom.sf(inn - 1, n, 0.5))
        return self.coins == "kit" or 2 * float(rarer) >= UNFAIR

    @property
    def flat(self) -> bool:
        """True if a record is a row of numbers."""
        return self.records.x.shape[1:3] == (1, 1)


def of_kit(kit: Kit, commitment: str | None = None) -> Candidates:
    """All canaries of a kit, and its coins; refused if the kit was altered."""
    about = kit.about
    words = f"{about.count:,} canaries for {about.data}: {about.made}; coins {about.coins}"
    coins, looks = kit.open_coins(commitment), Looks(kit.path)
    return Candidates(kit.canaries, coins, about.classes, "kit", words, about.commitment, looks)


def of_members(
    members: Path, nonmembers: Path, stated: bool, classes: int | None, seed: int
) -> Candidates:
    """Members and nonmembers, shuffled because the order decides among equal scores."""
    inn, out = npz.read_records(members), npz.read_records(nonmembers)
    if inn.x.shape[1:] != out.x.shape[1:]:
        shapes = [inn.x.shape[1:], out.x.shape[1:]]
        text = f"records differ in shape: {shapes[0]} in {members}, {shapes[1]} in {nonmembers}"
        raise BadInput(text, "shape-mismatch", option="nonmembers", value=shapes)
    x, y = np.concatenate([inn.x, out.x]), np.concatenate([inn.y, out.y])
    put_in = np.arange(len(y)) < len(inn)
    order = generator(seed, "checkpoint", "members").permutation(len(y))
    return Candidates(
        Records(x[order], y[order]),
        put_in[order],
        int(y.max()) + 1 if classes is None else classes,
        "stated" if stated else "supposed",
        f"{len(inn):,} members ({members}) and {len(out):,} others ({nonmembers})",
        shared=len(_labelled(inn) & _labelled(out)),
    )


def _labelled(records: Records) -> set[tuple[bytes, int]]:
    return set(zip(record_hashes(records.x), records.y.tolist(), strict=True))
