"""A kit on disk, read again: every part is what it was when the kit was made, or it is refused."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dpaudit import checks
from dpaudit.checkpoint.kits import sealed
from dpaudit.data import npz
from dpaudit.data.fingerprints import fingerprint
from dpaudit.errors import BadInput
from dpaudit.files import opened, regular
from dpaudit.types import Array, Records

VERSION = 2
PUBLIC, CANARIES, SEALED = "kit.json", "canaries.npz", "sealed.json"
LARGEST = 1 << 20
"""Bytes of a file of text; those of a kit have at most one for each of 100,000 canaries."""


@dataclass(frozen=True)
class About:
    """What everybody may know of a kit."""

    kind: str
    made: str
    count: int
    classes: int
    shape: list[int]
    """Of one canary: channels, height and width."""
    data: str
    coins: str
    """Where they are from, in words."""
    canaries: str
    """The fingerprint of all canaries."""
    dpaudit: str
    commitment: str = ""
    version: int = VERSION

    def content(self) -> bytes:
        """kit.json."""
        return (json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n").encode()

    @property
    def hash(self) -> str:
        """Of all of it but the commitment, which is that of the seal on this hash."""
        return hashlib.sha256(replace(self, commitment="").content()).hexdigest()


@dataclass(frozen=True)
class Kit:
    """Canaries, what is known of them, and where their coins lie."""

    path: Path
    about: About
    canaries: Records

    def opened(self, commitment: str | None = None) -> Array:
        """Which canaries were put in; refused unless the sealed file is that of the beginning.

        A commitment that was kept elsewhere, if given, is what the file must have.
        """
        file = self.path / SEALED
        content = _bytes(file)
        found, wanted = sealed.commitment(content), self.about.commitment
        if commitment is not None and commitment.lower() != wanted.lower():
            raise BadInput(
                f"{self.path / PUBLIC}: its commitment is {wanted}, and the one that was kept is "
                f"{commitment}; this is not the kit that was made then",
                "other-commitment",
                option="commitment",
                value=commitment,
            )
        if found != wanted:
            raise BadInput(
                f"{file}: it was altered after the kit was made (its SHA-256 is {found}, the "
                f"kit's commitment {wanted}); its coins prove nothing",
                "kit-altered",
                value=str(file),
            )
        coins = sealed.unsealed(content, str(file))
        if coins.public != self.about.hash or len(coins.coins) != self.about.count:
            raise BadInput(
                f"{self.path / PUBLIC}: it was altered after the kit was made; {SEALED} is about "
                "another",
                "kit-altered",
                value=str(self.path / PUBLIC),
            )
        return coins.put_in

    @property
    def flat(self) -> bool:
        """Whether a canary is a row of numbers."""
        return self.about.shape[:2] == [1, 1]


def read(path: str | os.PathLike[str]) -> Kit:
    """The kit in a folder, its coins still sealed."""
    folder = Path(os.path.expanduser(path))
    if not folder.is_dir():
        said = "there is no such folder; make a kit with dpaudit canaries make"
        raise BadInput(f"{folder}: {said}", "folder-missing", value=str(folder))
    about = _about(folder / PUBLIC)
    file = folder / CANARIES
    canaries = npz.few(file, follow=False)
    if marked(canaries) != about.canaries:
        said = "its canaries are not those that the kit was made with"
        raise BadInput(f"{file}: {said}", "kit-altered", value=str(file))
    return Kit(folder, about, canaries)


def writable(folder: Path, name: str) -> Path:
    """A file of a kit that may be replaced: there is none yet, or it is a regular one."""
    file = folder / name
    if os.path.lexists(file):
        os.close(regular(file, os.O_RDONLY, "a file of the kit", follow=False))
    return file


def marked(canaries: Records) -> str:
    """The fingerprint of canaries."""
    return fingerprint("canaries", canaries)


def _about(file: Path) -> About:
    content = _bytes(file)
    try:
        told: Any = json.loads(content)
        found = About(**told)
        texts = (found.kind, found.made, found.data, found.coins, found.canaries, found.dpaudit)
        numbers = (found.count, found.classes, *found.shape)
        good = found.version == VERSION and len(found.shape) == 3
        good = good and all(isinstance(text, str) for text in (*texts, found.commitment))
        good = good and all(isinstance(n, int) and 0 < n <= checks.MANY for n in numbers)
        good = good and found.classes <= checks.MOST["classes"]
    except (ValueError, TypeError, RecursionError):
        good = False
    if not good:
        said = "it does not describe a kit that this dpaudit can read"
        raise BadInput(f"{file}: {said}", "wrong-format", value=str(file))
    return found


def _bytes(file: Path) -> bytes:
    with opened(file, "a file of the kit", follow=False) as content:
        read = content.read(LARGEST + 1)
    if len(read) > LARGEST:
        said = "it is too large for a file of a kit"
        raise BadInput(f"{file}: {said}", "file-too-large", value=str(file))
    return read
