"""Executors on this machine: this process alone, or worker processes with a pipe to each."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import queue
import shutil
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, TypeAlias

from dpaudit.errors import DiskFull, WorkersLost, has_room, write_error

KEPT = "finished trials are kept; the same command resumes the run"

TRIES = 3
"""The number of workers that one task may lose."""

PATIENCE = 5.0
"""Seconds until an idle worker that does not end is killed."""


Task: TypeAlias = tuple[Future[Any], Callable[[], Any]]


class RemoteTraceback(Exception):
    """The traceback of an error in a worker process, as text: the cause of that error here."""


class Worker:
    """A worker process, the only pipe to it, and the function that starts a replacement."""

    def __init__(self, start: Callable[[Connection], SpawnProcess]) -> None:
        self._start = start
        self._begin()

    def do(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call, or raise its error; a call that ends workers is tried again.

        Everything is sent by value. The pickles of multiprocessing would send tensors as names of
        memory that is lost with a worker.
        """
        result, error, trace = pickle.loads(self._sent(pickle.dumps(call)))
        if error is not None:
            raise error from RemoteTraceback(trace)
        return result

    def end(self, patience: float = 0.0) -> None:
        """Close the pipe, which ends an idle worker; after some patience kill it."""
        self._pipe.close()
        self._process.join(patience)
        self._process.kill()
        self._process.join()

    def _sent(self, message: bytes) -> bytes:
        """Send a message; return the answer of the first worker that survives it."""
        for _ in range(TRIES):
            try:
                return self._answer(message)
            except (EOFError, OSError):
                self.end()
            if not self._ready and (self._process.exitcode or 0) > 0:
                reason = "a worker process failed while it started; a script starts them under"
                raise WorkersLost(f'{reason} if __name__ == "__main__":', "workers-not-started")
            self._begin()
        reason = f"{TRIES} worker processes died, one after the other, during the same task"
        raise WorkersLost(f"{reason} (out of memory?); {KEPT}", "workers-died", value=TRIES)

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
    """Run the tasks that come through a pipe until it ends."""
    _follow_parent(folder)
    # A process that a task starts must not hold the pipe open when this one dies.
    os.set_inheritable(pipe.fileno(), False)
    os.register_at_fork(after_in_child=pipe.close)
    with suppress(EOFError, OSError):
        pipe.send_bytes(b"")
        while True:
            pipe.send_bytes(_run(pipe.recv_bytes()))


def _run(message: bytes) -> bytes:
    """A task's result, or its error with the traceback, as one message."""
    try:
        return pickle.dumps((pickle.loads(message)(), None, ""))
    except BaseException as error:
        trace = traceback.format_exc()
        try:
            return pickle.dumps((None, error, trace))
        except Exception:
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}"), trace))


def _follow_parent(folder: Path) -> None:
    """End this process when its parent has ended in any way, and remove the parent's folder."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@dataclass(frozen=True)
class StoredValue:
    """A large value on disk that many tasks share: each worker process reads it once."""

    path: Path

    def get(self) -> Any:
        """Return the value."""
        return _read(self.path)


@lru_cache(maxsize=1)
def _read(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


class LocalPool(Executor):
    """Worker processes, each with a pipe and a thread here, and a folder for shared values.

    A thread sends one task after another. If a worker dies, its pipe ends, and the thread sends the
    same task to a new worker: a task must be safe to run twice, as pure functions are.

    In a ProcessPoolExecutor all workers write into one pipe. If one is killed in the middle of a
    message, that pipe does not end, and a thread and the interpreter's exit wait for ever.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._processes: list[SpawnProcess] = []
        self._lock = threading.Lock()
        self._closed = self._killed = False
        # The exit of multiprocessing waits for processes that run; this comes before it.
        atexit.register(self.kill)

    def start(self, workers: int) -> None:
        """Start workers; they and their replacements have the current signal mask."""
        for _ in range(workers):
            worker = Worker(self._process)
            self._threads.append(threading.Thread(target=self._serve, args=(worker,), daemon=True))
            self._threads[-1].start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a task for the next free worker."""
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[Any] = Future()
        self._tasks.put((future, partial(fn, *args, **kwargs)))
        return future

    def share(self, value: Any) -> StoredValue:
        """Store a value that is passed to many tasks without being sent with each."""
        try:
            handle, path = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                pickle.dump(value, file)
        except OSError as error:
            raise write_error(self._folder, error) from error
        return StoredValue(Path(path))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End each worker once no task is left; `cancel_futures` cancels those not begun."""
        self._closed = True
        if cancel_futures:
            with suppress(queue.Empty):
                while True:
                    if task := self._tasks.get_nowait():
                        task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """End all workers at once, and wait for none of their tasks."""
        with self._lock:  # none is started meanwhile, and none later
            self._killed = self._closed = True
            processes = self._processes
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
        self.shutdown(wait=False, cancel_futures=True)
        atexit.unregister(self.kill)

    def _process(self, pipe: Connection) -> SpawnProcess:
        with self._lock:
            if self._killed:
                raise WorkersLost("the worker processes were ended", "workers-ended")
            process = multiprocessing.get_context("spawn").Process(
                target=work, args=(pipe, self._folder)
            )
            try:
                process.start()
            except OSError as error:
                message = f"no worker process can be started: {error.strerror or error}"
                raise WorkersLost(message, "workers-not-started") from error
            self._processes = [*filter(SpawnProcess.is_alive, self._processes), process]
        return process

    def _serve(self, worker: Worker) -> None:
        while task := self._tasks.get():
            future, call = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(worker.do(call))
                except BaseException as error:
                    future.set_exception(error)
            # A result may be large, and the next task may be long in coming.
            del task, future, call
        worker.end(PATIENCE)


class SerialExecutor(Executor):
    """Runs each task at once in this process; `submit` raises the task's error."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a task; return its future, done."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def cores() -> int:
    """The number of processes that can run at once on this machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
    """Worker processes on this machine, which never outlive this one.

    Workers ignore SIGINT, which a terminal sends to all of them; the main process handles it and
    stops them.
    """
    with _temporary_folder() as folder:
        pool = LocalPool(Path(folder))
        try:
            with _blocked(signal.SIGINT):
                pool.start(workers)
            yield pool
            pool.shutdown()
        finally:
            with _blocked(signal.SIGINT, signal.SIGTERM):
                pool.kill()


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="dpaudit-", ignore_cleanup_errors=True)
    except OSError as error:
        # Python names the folders that it has tried, and not the reason.
        if not has_room(Path.cwd()):
            raise DiskFull(f"there is no room for temporary files: {error}", "disk-full") from error
        raise write_error("temporary files", error) from error


@contextmanager
def _blocked(*signals: signal.Signals) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
