"""Where trials run: this process, local processes, a cluster."""

from dpaudit.executors.local import SerialExecutor, StoredValue, cores, local_pool

__all__ = ["SerialExecutor", "StoredValue", "cores", "local_pool"]
