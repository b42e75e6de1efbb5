"""A bar that a terminal can overwrite, whatever its width."""

import io
import os

import pytest

from dpaudit.cli.output import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(monkeypatch, columns):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    size = os.terminal_size((columns, 24))
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: size)
    progress = Progress()
    for done in (0, 340, 1000):
        progress(done, 1000)
        progress.evidence(0.484, 20.0)
    lines = terminal.getvalue().replace("\n", "\r").split("\r")
    assert "340/1000 models" in terminal.getvalue()
    assert max(len(line.rstrip()) for line in lines) < columns
    assert ("[####" in terminal.getvalue()) == (columns >= 80)
