"""A line of progress that a terminal can overwrite, whatever its width."""

import io
import re

import pytest

from dpaudit.cli.output import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_progress_shows_the_evidence_and_is_no_wider_than_the_terminal(monkeypatch, columns):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with Progress() as progress:
        progress.say("preparing")
        for done in (0, 340, 1000):
            progress(done, 1000)
            progress.evidence(0.484, 20.0)
    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", terminal.getvalue())
    assert re.search(r"preparing\s*\r", text), "no bar without a number"
    assert "340/1000 models" in text
    assert "evidence 0.484 of 20" in text
    passing = [line for line in re.split(r"[\r\n]", text) if "1000/1000" not in line]
    assert max(len(line.rstrip()) for line in passing) <= columns
    assert "1000/1000 models" in text.splitlines()[-1], "the last line stays"
