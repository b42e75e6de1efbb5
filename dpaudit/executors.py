"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpaudit.errors import TrialFailed


@dataclass(frozen=True)
class Stored:
    """A large value that many tasks name: each worker process reads it once."""

    path: Path

    def get(self) -> Any:
        """The value."""
        return _read(self.path)


@lru_cache(maxsize=1)
def _read(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


class LocalPool(ProcessPoolExecutor):
    """A process pool with a folder for what all of its tasks share."""

    def __init__(self, workers: int, folder: Path) -> None:
        super().__init__(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_follow_parent,
            initargs=(folder,),
        )
        self._folder = folder

    def share(self, value: Any) -> Stored:
        """The value, to be given to many tasks without being sent with each."""
        handle, path = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(handle, "wb") as file:
            pickle.dump(value, file)
        return Stored(Path(path))


class Here(Executor):
    """No process at all: each task is done in this one, at once, and raises what it raises."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The task, done."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def cores() -> int:
    """How many processes can work at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
    """Worker processes on this machine, which never outlive this one.

    They are deaf to Ctrl-C, which a terminal sends to all of them: the coordinating process
    alone decides what happens then, and ends them.
    """
    others = set(multiprocessing.active_children())
    with tempfile.TemporaryDirectory(prefix="dpaudit-", ignore_cleanup_errors=True) as folder:
        pool = LocalPool(workers, Path(folder))
        try:
            with _deaf_to_interrupts():
                # A child inherits that from the moment it starts, as the first tasks make it.
                for _ in range(workers):
                    pool.submit(os.getpid)
            yield pool
        except BaseException as error:
            with _deaf_to_interrupts():
                pool.shutdown(wait=False, cancel_futures=True)
                for child in set(multiprocessing.active_children()) - others:
                    child.terminate()
            if isinstance(error, BrokenExecutor):
                raise TrialFailed(
                    "a worker process died (out of memory?); finished trials are kept, and the "
                    "same command goes on from there"
                ) from error
            raise
        pool.shutdown()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent(folder: Path) -> None:
    """End this process when its parent has ended, however that came, and tidy up after it."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
