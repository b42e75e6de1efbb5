"""Linear algebra on one thread: the same last bits whatever the machine, and no crowded cores."""

from __future__ import annotations

from contextlib import AbstractContextManager


def one_thread() -> AbstractContextManager[object]:
    """While it is entered numpy's products and eigenvalues take one thread, as torch's do."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
