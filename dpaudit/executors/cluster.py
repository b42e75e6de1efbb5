"""Worker processes on other machines: a Dask cluster as an executor."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dpaudit.errors import BadInput, WorkersLost, blamed
from dpaudit.executors.local import KEPT
from dpaudit.versions import differing, versions

PATIENCE = 10
"""Seconds until a scheduler has to answer."""
LOST = f"the cluster's scheduler was lost; {KEPT}"


class Cluster(Executor):
    """A Dask client as an executor that sends a shared value once.

    Dask has an executor of its own. If the scheduler dies while it fetches a result, that one
    logs a traceback and leaves the future pending for ever.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a task for any worker of the cluster."""
        there = self._submitted(partial(fn, **kwargs) if kwargs else fn, *args)
        here: Future[Any] = Future()
        here.add_done_callback(partial(_cancel, there))
        self._client.loop.add_callback(_pass_on, there, here)
        return here

    def share(self, value: Any) -> Any:
        """Return a Dask future of the value: sent to workers, and made again if its holders die."""
        return self._submitted(_identity, value)

    def _submitted(self, fn: Callable[..., Any], *args: Any) -> Any:
        if self._client.status != "running":
            raise WorkersLost(LOST, "scheduler-lost")
        # Not pure: a second call with the same arguments is another call.
        return self._client.submit(fn, *args, pure=False)


def _cancel(there: Any, here: Future[Any]) -> None:
    """Cancel a future of Dask with the one here; a lost scheduler has cancelled it already."""
    if here.cancelled() and not there.cancelled():
        there.cancel()


async def _pass_on(there: Any, here: Future[Any]) -> None:
    """Wait for a future of Dask; give the future here the same outcome."""
    result, error = None, None
    try:
        result = await there
    except (Exception, CancelledError, asyncio.CancelledError) as raised:
        error = raised if there.status == "error" else WorkersLost(LOST, "scheduler-lost")
    if not here.set_running_or_notify_cancel():
        return
    if error is None:
        here.set_result(result)
    else:
        here.set_exception(error)


@contextmanager
def cluster(address: str, files: Sequence[Path] = ()) -> Iterator[Executor]:
    """The workers of the Dask scheduler at an address; `files` are modules that they import.

    A worker that dies is no failure: Dask gives its trials to another one.
    """
    try:
        import distributed
    except ImportError as error:
        message = "--cluster needs Dask: pip install 'dpaudit[cluster]'"
        raise _unusable(message, "needs-package", "distributed") from error
    if ":" not in address:  # Dask would start a cluster of its own
        message = f"'{address}' is not the address of a Dask scheduler, such as tcp://host:8786"
        raise _unusable(message, "not-an-address", address)
    # Dask handles lost workers by itself; errors that matter to a user are raised below.
    for name in [n for n in logging.root.manager.loggerDict if n.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except Exception as error:
        message = f"no Dask scheduler answers at {address}; check --cluster"
        raise _unusable(message, "no-scheduler", address) from error
    try:
        _refuse_unfit(client, address)
        for file in files:
            with blamed(f"{file.name}", "cannot be imported by the cluster's workers"):
                client.upload_file(str(file))
        yield Cluster(client)
    except distributed.KilledWorker as error:
        message = "trials killed one worker of the cluster after another (out of memory?)"
        raise WorkersLost(f"{message}; {KEPT}", "workers-died") from error
    finally:
        # The scheduler forgets what a client that has left was waiting for.
        client.close(timeout=PATIENCE)


def _refuse_unfit(client: Any, address: str) -> None:
    """Reject a cluster that cannot run trials, or would run other trials than this machine."""
    try:
        found = client.run(versions)
    except Exception as error:
        message = (
            f"the workers at {address} cannot run dpaudit; install the same version there ({error})"
        )
        raise _unusable(message, "needs-package", "dpaudit") from error
    if not found:
        start = f"dask worker {address} --nthreads 1"
        message = f"the cluster at {address} has no workers; start some: {start}"
        raise _unusable(message, "no-workers", address)
    for worker, there in found.items():
        if other := differing(there, versions()):
            message = f"the worker {worker} has other versions ({other}); make them alike"
            raise _unusable(message, "other-versions", other)


def _unusable(sentence: str, code: str, value: object) -> BadInput:
    return BadInput(sentence, code, option="cluster", value=value)


def _identity(value: Any) -> Any:
    return value
