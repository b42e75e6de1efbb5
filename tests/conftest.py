"""What the tests of several parts share: a plug-in that trains nothing, data, and benchmarks."""

import os

# Before torch is loaded: several workers with a pool of threads each wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dpaudit import registry
from dpaudit.executors import SerialExecutor, local_pool

TESTS = Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"


@pytest.fixture(scope="session")
def plugin_paths(tmp_path_factory) -> list[Path]:
    """Folders that, on Python's path, make `leaky` a mechanism like any third party's."""
    site = tmp_path_factory.mktemp("site")
    installed = site / "playground-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: playground\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        "[dpaudit.mechanisms]\nleaky = playground:Leaky\n", encoding="utf-8"
    )
    return [site, TESTS]


@pytest.fixture
def plugins(plugin_paths, monkeypatch):
    """The plug-in in this process."""
    for path in plugin_paths:
        monkeypatch.syspath_prepend(path)
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()


@pytest.fixture
def serial(monkeypatch):
    """Runs with one worker do their trials in this process and need not start another."""

    def pool(workers):
        return SerialExecutor() if workers == 1 else local_pool(workers)

    monkeypatch.setattr("dpaudit.audit.runner.local_pool", pool)


@pytest.fixture(scope="session")
def npz(tmp_path_factory) -> Path:
    """A user's own data, of two classes."""
    path = tmp_path_factory.mktemp("data") / "own.npz"
    draw = np.random.default_rng(0)
    np.savez(path, x=draw.uniform(size=(90, 4)).astype(np.float32), y=np.arange(90) % 2)
    return path


@pytest.fixture
def benchmark(monkeypatch):
    """Imports a benchmark by its name, as a script finds its neighbours."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield import_module
    for name in set(sys.modules) - before:
        if BENCHMARKS in Path(getattr(sys.modules[name], "__file__", None) or "/").parents:
            del sys.modules[name]
