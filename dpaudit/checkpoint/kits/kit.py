"""A kit on disk: its canaries, its sealed coins, and the count of looks at them.

The coins are committed to before the training and opened after it. The commitment is the SHA-256
of the sealed file: it shows later that the coins, the canaries and the facts about them are those
of before the training. A random salt in the file keeps the commitment from giving the coins away.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from dpaudit import checks
from dpaudit.data import npz
from dpaudit.data.arrays import hash_arrays
from dpaudit.errors import BadInput, write_error
from dpaudit.files import open_file, regular
from dpaudit.seeds import coins as seeded_coins
from dpaudit.seeds import derive
from dpaudit.types import Array, Records

VERSION = 2
"""Of kit.json and of sealed.json."""

PUBLIC, CANARIES, SEALED, LOOKS = "kit.json", "canaries.npz", "sealed.json", "looks.txt"

LARGEST = 1 << 20
"""Bytes of a file of text: a coin for each of 100,000 canaries, or some thousand looks."""


@dataclass(frozen=True)
class _Document(ABC):
    """Facts that are stored as a JSON file."""

    def content(self) -> bytes:
        """The content of the file."""
        return (json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n").encode()

    @abstractmethod
    def is_valid(self) -> bool:
        """Return whether this dpaudit can read it."""


D = TypeVar("D", bound=_Document)


@dataclass(frozen=True)
class SealedCoins(_Document):
    """A coin for each canary, '1' in and '0' out, a salt, and the hash of the public facts."""

    coins: str
    salt: str
    public: str
    version: int = VERSION

    def is_valid(self) -> bool:
        return self.version == VERSION and bool(self.coins) and set(self.coins) <= {"0", "1"}

    @property
    def put_in(self) -> Array:
        """The mask of canaries that were put in."""
        return np.array([coin == "1" for coin in self.coins])


def seal(count: int, public: str, seed: int | None) -> SealedCoins:
    """Flip fair and independent coins by the operating system; with a seed, for tests, by that."""
    if seed is None:
        coins = np.array([secrets.randbits(1) for _ in range(count)], dtype=bool)
        salt = secrets.token_hex(32)
    else:
        coins = seeded_coins(derive(seed, "kit", "coins"), count)
        salt = f"{derive(seed, 'kit', 'salt'):064x}"
    return SealedCoins("".join("1" if coin else "0" for coin in coins), salt, public)


def commitment_of(content: bytes) -> str:
    """The commitment to a sealed file, which is published beforehand."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class KitFacts(_Document):
    """The public facts about a kit."""

    kind: str
    made: str
    count: int
    classes: int
    shape: list[int]
    """Of one canary: channels, height and width."""
    data: str
    coins: str
    """The origin of the coins, in words."""
    canaries: str
    """The fingerprint of all canaries."""
    dpaudit: str
    commitment: str = ""
    version: int = VERSION

    def is_valid(self) -> bool:
        texts = (self.kind, self.made, self.data, self.coins, self.canaries, self.dpaudit)
        numbers = (self.count, self.classes, *self.shape)
        return (
            self.version == VERSION
            and len(self.shape) == 3
            and all(isinstance(text, str) for text in (*texts, self.commitment))
            and all(isinstance(n, int) and 0 < n <= checks.MANY for n in numbers)
            and self.classes <= checks.MOST["classes"]
        )

    @property
    def hash(self) -> str:
        """The hash of all facts but the commitment, which is that of the seal on this hash."""
        return hashlib.sha256(replace(self, commitment="").content()).hexdigest()


@dataclass(frozen=True)
class Kit:
    """A folder, the facts about its canaries, and the canaries; the coins stay sealed."""

    path: Path
    about: KitFacts
    canaries: Records

    def open_coins(self, commitment: str | None = None) -> Array:
        """Return the mask of canaries that were put in; refuse coins that were altered.

        A `commitment` that was kept elsewhere is what the sealed file must have.
        """
        public, file = self.path / PUBLIC, self.path / SEALED
        content = _content(file, "a file of the kit")
        found, wanted = commitment_of(content), self.about.commitment
        if commitment is not None and commitment.lower() != wanted.lower():
            text = f"{public}: its commitment is {wanted}, not {commitment}: this is another kit"
            raise BadInput(text, "other-commitment", option="commitment", value=commitment)
        if found != wanted:
            text = f"{file}: it was altered (its SHA-256 is {found}, the commitment {wanted})"
            raise BadInput(text, "kit-altered", value=str(file))
        coins = _parse(file, content, SealedCoins)
        if coins.public != self.about.hash or len(coins.coins) != self.about.count:
            text = f"{public}: it was altered after the kit was made; {SEALED} is about another kit"
            raise BadInput(text, "kit-altered", value=str(public))
        return coins.put_in

    @property
    def flat(self) -> bool:
        """True if a canary is a row of numbers."""
        return self.about.shape[:2] == [1, 1]


