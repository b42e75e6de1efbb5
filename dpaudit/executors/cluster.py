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

from dpaudit.errors import BadInput, WorkersLost, wrap_errors
from dpaudit.versions import version_differences, versions

PATIENCE = 10
"""Seconds until a scheduler has to answer."""


LOST = (
    "the cluster's scheduler was lost; what was finished is kept, and the same command goes on "
    "from there"
)


class Cluster(Executor):
    """A Dask client as an executor, with a way to send once what all tasks share.

    Dask has an executor of its own. If the scheduler dies while it fetches a result, that one
    logs a traceback and leaves the future pending for ever.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A task for any worker of the cluster."""
        there = self._submitted(partial(fn, **kwargs) if kwargs else fn, *args)
        here: Future[Any] = Future()
        here.add_done_callback(partial(_cancel, there))
        self._client.loop.add_callback(_pass_on, there, here)
        return here

    def share(self, value: Any) -> Any:
        """A task's result, which Dask sends to workers and makes again if its holders die."""
        return self._submitted(_same, value)

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
    """Wait for a future of Dask, and give a future here the same outcome."""
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
        raise BadInput(
            "--cluster needs Dask: pip install 'dpaudit[cluster]'",
            "needs-package",
            option="cluster",
            value="distributed",
        ) from error
    if ":" not in address:  # Dask would start a cluster of its own
        raise BadInput(
            f"'{address}' is no address of a Dask scheduler, such as tcp://host:8786",
            "not-an-address",
            option="cluster",
            value=address,
        )
    # A lost worker is Dask's business; what matters to a user is told in words.
    for name in [n for n in logging.root.manager.loggerDict if n.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except Exception as error:
        raise BadInput(
            f"no Dask scheduler answers at {address}; check --cluster",
            "no-scheduler",
            option="cluster",
            value=address,
        ) from error
    try:
        _refuse_unfit(client, address)
        for file in files:
            with wrap_errors(f"{file.name}", "cannot be imported by the cluster's workers"):
                client.upload_file(str(file))
        yield Cluster(client)
    except distributed.KilledWorker as error:
        raise WorkersLost(
            "trials killed one worker of the cluster after another (out of memory?); what was "
            "finished is kept, and the same command goes on from there",
            "workers-died",
        ) from error
    finally:
        # The scheduler forgets what a client that has left was waiting for.
        client.close(timeout=PATIENCE)


def _refuse_unfit(client: Any, address: str) -> None:
    """A cluster that cannot play, or would play other trials than this machine."""
    try:
        found = client.run(versions)
    except Exception as error:
        raise BadInput(
            f"the workers at {address} cannot run dpaudit ({error}); install the same version "
            "there",
            "needs-package",
            option="cluster",
            value="dpaudit",
        ) from error
    if not found:
        raise BadInput(
            f"the cluster at {address} has no workers; start some: dask worker {address} "
            "--nthreads 1",
            "no-workers",
            option="cluster",
            value=address,
        )
    for worker, there in found.items():
        if other := version_differences(there, versions()):
            raise BadInput(
                f"the worker {worker} has other versions ({other}); make them alike",
                "other-versions",
                option="cluster",
                value=other,
            )


def _same(value: Any) -> Any:
    return value
