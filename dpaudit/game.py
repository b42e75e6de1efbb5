"""Play the game: the trials that a journal still misses, in many processes at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager

from dpaudit.errors import BadInput, DpauditError, TrialFailed
from dpaudit.journal import Journal
from dpaudit.protocols import Mechanism
from dpaudit.types import Observation, Pair, Trial

Progress = Callable[[int, int], None]
"""Told the number of trials done and wanted, after each."""


def play(
    mechanism: Mechanism,
    pair: Pair,
    trials: Sequence[Trial],
    journal: Journal,
    executor: Executor,
    progress: Progress = lambda done, total: None,
) -> None:
    """Play every trial that the journal misses; only this process writes the journal."""
    if pair.adjacency != mechanism.claim.adjacency:
        raise BadInput(
            f"the claim holds for {mechanism.claim.adjacency} neighbours, "
            f"but the canary makes a pair of the kind {pair.adjacency}"
        )
    missing = journal.missing(trials)
    done = len(trials) - len(missing)
    progress(done, len(trials))
    futures = {executor.submit(_timed, mechanism, pair, trial): trial for trial in missing}
    for future in as_completed(futures):
        # Popped, so that what was seen is in the journal and no longer in memory.
        trial = futures.pop(future)
        try:
            seen, seconds = future.result()
        except (DpauditError, BrokenExecutor):
            raise
        except Exception as error:
            raise TrialFailed(f"no trial can be sent to a worker process: {error}") from error
        journal.add(trial, seen, seconds)
        done += 1
        progress(done, len(trials))


def _timed(mechanism: Mechanism, pair: Pair, trial: Trial) -> tuple[Observation, float]:
    started = time.perf_counter()
    try:
        (seen,) = mechanism.play(pair, [trial])
    except DpauditError:
        raise
    except Exception as error:
        # Told in words, because not every exception survives the way between processes.
        where = f"trial {trial.index} of world {trial.world}"
        raise TrialFailed(f"{where} failed: {type(error).__name__}: {error}") from error
    return seen, time.perf_counter() - started


@contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
    """Worker processes on this machine, which never outlive this one.

    They are deaf to Ctrl-C, which a terminal sends to all of them: the coordinating process
    alone decides what happens then, and ends them.
    """
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_parent)
    try:
        with _deaf_to_interrupts():
            # A child inherits that from the moment it starts, which the first tasks make it do.
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
                "a worker process died (out of memory?); what was finished is kept, and the same "
                "command goes on from there"
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


def _follow_parent() -> None:
    """End this process when its parent has ended, however that came."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
