"""How often a kit's coins were looked at: a later look is held to a higher confidence.

A line for each look, the fingerprint of what was guessed first. Nothing stops somebody who copies a
kit or deletes the file; whoever is honest does not lose count.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dpaudit.errors import BadInput, unwritable
from dpaudit.files import opened, regular

FILE = "looks.txt"
WANTED = "the list of looks at a kit"
LARGEST = 1 << 20
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
        with opened(self.file, WANTED, follow=False) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
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
            raise unwritable(self.file, error, way_out) from error
