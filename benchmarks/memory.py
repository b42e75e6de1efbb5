"""The peak memory of a training above what was there before it, in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path


def peak_mb(contender: str, workload: str, steps: int = 2) -> float:
    """Of some steps, in megabytes above a process that has the libraries, data and model."""
    command = [sys.executable, __file__, contender, workload, str(steps)]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(finished.stdout)


def highest_mb() -> float:
    """The most that this process has had in memory."""
    status = Path("/proc/self/status")
    if status.exists():
        # `ru_maxrss` of a child begins at what its parent had.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    kilobytes = 1024 if sys.platform == "darwin" else 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / kilobytes / 1024


def main(contender: str, workload: str, steps: int) -> None:
    """Train here and print the difference."""
    import torch
    from contenders import Backend, Opacus
    from workloads import WORKLOADS

    torch.set_num_threads(1)
    chosen = WORKLOADS[workload]()
    training = Opacus(chosen) if contender == "opacus" else Backend(contender, chosen)
    if isinstance(training, Backend):
        training.build()  # what it needs for that is no part of the training
    before = highest_mb()
    training.run(steps)
    print(highest_mb() - before)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
