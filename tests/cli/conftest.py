"""The command line as a user has it: in a process of its own or, if that will do, in this one."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from refusals import Line

from dpaudit.cli import main

DPAUDIT = Path(sys.executable).with_name("dpaudit")


@dataclass(frozen=True)
class Shell:
    """Calls `dpaudit` with the test suite's plug-in installed."""

    env: dict[str, str]
    cwd: Path

    def start(self, *words, pause=0.0) -> subprocess.Popen:
        """A process in a group of its own, as a terminal starts it."""
        return subprocess.Popen(
            [str(DPAUDIT), *map(str, words)],
            cwd=self.cwd,
            env={**self.env, "PLAYGROUND_PAUSE": str(pause)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A shell starts its background jobs, which the tests may be, deaf to Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    @staticmethod
    def until(process, pattern) -> None:
        """Read what a run says of its progress, up to a line that matches."""
        for line in process.stderr:
            if re.search(pattern, line):
                return
        raise AssertionError(f"the run ended without saying {pattern}")

    def __call__(self, *words) -> subprocess.CompletedProcess:
        """The finished process."""
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        assert "Traceback" not in out + err
        return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.fixture(scope="session")
def shell(plugin_paths, tmp_path_factory) -> Shell:
    # With what this process has there, lest another dpaudit be called than is tested.
    here = filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join([*map(str, plugin_paths), *here])
    return Shell({**os.environ, "PYTHONPATH": path}, tmp_path_factory.mktemp("cwd"))


@pytest.fixture
def cli(plugins, serial, tmp_path, monkeypatch):
    """`dpaudit` in this process, in an empty folder."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    # `run` takes over SIGTERM; this process wants its own back.
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="session")
def command(npz) -> list[object]:
    """A run of seconds; all but its folder."""
    words = "run --canary random --mechanism leaky --models 40 --attack loss --attack mean"
    return [*words.split(), "--data", npz]


@pytest.fixture(scope="session")
def undisturbed(shell, command, tmp_path_factory):
    """That run, played to its end, and what it said."""
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    return folder, shell(*command, "--workers", 2, "--out", folder)


def contents(folder):
    return {p: p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.fixture
def refused(cli, tmp_path):
    """What a refused command says, and the promise that nothing else has come of it."""

    def check(*words):
        before = contents(tmp_path)
        result = cli(*words)
        assert result.exit_code == 2, result.output
        assert isinstance(result.exception, SystemExit), "never a traceback"
        assert result.stdout == ""
        assert contents(tmp_path) == before
        *before, said = result.stderr.splitlines()
        assert all(line.startswith(("preparing ", "asking ")) for line in before)
        assert said.startswith("Error: ")
        assert Line(said).code
        return Line(said)

    return check
