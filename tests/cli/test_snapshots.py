"""What every command prints, word for word: `make snapshots` renews it, and a diff shows it.

A file of tests/snapshots is a session: lines that begin with `$ dpaudit`, each with what it
prints below it, or with `$ page`, and below it the text of a page that one of them has written. To
keep another one, write its line into the file and renew.
"""

import os
import re
import shlex
import shutil
import textwrap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pages import Page
from playground import observe, worlds_and_indices, write_journal

from dpaudit.checkpoint import kits
from dpaudit.cli import COMMANDS, main

FOLDER = Path(__file__).parents[1] / "snapshots"
PROMPT = "$ "

CHANGING = (
    (r"^Time .*(\n {5,}.*)*", "Time      TIME"),
    (r"^Versions? .*(\n {5,}.*)*", "Versions  VERSIONS"),
    (r"^Time\n.*", "Time\nTIME"),  # of a page, which breaks the line before what it tells
    (r"^Versions\n(.*\n)+?Looks", "Versions\nVERSIONS\nLooks"),
    (r"[0-9a-f]{64}", "HASH"),
    (r"about \d[\d.]* (s|min|h)\b( \d+ (s|min))?", "about TIME"),
    (r"^(\d+/\d+ \w+|exact-scan \.\.\.).*\n", ""),  # progress, as often as there is time
    (r"runs/[0-9a-f]{8,}", "runs/DIGEST"),
    (
        r"(rule step >\s+)[\d.]+",
        r"\1NUMBER",
    ),  # of a training, whose last digits are the processor's
)
"""What differs from one day or machine to the next, and what stands for it."""


@pytest.fixture
def place(plugins, serial, npz, tmp_path, monkeypatch):
    """A folder with data, a finished run, scores, and a kit with predictions on its canaries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("dpaudit.estimators.published.PERMUTATIONS", 5)
    shutil.copy(npz, "own.npz")
    draw = np.random.default_rng(0)
    worlds = worlds_and_indices(40)[0]
    write_journal(Path("run/journal.sqlite"), observe(worlds, draw, 4.0))
    seen = observe(worlds, np.random.default_rng(0))
    nothing = {"name": "none", "made": "by hand", "label": 1}
    write_journal(Path("null/journal.sqlite"), seen, settled={"canary": nothing})
    scores = [f"{w},{draw.normal(2 * w):.4f}\n" for w in (0, 1) for _ in range(40)]
    Path("scores.csv").write_text("world,score\n" + "".join(scores))
    np.savez("flat.npz", x=draw.uniform(size=(300, 4)).astype(np.float32), y=np.arange(300) % 3)
    kit = kits.make("flat.npz", Path("kit"), "random", 120, seed=5)
    losses = np.exp(draw.normal(size=120) - 4 * kit.open_coins())
    rows = [f"{i},{loss:.6f}\n" for i, loss in enumerate(losses)]
    Path("predictions.csv").write_text("canary,loss\n" + "".join(rows))
    Path("bad.toml").write_text("epsilonn = 8\n")
    return tmp_path


def shown(line: str) -> tuple[str, int]:
    """What a command prints and its exit code, or the text of a page."""
    program, *words = shlex.split(line)
    if program == "page":
        told = Page(Path(*words).read_text(encoding="utf-8")).lines
        return "\n".join(textwrap.fill(said, 80) for said in told), 0
    assert program == "dpaudit"
    done = CliRunner().invoke(main, words, prog_name=program)
    return done.output, done.exit_code


def printed(line: str, place: Path) -> str:
    """A line of a session, what it shows, and its exit code if that is not 0."""
    output, code = shown(line)
    text = output.replace(str(place), "HERE")
    for changing, placeholder in CHANGING:
        text = re.sub(changing, placeholder, text, flags=re.MULTILINE)
    ended = f"[exit code {code}]\n" if code else ""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([f"{PROMPT}{line}", *lines, ended])


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_prints_is_what_was_kept(place, command):
    file = FOLDER / f"{command}.txt"
    kept = file.read_text(encoding="utf-8")
    asked = [line.removeprefix(PROMPT) for line in kept.splitlines() if line.startswith(PROMPT)]
    assert asked
    commands = (shlex.split(line) for line in asked)
    assert {words[1] for words in commands if words[0] == "dpaudit"} == {command}
    now = "\n".join(printed(line, place) for line in asked)
    if os.environ.get("DPAUDIT_RENEW"):
        file.write_text(now, encoding="utf-8")
    else:
        assert now == kept, "renew it if that is meant: make snapshots"
