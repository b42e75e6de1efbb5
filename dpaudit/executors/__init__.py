"""Executors of trials: this process, local worker processes, a Dask cluster."""

from dpaudit.executors.local import SerialExecutor, StoredValue, cores, local_pool

__all__ = ["SerialExecutor", "StoredValue", "cores", "local_pool"]
