"""Run the trials that a journal still misses, on any executor."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, as_completed
from typing import Any

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput, DpauditError, TrialFailed, WorkersLost, kind_of
from dpaudit.executors import StoredValue
from dpaudit.journal import Journal
from dpaudit.protocols import Mechanism, SharingExecutor
from dpaudit.seeds import ALONE
from dpaudit.types import TEST, Observation, Pair, Trial

Progress = Callable[[int, int], None]
"""Shows the numbers of trials done and wanted, after each batch."""

BatchResult = tuple[list[Observation], float]
"""The observations of a batch, and the seconds that it took."""


def run_trials(
    mechanism: Mechanism,
    pair: Pair,
    trials: Sequence[Trial],
    journal: Journal,
    executor: Executor,
    progress: Progress = lambda done, total: None,
    check: Callable[[Observation], None] = lambda observation: None,
    every: int | None = None,
    enough: Callable[[], bool] = lambda: False,
    late: Callable[[], bool] = lambda: False,
) -> None:
    """Run every trial that the journal misses; only this process writes the journal.

    Each task is a batch of the mechanism's `trials_per_call`. An executor that can `share` a
    value is given mechanism and pair once. `check` may refuse the first observation. After each
    `every` trials, in their order, all of them are in the journal, and `enough` may end the run.
    Once it is `late`, no batch is begun any more; the run ends with those that have begun.
    """
    refuse_other_adjacency(mechanism, pair)
    missing = journal.missing(trials)
    done = len(trials) - len(missing)
    progress(done, len(trials))
    if not missing:
        return
    size = mechanism.trials_per_call
    checks.refuse(
        [checks.of("trials_per_call", checks.at_least("the mechanism's trials_per_call", size, 1))]
    )
    game: Any = (mechanism, pair)
    if isinstance(executor, SharingExecutor):
        game = executor.share(game)
    shapes = journal.shapes()
    length = every or len(trials)
    for i in range(0, len(trials), length):
        part = set(trials[i : i + length])
        here = [trial for trial in missing if trial in part]
        batches = [here[j : j + size] for j in range(0, len(here), size)]
        futures = {executor.submit(run_batch, game, batch): batch for batch in batches}
        for batch, (seen, seconds) in _finished(futures, late):
            for trial, observation in zip(batch, seen, strict=True):
                first = not shapes
                _refuse_unlike(shapes, trial, observation)
                if first:
                    check(observation)
            journal.add_all(batch, seen, seconds / len(batch))
            done += len(batch)
            progress(done, len(trials))
        if batches and (late() or enough()):
            return


def _finished(
    futures: dict[Any, list[Trial]], late: Callable[[], bool]
) -> Iterator[tuple[list[Trial], BatchResult]]:
    """Yield batches as they finish; once it is late, only those that have begun."""
    while futures:
        for future in as_completed(list(futures)):
            # Popped, so that observations leave memory once they are in the journal.
            batch = futures.pop(future)
            yield batch, _result(future)
            if late() and (unbegun := [other for other in futures if other.cancel()]):
                for other in unbegun:
                    del futures[other]
                break


def _result(future: Any) -> BatchResult:
    try:
        result: BatchResult = future.result()
    except DpauditError:
        raise
    except (CancelledError, BrokenExecutor) as error:
        raise WorkersLost(
            "the workers were lost; finished trials are kept; the same command resumes the run",
            "workers-lost",
        ) from error
    except Exception as error:
        raise TrialFailed(
            f"no trial can be sent to a worker process: {error}", "not-picklable"
        ) from error
    return result


def refuse_other_adjacency(mechanism: Mechanism, pair: Pair) -> None:
    """Refuse a pair of another adjacency than the claim's, which says nothing about it."""
    if pair.adjacency != mechanism.claim.adjacency:
        text = (
            f"the claim holds for {mechanism.claim.adjacency} neighbours, "
            f"but the canary makes a pair of the kind {pair.adjacency}"
        )
        raise BadInput(text, "other-adjacency", option="canary", value=pair.adjacency)


def _refuse_unlike(
    shapes: dict[str, tuple[int, ...]], trial: Trial, observation: Observation
) -> None:
    """Refuse an observation that is not numbers, or not of the same names and shapes as others."""
    where = f"trial {trial.index} of world {trial.world} released"
    for name, array in observation.items():
        if np.asarray(array).dtype.kind not in "biuf":
            text = f"{where} {name} that are not numbers but {array!r:.100}"
            raise TrialFailed(text, "not-numbers", option=name)
    # Only the first trials show their outputs on test records.
    here = {n: np.shape(a) for n, a in observation.items() if not n.startswith(TEST)}
    if here != (shapes or here):
        raise TrialFailed(
            f"{where} {here}, but another trial {shapes}; release the same names and shapes always",
            "shape-mismatch",
            value=here,
        )
    shapes.update(here)


def run_batch(game: Any, batch: Sequence[Trial]) -> BatchResult:
    """Run trials in a worker, and measure their time; `game` is mechanism and pair, or shared."""
    mechanism, pair = game.get() if isinstance(game, StoredValue) else game
    with ALONE:
        started = time.perf_counter()
        try:
            seen = mechanism.run(pair, batch)
            if len(seen) != len(batch):
                text = f"{len(batch)} trials gave {len(seen)} observations"
                raise TrialFailed(text, "count-mismatch", value=len(seen))
        except DpauditError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            main = threading.current_thread() is threading.main_thread()
            if (
                isinstance(error, KeyboardInterrupt)
                and main
                and not multiprocessing.parent_process()
            ):
                raise  # a user's Ctrl-C; workers ignore SIGINT, so there the code raised it
            # As text, because not every exception can be sent between processes.
            first, *more = batch
            where = f"trial {first.index} of world {first.world}"
            where += f" (or one of {len(more)} after it)" if more else ""
            raise kind_of(error, TrialFailed)(
                f"{where} failed: {type(error).__name__}: {error}",
                "code-failed",
                value=type(error).__name__,
            ) from error
        return seen, time.perf_counter() - started