def read(path: str | os.PathLike[str]) -> Kit:
    """Read the kit in a folder, its coins still sealed; links inside it are not followed."""
    folder = Path(os.path.expanduser(path))
    if not folder.is_dir():
        text = f"{folder}: there is no such folder; make a kit with dpaudit canaries make"
        raise BadInput(text, "folder-missing", value=str(folder))
    public, file = folder / PUBLIC, folder / CANARIES
    about = _parse(public, _content(public, "a file of the kit"), KitFacts)
    canaries = npz.read_records(file, follow=False)
    if fingerprint(canaries) != about.canaries:
        text = f"{file}: its canaries are not those that the kit was made with"
        raise BadInput(text, "kit-altered", value=str(file))
    return Kit(folder, about, canaries)


def writable(folder: Path, name: str) -> Path:
    """The path of a kit's file that may be replaced: there is none yet, or it is a regular one."""
    file = folder / name
    if os.path.lexists(file):
        os.close(regular(file, os.O_RDONLY, "a file of the kit", follow=False))
    return file


def fingerprint(canaries: Records) -> str:
    """The fingerprint of canaries."""
    return hash_arrays("canaries", canaries)


def _content(file: Path, wanted: str) -> bytes:
    with open_file(file, wanted, follow=False) as content:
        read = content.read(LARGEST + 1)
    if len(read) > LARGEST:
        text = f"{file}: it is too large for {wanted}"
        raise BadInput(text, "file-too-large", value=str(file))
    return read


def _parse(file: Path, content: bytes, kind: type[D]) -> D:
    try:
        found = kind(**json.loads(content))
        valid = found.is_valid()
    except (ValueError, TypeError, RecursionError):
        valid = False
    if not valid:
        text = f"{file}: it is not the {file.name} of a kit that this dpaudit can read"
        raise BadInput(text, "wrong-format", value=str(file))
    return found


# ---------------------------------------------------------------- looks


@dataclass(frozen=True)
class Looks:
    """The count of looks at a kit's coins: a later look is held to a higher confidence.

    The file has a line a look, which begins with the hash of the guesses. The count relies on
    honest users: nothing stops one who copies the kit or deletes the file.
    """

    folder: Path

    @property
    def file(self) -> Path:
        """The file with a line a look."""
        return self.folder / LOOKS

    def upcoming(self, look: str) -> int:
        """The number that such a look has or would have, from 1 on; nothing is written down."""
        known = self._known()
        return known.index(look) + 1 if look in known else len(known) + 1

    def take(self, look: str, words: str) -> int:
        """Write down a new look before its result is shown; return the number of the look.

        A line is appended in one go and the file read again, so that two looks at the same time
        are counted as two.
        """
        if look not in (known := self._known()):
            self._append(f"{look} {' '.join(words.split())}\n", after=bool(known))
        return self.upcoming(look)

    def _known(self) -> list[str]:
        """All looks in order; a line that was cut short counts as a look."""
        if not os.path.lexists(self.file):
            return []
        lines = _content(self.file, "a list of looks").decode(errors="replace").split("\n")
        return list(dict.fromkeys(line.split(" ")[0] for line in lines if line.strip()))

    def _append(self, line: str, after: bool) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        try:
            descriptor = regular(self.file, flags, "a list of looks", follow=False)
            with os.fdopen(descriptor, "a+b") as file:
                found = os.fstat(file.fileno())
                if found.st_nlink > 1:
                    text = f"{self.file}: it is a hard link to another file; use a copy of the kit"
                    raise BadInput(text, "hard-link", value=str(self.file))
                # A line of its own, even after one that was cut short.
                cut = after and os.pread(file.fileno(), 1, found.st_size - 1) != b"\n"
                file.write(("\n" if cut else "").encode() + line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            way_out = "; looks at a kit are counted in its folder: make it writable, or use a copy"
            raise write_error(self.file, error, way_out) from error
