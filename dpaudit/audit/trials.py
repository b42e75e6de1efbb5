"""Play the game: the trials that a journal still misses, wherever an executor runs them."""

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
"""Told the number of trials done and wanted, after each batch."""

Check = Callable[[Observation], None]
"""Raises where an observation is of no use."""


def run_trials(
    mechanism: Mechanism,
    pair: Pair,
    trials: Sequence[Trial],
    journal: Journal,
    executor: Executor,
    progress: Progress = lambda done, total: None,
    check: Check = lambda observation: None,
    every: int | None = None,
    enough: Callable[[], bool] = lambda: False,
    late: Callable[[], bool] = lambda: False,
) -> None:
    """Play every trial that the journal misses; only this process writes the journal.

    They go out in batches of the mechanism's `trials_per_call`. An
    executor that can `share` a value is given mechanism and pair once, not with each batch.
    The first observation is shown to `check`, which may refuse it. After `every` so many trials,
    in their order, all of them are in the journal, and `enough` may end the game. Once it is
    `late`, no batch is begun any more, and those that are under way end it.
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
        futures = {executor.submit(_timed, game, batch): batch for batch in batches}
        for batch, seen, seconds in _finished(futures, late):
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


FinishedBatch = tuple[list[Trial], list[Observation], float]
"""A batch, what was seen in it, and the seconds that it took."""


def _finished(futures: dict[Any, list[Trial]], late: Callable[[], bool]) -> Iterator[FinishedBatch]:
    """Batches as they are played; once it is late, only those that have been begun."""
    while futures:
        for future in as_completed(list(futures)):
            # Popped, so that what was seen is in the journal and no longer in memory.
            batch = futures.pop(future)
            yield batch, *_result(future)
            if late() and (unbegun := [other for other in futures if other.cancel()]):
                for other in unbegun:
                    del futures[other]
                break


def _result(future: Any) -> tuple[list[Observation], float]:
    try:
        result: tuple[list[Observation], float] = future.result()
    except DpauditError:
        raise
    except (CancelledError, BrokenExecutor) as error:
        raise WorkersLost(
            "the workers were lost; what was finished is kept, and the same command goes on "
            "from there",
            "workers-lost",
        ) from error
    except Exception as error:
        raise TrialFailed(
            f"no trial can be sent to a worker process: {error}", "not-picklable"
        ) from error
    return result


def refuse_other_adjacency(mechanism: Mechanism, pair: Pair) -> None:
    """A claim for one kind of neighbours says nothing about the other."""
    if pair.adjacency != mechanism.claim.adjacency:
        raise BadInput(
            f"the claim holds for {mechanism.claim.adjacency} neighbours, "
            f"but the canary makes a pair of the kind {pair.adjacency}",
            "other-adjacency",
            option="canary",
            value=pair.adjacency,
        )


def _refuse_unlike(
    shapes: dict[str, tuple[int, ...]], trial: Trial, observation: Observation
) -> None:
    """What is released are numbers, under the same names and in the same shapes in every trial."""
    where = f"trial {trial.index} of world {trial.world} released"
    for name, array in observation.items():
        if np.asarray(array).dtype.kind not in "biuf":
            raise TrialFailed(
                f"{where} {name} that are no numbers, but {array!r:.100}",
                "not-numbers",
                option=name,
            )
    # Only the first trials show their outputs on test records.
    here = {n: np.shape(a) for n, a in observation.items() if not n.startswith(TEST)}
    if here != (shapes or here):
        raise TrialFailed(
            f"{where} {here}, but another trial {shapes}; release the same names and shapes always",
            "shape-mismatch",
            value=here,
        )
    shapes.update(here)


def _is_main() -> bool:
    """Whether this is where Ctrl-C arrives: the first thread of a process that nobody started."""
    first = threading.current_thread() is threading.main_thread()
    return first and multiprocessing.parent_process() is None


def _timed(game: Any, batch: Sequence[Trial]) -> tuple[list[Observation], float]:
    mechanism, pair = game.get() if isinstance(game, StoredValue) else game
    with ALONE:
        started = time.perf_counter()
        try:
            seen = mechanism.run(pair, batch)
            if len(seen) != len(batch):
                raise TrialFailed(
                    f"{len(batch)} trials gave {len(seen)} observations",
                    "count-mismatch",
                    value=len(seen),
                )
        except DpauditError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt) and _is_main():
                raise  # a user's; workers are deaf to it, and where one has it, code raised it
            # Told in words, because not every exception survives the way between processes.
            first, *more = batch
            where = f"trial {first.index} of world {first.world}"
            where += f" (or one of {len(more)} after it)" if more else ""
            told = f"{where} failed: {type(error).__name__}: {error}"
            raise kind_of(error, TrialFailed)(
                told, "code-failed", value=type(error).__name__
            ) from error
        return seen, time.perf_counter() - started
