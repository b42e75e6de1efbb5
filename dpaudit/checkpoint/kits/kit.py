"""The coins of a kit, sealed: committed to before the training, opened after it.

The commitment is the SHA-256 of the sealed file. Whoever has it can tell later that the coins, the
canaries that they are about and all that is said of them are those of before the training. A random
salt in the file keeps it from telling the coins.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import checks
from dpaudit.data import npz
from dpaudit.data.fingerprints import fingerprint
from dpaudit.errors import BadInput, write_error
from dpaudit.files import open_file, regular
from dpaudit.seeds import coins as seeded
from dpaudit.seeds import derive
from dpaudit.types import Array, Records

# ----------------------------------------------------------------
# The coins of a kit, sealed: committed to before the training, opened after it.
#
# The commitment is the SHA-256 of the sealed file. Whoever has it can tell later that the coins, th
# canaries that they are about and all that is said of them are those of before the training. A rand
# salt in the file keeps it from telling the coins.


SEAL_VERSION = 2


@dataclass(frozen=True)
class Sealed:
    """A coin for each canary, '1' in and '0' out, a salt, and the hash of what is public."""

    coins: str
    salt: str
    public: str
    version: int = SEAL_VERSION

    def content(self) -> bytes:
        """The sealed file."""
        return (json.dumps(asdict(self), indent=1) + "\n").encode()

    @property
    def put_in(self) -> Array:
        """Which canaries were put in."""
        return np.array([coin == "1" for coin in self.coins])


def seal(count: int, public: str, seed: int | None) -> Sealed:
    """Fair and independent coins from the operating system; with a seed, for tests, from that."""
    if seed is None:
        drawn = np.array([secrets.randbits(1) for _ in range(count)], dtype=bool)
        salt = secrets.token_hex(32)
    else:
        drawn = seeded(derive(seed, "kit", "coins"), count)
        salt = f"{derive(seed, 'kit', 'salt'):064x}"
    return Sealed("".join("1" if coin else "0" for coin in drawn), salt, public)


def commitment_of(content: bytes) -> str:
    """What is published of a sealed file beforehand."""
    return hashlib.sha256(content).hexdigest()


def unseal(content: bytes, where: str) -> Sealed:
    """What a sealed file holds."""
    try:
        told = json.loads(content)
        found = Sealed(**told)
        good = (
            found.version == SEAL_VERSION and set(found.coins) <= {"0", "1"} and bool(found.coins)
        )
    except (ValueError, TypeError, RecursionError):
        good = False
    if not good:
        said = "it holds no coins that this dpaudit can read"
        raise BadInput(f"{where}: {said}", "wrong-format", value=where)
    return found


# ----------------------------------------------------------------
# A kit on disk, read again: every part is what it was when the kit was made, or it is refused.


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
        found, wanted = commitment_of(content), self.about.commitment
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
        coins = unseal(content, str(file))
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
    with open_file(file, "a file of the kit", follow=False) as content:
        read = content.read(LARGEST + 1)
    if len(read) > LARGEST:
        said = "it is too large for a file of a kit"
        raise BadInput(f"{file}: {said}", "file-too-large", value=str(file))
    return read


# ----------------------------------------------------------------
# How often a kit's coins were looked at: a later look is held to a higher confidence.
#
# A line for each look, the fingerprint of what was guessed first. Nothing stops somebody who copies
# kit or deletes the file; whoever is honest does not lose count.


FILE = "looks.txt"
WANTED = "the list of looks at a kit"
LARGEST_LOOKS = 1 << 20
"""Bytes; some thousand looks, of which each decides less than the one before."""


@dataclass(frozen=True)
class Looks:
    """The looks that a kit's folder tells of."""

    folder: Path

    @property
    def file(self) -> Path:
        """Where they are counted."""
        return self.folder / FILE

    def upcoming(self, what: str) -> int:
        """The number that such a look has or would have, from 1 on; nothing is written down."""
        known = self._known()
        return known.index(what) + 1 if what in known else len(known) + 1

    def take(self, what: str, words: str) -> int:
        """The number of a look; a new one is written down before anybody is told what it shows.

        A line is appended in one go and the file read again, so that two looks at the same time
        are counted as two.
        """
        if what not in (known := self._known()):
            self._append(f"{what} {' '.join(words.split())}\n", after=bool(known))
        return self.upcoming(what)

    def _known(self) -> list[str]:
        """What was looked at, in order; a line that was cut short counts as a look."""
        if not os.path.lexists(self.file):
            return []
        with open_file(self.file, WANTED, follow=False) as file:
            content = file.read(LARGEST_LOOKS + 1)
        if len(content) > LARGEST_LOOKS:
            said = "it is too large for a list of looks"
            raise BadInput(f"{self.file}: {said}", "file-too-large", value=str(self.file))
        lines = content.decode(errors="replace").split("\n")
        return list(dict.fromkeys(line.split(" ")[0] for line in lines if line.strip()))

    def _append(self, line: str, after: bool) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        try:
            with os.fdopen(regular(self.file, flags, WANTED, follow=False), "a+b") as file:
                found = os.fstat(file.fileno())
                if found.st_nlink > 1:
                    raise BadInput(
                        f"{self.file}: it is a hard link, and the same file has another name; "
                        "use a copy of the kit",
                        "hard-link",
                        value=str(self.file),
                    )
                # A line of its own, even after one that was cut short.
                cut = after and os.pread(file.fileno(), 1, found.st_size - 1) != b"\n"
                file.write(("\n" if cut else "").encode() + line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            way_out = (
                "; looks at a kit are counted in its folder, so make that writable, or use a copy "
                "of the kit"
            )
            raise write_error(self.file, error, way_out) from error
