"""What judging commands print: a summary, one line with --quiet, all of it with --verbose.

Each command works on a real run or on real numbers.
"""

import os
import pty
import re
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import DPAUDIT
from playground import finished, observe, worlds_and_indices

from dpaudit.checkpoint import kits
from dpaudit.cli import main
from dpaudit.report.document import COLUMNS, LINES
from dpaudit.report.run_verdict import NO_EVIDENCE
from dpaudit.report.wording import LABELS

RUN = "run --canary random --mechanism leaky --models 40 --attack loss --attack mean --workers 1"
COUNTS = "estimate --fp 5 --out-trials 500 --fn 60 --in-trials 500"
COMMANDS = {
    "run": f"{RUN} --data own.npz --out made",
    "report": "report judged --html report.html",
    "compare": "compare judged --defence quantize:0.1 --json compare.json",
    "checkpoint": "checkpoint --predictions predictions.csv --kit kit --claim 1,1e-5",
    "plan": "plan --claim 1,1e-5 --true-epsilon 6 --models 40 --json plan.json",
    "calibrate": "calibrate --repetitions 2 --trials 10 --workers 1 --json calibrate.json",
    "estimate": f"{COUNTS} --json estimate.json",
    "estimate of a claim": f"{COUNTS} --claim 3",
}
OUTCOME = "|".join(map(re.escape, LABELS.values()))
FIRST = {
    "compare": r"Without .* \d",
    "plan": r"40 models .* \d+ %",
    "calibrate": r"TOO FEW [A-Z ]+: ",
    "estimate": r"The leak is at least epsilon 3\.599 ",
}
every = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture(scope="module")
def place(npz, tmp_path_factory):
    """A folder with data, a finished run, and a kit with predictions on its canaries."""
    here = tmp_path_factory.mktemp("summaries")
    (here / "own.npz").write_bytes(npz.read_bytes())
    draw = np.random.default_rng(0)
    seen = observe(worlds_and_indices(40)[0], draw, 4.0)
    finished(here / "judged/journal.sqlite", seen)
    flat = here / "flat.npz"
    np.savez(flat, x=draw.uniform(size=(300, 4)).astype(np.float32), y=np.arange(300) % 3)
    kit = kits.make(str(flat), here / "kit", "random", 120, seed=5)
    losses = np.exp(draw.normal(size=120) - 4 * kit.open_coins())
    rows = [f"{i},{loss:.6f}\n" for i, loss in enumerate(losses)]
    (here / "predictions.csv").write_text("canary,loss\n" + "".join(rows))
    return here


@pytest.fixture(scope="module")
def said():
    """What a command prints with an option; each is called once."""
    cache = {}

    def call(name, *more):
        if (name, more) not in cache:
            words = [*COMMANDS[name].split(), *more]
            cache[name, more] = CliRunner().invoke(main, words, catch_exceptions=False)
        done = cache[name, more]
        assert done.exit_code == 0, done.stderr
        return done

    return call


@pytest.fixture(autouse=True)
def here(place, plugins, monkeypatch):
    monkeypatch.chdir(place)
    # `run` takes over SIGTERM; this process wants its own back.
    monkeypatch.setattr("signal.signal", lambda *_: None)


def timeless(text):
    return re.sub(r"about \d[\d.]* (s|min|h)\b( \d+ s)?", "about TIME", text)


@every
def test_a_command_ends_in_a_summary_with_the_outcome_first(said, name):
    lines = said(name).stdout.splitlines()
    assert re.match(FIRST.get(name, f"({OUTCOME}): "), lines[0])
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    (rule,) = (i for i, line in enumerate(lines) if set(line) == {"-"})
    assert len(re.split(r"\s{2,}", lines[rule - 1].strip())) <= 5
    assert any(line.startswith("Next ") for line in lines)
    written = name == "run" or "--json" in COMMANDS[name] or "--html" in COMMANDS[name]
    written = written or name == "checkpoint"
    assert any(line.startswith("Report ") for line in lines) == written
    assert (NO_EVIDENCE in " ".join(lines)) == lines[0].startswith("WEAK TEST")


@every
def test_quiet_prints_the_outcome_in_one_line_and_no_progress(said, name):
    done = said(name, "--quiet")
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    assert " ".join(said(name).stdout.split()).startswith(line)


@every
def test_verbose_prints_the_details_and_ends_with_the_summary(said, name):
    summary, whole = (timeless(said(name, *more).stdout) for more in ((), ("--verbose",)))
    if " more: --verbose\n" not in summary:
        assert whole.endswith(f"\n\n{summary}")
    assert len(whole.splitlines()) > len(summary.splitlines()) + 5


@pytest.mark.parametrize(
    ("forbidden", "colored"), [(None, True), ("", True), ("1", False)], ids=repr
)
def test_a_terminal_shows_the_same_words_with_colour_unless_forbidden(
    shell, place, said, forbidden, colored
):
    env = {k: v for k, v in shell.env.items() if k != "NO_COLOR"}
    env |= {} if forbidden is None else {"NO_COLOR": forbidden}
    ours, theirs = pty.openpty()
    words = [DPAUDIT, *COMMANDS["report"].split()]
    with subprocess.Popen(words, cwd=place, env=env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while chunk := _read(ours):
            seen += chunk
    assert process.returncode == 0
    text = seen.decode().replace("\r\n", "\n")
    assert ("\x1b[1;33mWEAK TEST\x1b[0m: " in text) == colored
    bare = re.sub(r"\x1b\[[\d;]*m", "", text)
    plain = said("report").stdout
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # all of it was read, and the command has ended
        return b""
