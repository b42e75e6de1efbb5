"""One worker process and the pipe to it, seen from both of its ends."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from dpaudit.errors import WorkersLost

TRIES = 3
"""Workers that one task may lose before it is given up."""

PATIENCE = 5.0
"""Seconds in which an idle worker has to end by itself."""


class RemoteTraceback(Exception):
    """The traceback of an error in a worker process, as text; the cause of that error here."""


class Worker:
    """A worker process, the only pipe to it, and the way to start another one in its place."""

    def __init__(self, start: Callable[[Connection], SpawnProcess]) -> None:
        self._start = start
        self._begin()

    def do(self, call: Callable[[], Any]) -> Any:
        """The result of a call, or what it raised; a call that ends workers is tried a few times.

        Everything is sent by value. The pickles of multiprocessing would send tensors as names of
        memory that is lost with a worker.
        """
        result, error, told = pickle.loads(self._sent(pickle.dumps(call)))
        if error is not None:
            raise error from RemoteTraceback(told)
        return result

    def end(self, patience: float = 0.0) -> None:
        """Close the pipe, which ends an idle worker; after some patience kill it."""
        self._pipe.close()
        self._process.join(patience)
        self._process.kill()
        self._process.join()

    def _sent(self, message: bytes) -> bytes:
        """The answer to a message, from the first worker that lives to give it."""
        for _ in range(TRIES):
            try:
                return self._answer(message)
            except (EOFError, OSError):
                self.end()
            if not self._ready and (self._process.exitcode or 0) > 0:
                raise WorkersLost(
                    "a worker process failed while it started; a script starts them under "
                    'if __name__ == "__main__":',
                    "workers-not-started",
                )
            self._begin()
        raise WorkersLost(
            f"{TRIES} worker processes died, one after the other, during the same task (out of "
            "memory?); what was finished is kept, and the same command goes on from there",
            "workers-died",
            value=TRIES,
        )

    def _begin(self) -> None:
        self._ready = False
        self._pipe, there = multiprocessing.Pipe()
        with there:  # closed here, or the pipe would not end with the worker
            self._process = self._start(there)

    def _answer(self, message: bytes) -> bytes:
        if not self._ready:
            self._pipe.recv_bytes()
            self._ready = True
        self._pipe.send_bytes(message)
        return self._pipe.recv_bytes()


def work(pipe: Connection, folder: Path) -> None:
    """Do the tasks that come through a pipe until it ends."""
    _follow_parent(folder)
    # A process that a task starts must not hold the pipe open when this one dies.
    os.set_inheritable(pipe.fileno(), False)
    os.register_at_fork(after_in_child=pipe.close)
    with suppress(EOFError, OSError):
        pipe.send_bytes(b"")
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(message: bytes) -> bytes:
    """A task's result, or its error with the traceback, as one message."""
    try:
        return pickle.dumps((pickle.loads(message)(), None, ""))
    except BaseException as error:
        told = traceback.format_exc()
        try:
            return pickle.dumps((None, error, told))
        except Exception:
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}"), told))


def _follow_parent(folder: Path) -> None:
    """End this process when its parent has ended, however that came, and tidy up after it."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
