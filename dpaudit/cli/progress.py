"""How far a run is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time

SHORTEST, LONGEST = 6, 24
"""Of a bar; a shorter one says nothing."""


class Progress:
    """Written to standard error, so that standard output is the report alone.

    `quiet`: what is soon done is counted on a terminal only.
    """

    def __init__(self, unit: str = "models", quiet: bool = False) -> None:
        self.unit = unit
        self.quiet = quiet
        self.done = self.total = 0
        self._live = sys.stderr.isatty()
        self._started: float | None = None
        self._first = 0
        self._told = -1.0
        self._shown = 0
        self._evidence = ""

    def say(self, text: str) -> None:
        """What the next silence is about."""
        self._line(f"{text} ...", last=not self._live)

    def note(self, text: str) -> None:
        """A line that stays."""
        self._line(text, last=True)

    def __call__(self, done: int, total: int) -> None:
        """So many are done of those wanted."""
        self.done, self.total = done, total
        if self._started is None:
            self._started, self._first = time.monotonic(), done
        text = f"{done}/{total} {self.unit}{self._evidence}{self._pace()}"
        if self._live:
            self._line(_fitting(done, total, text), last=done == total)
        elif not self.quiet and (done == total or done / total >= self._told + 0.1):
            self._told = done / total
            self._line(text, last=True)

    def evidence(self, wealth: float, needed: float) -> None:
        """What the models so far weigh against the claim, and what would refute it."""
        self._evidence = f", evidence {wealth:.3g} of {needed:.3g}"
        if self.total:
            self._told = -1.0
            self(self.done, self.total)

    def clear(self) -> None:
        """Leave no half-written line behind."""
        if self._shown:
            self._line("", last=False)
            sys.stderr.write("\r")

    def _pace(self) -> str:
        played = self.done - self._first
        if self._started is None or played == 0:
            return ""
        seconds = time.monotonic() - self._started
        left = round(seconds / played * (self.total - self.done))
        minutes, rest = divmod(left, 60)
        ending = f", {minutes}:{rest:02d} left" if self.done < self.total else ""
        return f", {played / seconds:.2f}/s{ending}"

    def _line(self, text: str, last: bool) -> None:
        # The end of a longer line before this one is wiped out with blanks.
        start, wipe = ("\r", " " * (self._shown - len(text))) if self._live else ("", "")
        sys.stderr.write(start + text + wipe + ("\n" if last else ""))
        sys.stderr.flush()
        self._shown = 0 if last else len(text)


def _fitting(done: int, total: int, text: str) -> str:
    """The text after a bar, within the terminal: a line that wraps could not be overwritten."""
    width = shutil.get_terminal_size().columns - 1
    length = min(LONGEST, width - len(f"[] {text}"))
    if length < SHORTEST:
        return text[:width]
    filled = length * done // total
    return f"[{'#' * filled}{'.' * (length - filled)}] {text}"
