"""The output of a command: its files, the text on standard output, and the progress bar."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import BadValue, Misuse
from dpaudit.journal import file as journal_file

if TYPE_CHECKING:
    from dpaudit.judging.ladder import Ladder
    from dpaudit.report.document import Document
    from dpaudit.report.to_terminal import Detail
    from dpaudit.results import Report

FIGURES = (".png", ".svg")
"""The formats of a figure."""


class Destination(click.Path):
    """The type of an option that names a file to write; it is checked before the command works.

    With `endings` the file must end in one of them. With `in_run`, files in the command's own
    run folder (--out) need not be writable yet: the run makes it.
    """

    def __init__(self, *endings: str, in_run: bool = False) -> None:
        super().__init__(path_type=Path)
        self.endings, self.in_run = endings, in_run

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(value)
        in_run = self.in_run and ctx is not None and path.parent == ctx.params.get("out")
        if not (in_run and path.name != journal_file.NAME) and (found := self.problem(str(value))):
            code, sentence = found
            raise BadValue(f"cannot write {value}: {sentence}", code, param, ctx)
        if ctx is not None and param is not None:
            files, flag = ctx.meta.setdefault("dpaudit.files", {}), param.opts[0]
            if (first := files.setdefault(os.path.realpath(path), flag)) != flag:
                raise Misuse(f"{first} and {flag} name the same file: {path}", "same-file")
        return path

    def problem(self, given: str) -> tuple[str, str] | None:
        """Return the code and the sentence of a file that cannot be written, or None."""
        path = Path(os.path.realpath(given))
        if path.is_dir() or given.endswith(("/", os.sep)):
            return "is-folder", "it is a folder"
        if self.endings and path.suffix not in self.endings:
            return "wrong-ending", f"it must end in {' or '.join(self.endings)}"
        if not path.parent.is_dir():
            return "folder-missing", f"there is no folder {Path(given).parent}"
        if path.name == journal_file.NAME or journal_file.is_database(path):
            return "is-journal", "it is a journal, and the models of its run would be lost"
        # A pipe or a device is written to, and not replaced.
        touched = path if path.exists() and not path.is_file() else path.parent
        writable = os.access(touched, os.W_OK)
        return None if writable else ("file-unwritable", f"{touched} is not writable")


def deliver(
    document: Document, detail: Detail | None, *files: tuple[Path | None, Callable[[Path], object]]
) -> None:
    """Write the files that were named, and print the result even if one cannot be written."""
    from dpaudit.report.to_terminal import color_wanted, write

    try:
        for path, dump in files:
            if path is not None:
                dump(path)
    finally:
        click.echo(write(document, color=color_wanted(), detail=detail or "summary"))


def deliver_result(words: Any, result: Any, output: Mapping[str, Any], draw: Any = None) -> None:
    """Deliver a result by the options of `WRITTEN`; `words` is its module of dpaudit.report."""
    from dpaudit.report import drawing, machine

    json, figure = output["json"], output.get("figure")
    deliver(
        words.document(result, places(json, figure)),
        output["detail"],
        (json, lambda path: machine.write(words.to_dict(result), path)),
        (figure, lambda path: drawing.dump(draw(result), path)),
    )


def places(*paths: Path | None) -> str:
    """Name the files that were written."""
    return ", ".join(str(path) for path in paths if path is not None)


@contextmanager
def interruptible(progress: Progress, stopped: Callable[[], str]) -> Iterator[None]:
    """Exit with 130 and a sentence at Ctrl-C, or at SIGTERM, such as a scheduler sends."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ignore a second one while stopping
        progress.clear()
        click.echo(stopped(), err=True)
        sys.exit(130)


class Progress(AbstractContextManager["Progress"]):
    """A bar on a terminal, plain lines elsewhere; on standard error, beside the report.

    A context manager that removes a half-written line at its end. With `brief`, counts are shown
    on a terminal only, for work that is soon done. With --quiet nothing is shown.
    """

    def __init__(self, unit: str = "models", brief: bool = False) -> None:
        context = click.get_current_context(silent=True)
        self._silent = bool(context and context.params.get("detail") == "line")
        self._live = sys.stderr.isatty()
        self._brief, self._evidence = brief, ""
        self._bar: Any = None
        self.restart(unit)

    def __exit__(self, *_: object) -> None:
        self.clear()

    def restart(self, unit: str) -> None:
        """Count anew, in another unit."""
        self.unit, self.done, self.total, self._printed = unit, 0, 0, -1.0
        self._start: tuple[float, int] | None = None

    def say(self, text: str) -> None:
        """Name the step that begins now."""
        if self._live:
            self._show(text)
        else:
            self.note(f"{text} ...")

    def note(self, text: str) -> None:
        """Print a line that stays."""
        if not self._silent:
            self.clear()
            click.echo(text, err=True)

    def __call__(self, done: int, total: int) -> None:
        """Show the number that is done, of those wanted."""
        self.done, self.total = done, total
        self._start = self._start or (time.monotonic(), done)
        text = f"{done}/{total} {self.unit}{self._evidence}{self._pace(*self._start)}"
        if self._live and done < total:
            self._show(text, done, total)
        elif not self._brief and (done == total or done / total >= self._printed + 0.1):
            self._printed = done / total
            self.note(text)

    def evidence(self, wealth: float, needed: float) -> None:
        """Show the evidence against the claim so far, and how much refutes it."""
        self._evidence = f", evidence {wealth:.3g} of {needed:.3g}"
        if self.total:
            self._printed = -1.0
            self(self.done, self.total)

    def clear(self) -> None:
        """Remove a half-written line."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _pace(self, start: float, first: int) -> str:
        if self.done == first:
            return ""
        pace = (self.done - first) / (time.monotonic() - start)
        minutes, seconds = divmod(round((self.total - self.done) / pace), 60)
        left = f", {minutes}:{seconds:02d} left" if self.done < self.total else ""
        return f", {pace:.2f}/s{left}"

    def _show(self, text: str, done: int = 0, total: int = 0) -> None:
        """Show a line that the next one replaces, with a bar of what is counted."""
        from rich import console, live, progress_bar, table

        if self._silent:
            return
        if self._bar is None:
            screen = console.Console(stderr=True, markup=False, highlight=False)
            self._bar = live.Live(console=screen, transient=True, auto_refresh=False)
            self._bar.start()
        line = table.Table.grid(padding=(0, 1))
        line.add_column(no_wrap=True)
        line.add_row(text, *([progress_bar.ProgressBar(total, done, 24)] if total else []))
        self._bar.update(line, refresh=True)


def stop_if(found: Report | Ladder, output: Mapping[str, Any]) -> None:
    """Exit with 1 if a gate is closed: for a refuted claim, or for all but a strong test."""
    refuted = output["fail_on_violation"] and found.verdict == "VIOLATION"
    if refuted or (output["fail_on_weak"] and found.strength != "strong"):
        sys.exit(1)
