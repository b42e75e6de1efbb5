"""Kernels are compiled once, never loaded half written, and their lack is said in a clause."""

import os
import subprocess
import sys

import pytest
from compiled import compiled
from sequences import moved, named, records

from dpaudit.training import native
from dpaudit.training.native import compiler
from dpaudit.training.native.library import library
from dpaudit.training.native.plan import plan

USE = """
import torch
from dpaudit.training import native, networks
model = networks.build("logreg", (1, 8, 8), 10, 0.0)
print(native.build(model, (1, 8, 8)))
x, masks = torch.ones(3, 1, 8, 8), [torch.ones(3, 64)]
print(native.clipped_sum(model, x, torch.arange(3), 1.0, masks).shape)
"""

# Even kernels with padding "same" are tested here, and torch warns that it copies their input.
EVEN = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")
pytestmark = [compiled, EVEN]


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """A cache of its own for each test, and no library in memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    library.cache_clear()
    compiler._own_folder.cache_clear()
    yield
    library.cache_clear()


def kernels(tmp_path):
    return sorted(path.name for path in (tmp_path / "dpaudit" / "kernels").iterdir())


def built():
    return native.build(*named("logreg"))


def test_two_processes_at_once_make_one_kernel(tmp_path):
    command = [sys.executable, "-c", USE]
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths}
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = [process.communicate()[0] for process in both]
    assert told == ["None\n(650,)\n"] * 2
    assert len(kernels(tmp_path)) == 1


def test_without_a_compiler_and_a_kernel_it_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = built()
    assert (found.code, found.option) == ("compiler-missing", "")
    assert "(c++, g++ or clang++)" in str(found)


def test_a_kernel_of_the_cache_needs_no_compiler(monkeypatch, tmp_path):
    assert built() is None
    assert len(kernels(tmp_path)) == 1
    library.cache_clear()
    monkeypatch.setenv("PATH", "")
    model, shape = named("logreg")
    assert built() is None
    assert moved(model, *records(shape, 5)).any()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", ""),
        ("kill -9 $$", ""),
        ("echo 'x.cpp:1: error: no such thing' >&2; exit 1", "error: no such thing"),
        ("exit 0", ""),
    ],
)
def test_a_compiler_that_fails_is_a_refusal(monkeypatch, tmp_path, script, reason):
    broken = tmp_path / "broken"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    found = built()
    assert (found.code, found.option, found.value) == ("compiler-failed", "CXX", str(broken))
    assert reason in str(found)
    assert kernels(tmp_path) == []


def test_a_compiler_that_is_not_there_is_a_refusal(monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/c++ -O1")
    found = built()
    assert (found.code, found.option, found.value) == ("compiler-missing", "CXX", "/nowhere/c++")
    monkeypatch.setenv("CXX", '"')
    found = built()
    assert (found.code, found.option, found.value) == ("malformed", "CXX", '"')


def test_a_spoiled_kernel_is_made_anew():
    spoiled = compiler.kernel(plan(*named("logreg")).source(), compiler.FLAGS)
    spoiled.write_bytes(b"half a library")
    assert built() is None
    assert spoiled.stat().st_size > 1000


def test_where_no_cache_can_be_written_the_process_has_its_own(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert compiler.cache() is None
    assert built() is None


@pytest.mark.parametrize("above", [0, 1])
def test_a_cache_that_others_can_write_is_not_trusted(above):
    folder = compiler.cache()
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder, folder.parent)[above].chmod(0o777)
    assert compiler.cache() is None


def test_a_kernel_is_for_its_flags_and_processor(monkeypatch):
    keys = [("source", ()), ("other", ()), ("source", ("-O1",))]
    names = {compiler._key(*key) for key in keys}
    monkeypatch.setattr(compiler, "_processor", lambda: "another")
    names.add(compiler._key("source", ()))
    assert len(names) == 4


def test_what_a_killed_compilation_left_behind_is_swept_up():
    old, new = (compiler.cache() / f"{compiler.UNFINISHED}{name}" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    assert built() is None
    assert (old.exists(), new.exists()) == (False, True)


def test_where_the_cache_has_no_room_left_the_process_has_its_own(monkeypatch):
    cache = compiler.cache()
    real = compiler._compiled

    def compiled(source, flags, target):
        if target.parent == cache:
            raise compiler.NoKernel("the C++ compiler fails: no space left on device")
        return real(source, flags, target)

    monkeypatch.setattr(compiler, "_compiled", compiled)
    assert str(built()).endswith("no space left on device")
    monkeypatch.setattr(compiler, "ENOUGH", 2**62)
    assert built() is None
