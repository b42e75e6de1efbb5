"""Where trials run: this process, local processes, a cluster."""

from dpaudit.executors.local import Here, Stored, cores, local_pool

__all__ = ["Here", "Stored", "cores", "local_pool"]
