"""Kernels compiled on first use, and kept for the user and the processor they were made on."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path

from dpaudit.errors import BadInput

HEADERS = Path(__file__).parent

FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-predictive-commoning",
)
"""Not -ffast-math: linked with it, a library makes the whole process flush tiny numbers to 0.

Predictive commoning keeps loaded values for the next round of a loop, and so spills the sums that
fill the registers: a convolution took twice as long.
"""

COMPILERS = ("c++", "g++", "clang++")
"""The compilers that are tried in this order if the environment's CXX names none."""

SECONDS = 300
"""The time limit of a compiler."""

UNFINISHED = "unfinished-"
"""The prefix of folders in which a kernel is being compiled."""

ENOUGH = 64 * 2**20
"""Free bytes on the disk that are enough for any compiler."""

ERROR = re.compile("error|fatal")


class NoKernel(BadInput):
    """The reason why there is no compiled kernel, as a clause."""

    code = "no-kernel"


def kernel(source: str, flags: tuple[str, ...], anew: bool = False) -> Path:
    """The library of a source: from the cache, or compiled if there is none or `anew` is set."""
    name = f"{_key(source, flags)}.so"
    kept = cache()
    if kept and not anew and (kept / name).is_file():
        return kept / name
    if kept and os.access(kept, os.W_OK):
        try:
            return _compiled(source, flags, kept / name)
        except NoKernel:
            if shutil.disk_usage(kept).free > ENOUGH:
                raise
    own = _own_folder() / name
    return own if own.is_file() and not anew else _compiled(source, flags, own)


def cache() -> Path | None:
    """The user's folder of kernels, or None if others can write to it.

    A library that another user could have written is never loaded.
    """
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = root / "dpaudit" / "kernels"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A user who can write to the folder above could replace this one.
        theirs = all(map(_owned, (folder.parent, folder)))
    except (OSError, RuntimeError):
        return None
    return folder if theirs else None


def _owned(folder: Path) -> bool:
    about = folder.stat()
    others = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not others)


@lru_cache(maxsize=1)
def _own_folder() -> Path:
    """A folder of this process alone, removed at its end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="dpaudit-"))
    except OSError as error:
        message = "there is no folder to compile its kernel in"
        raise NoKernel(message, "folder-unwritable") from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _compiled(source: str, flags: tuple[str, ...], target: Path) -> Path:
    """Compile into a file beside the target, then move it there: nobody loads half a library."""
    compiler = _compiler()
    try:
        _sweep(target.parent)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=UNFINISHED) as folder:
            code, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
            code.write_text(source, encoding="utf-8")
            command = [*compiler, *flags, "-shared", "-fPIC", f"-I{HEADERS}", str(code)]
            done = subprocess.run(
                [*command, "-o", str(library)],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
            if done.returncode or not library.is_file():
                errors = [e.strip()[:200] for e in done.stderr.splitlines() if ERROR.search(e)]
                message = ": ".join([f"the C++ compiler {compiler[0]} fails", *errors[:1]])
                raise NoKernel(message, "compiler-failed", option="CXX", value=compiler[0])
            library.replace(target)
    except (OSError, subprocess.SubprocessError) as error:
        message = f"the C++ compiler {compiler[0]} cannot be run: {' '.join(str(error).split())}"
        raise NoKernel(message, "compiler-missing", option="CXX", value=compiler[0]) from error
    return target


def _sweep(folder: Path) -> None:
    """Remove the folders of compilations that were killed."""
    for left in folder.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > 2 * SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _compiler() -> list[str]:
    """The command of the C++ compiler."""
    try:
        named = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        message = f"CXX is not a command: {error}"
        raise NoKernel(message, "malformed", option="CXX", value=os.environ["CXX"]) from error
    if named:
        return named
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    message = f"there is no C++ compiler ({', '.join(COMPILERS[:-1])} or {COMPILERS[-1]}) here"
    raise NoKernel(f"{message}, nor a compiled kernel of this network", "compiler-missing")


def _key(source: str, flags: tuple[str, ...]) -> str:
    """The hash of all that a kernel depends on: the code, the flags and the processor."""
    headers = [path.read_text(encoding="utf-8") for path in sorted(HEADERS.glob("*.h"))]
    text = "\0".join([*headers, source, *flags, _processor()])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _processor() -> str:
    """The processor's model and features, on which -march=native depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    wanted = ("model name", "flags", "Features", "CPU part", "isa")
    message = {line for line in lines if line.startswith(wanted)}
    return "\n".join(
        [platform.system(), platform.machine(), platform.processor(), *sorted(message)]
    )
