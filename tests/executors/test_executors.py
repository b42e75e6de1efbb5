"""Worker processes on this machine: what they share, hear, and when they end."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from dpaudit.errors import WorkersLost
from dpaudit.executors import SerialExecutor, local_pool
from dpaudit.journal import Journal
from dpaudit.seeds import trials


def alive(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def all_gone(pids, seconds=10.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(alive, pids))


def total(shared):
    return float(shared.get().sum())


def test_a_shared_value_is_not_sent_with_each_task():
    """100 tasks with 8 MB each would take many times as long as the test may."""
    value = np.ones(1_000_000)
    with local_pool(2) as pool:
        shared = pool.share(value)
        assert set(pool.map(total, [shared] * 100)) == {1e6}
        folder = shared.path.parent
        assert [file.stat().st_size > 8e6 for file in folder.iterdir()] == [True]
    assert not folder.exists()


def test_two_shared_values_are_not_mixed_up():
    with local_pool(1) as pool:
        one, two = pool.share(np.ones(1)), pool.share(np.ones(2))
        assert list(pool.map(total, [one, two, one])) == [1, 2, 1]


def test_a_worker_that_dies_outside_a_trial_is_told_too():
    """Shadow models are trained in the same pool, before the game."""
    with local_pool(1) as pool:
        with refuses("workers-died", value=3, kind=WorkersLost):
            pool.submit(os._exit, 1).result()
        assert pool.submit(abs, -1).result() == 1, "the next task has a new worker"


def kill_once(file):
    """Leave a child behind that has all that it can inherit, and die; later do nothing."""
    if file.exists():
        return "done"
    if child := os.fork():
        file.write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def kill_once_after_a_shell(file):
    """The same by a shell's background process, which no hook of Python sees."""
    if file.exists():
        return "done"
    os.system(f"sleep 60 & echo $! > {file}")
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@pytest.mark.parametrize("kill", [kill_once, kill_once_after_a_shell])
def test_a_worker_is_missed_though_a_child_of_it_lives(tmp_path, kill):
    file = tmp_path / "child"
    with local_pool(1) as pool:
        try:
            assert pool.submit(kill, file).result(timeout=30) == "done"
        finally:
            os.kill(int(file.read_text()), signal.SIGKILL)


def divide(number):
    return 1 / number


def test_an_error_of_a_task_comes_with_the_traceback_of_its_worker():
    with local_pool(1) as pool, pytest.raises(ZeroDivisionError) as caught:
        pool.submit(divide, 0).result()
    assert "in divide" in str(caught.value.__cause__)


UNGUARDED = """
from dpaudit.errors import WorkersLost
from dpaudit.executors import local_pool
try:
    with local_pool(2) as pool:
        pool.submit(abs, 1).result()
except WorkersLost as error:
    print(error.code, error)
"""


def test_a_script_that_workers_cannot_import_is_told_why(tmp_path):
    (tmp_path / "script.py").write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=60
    )
    assert "workers-not-started" in done.stdout
    assert '"__main__"' in done.stdout


FAILING = """
from dpaudit.executors import local_pool
if __name__ == "__main__":
    with local_pool(2) as pool:
        wanted = [pool.submit(bytes, 30_000_000) for _ in range(8)]
        wanted[0].result()
        raise SystemExit("enough")
"""


def test_a_pool_that_fails_while_workers_send_results_ends_at_once(tmp_path):
    """A worker that is ended in the middle of a message leaves nobody waiting for the rest."""
    (tmp_path / "script.py").write_text(FAILING)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (1, "enough\n")


def test_workers_end_with_the_pool_that_failed():
    before = set(multiprocessing.active_children())

    def fail():
        with local_pool(1) as pool:
            pool.submit(os.getpid).result()
            pool.submit(time.sleep, 60)
            time.sleep(0.1)
            children.extend(set(multiprocessing.active_children()) - before)
            raise KeyboardInterrupt

    children: list[multiprocessing.Process] = []
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fail()
    assert len(children) == 1
    assert all_gone([child.pid for child in children])
    assert time.monotonic() - started < 30


def test_workers_do_not_hear_an_interrupt():
    """A terminal sends Ctrl-C to every process; only the coordinating one may act on it."""
    with local_pool(1) as pool:
        worker = pool.submit(os.getpid).result()
        os.kill(worker, signal.SIGINT)
        assert pool.submit(os.getpid).result() == worker
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


PARENT = """
import sys
from pathlib import Path
from playground import Telling, tiny_pair
from dpaudit.audit.trials import run_trials
from dpaudit.executors import SerialExecutor, local_pool
from dpaudit.journal import Journal
from dpaudit.seeds import trials

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with Journal.open_for_writing(folder / "journal.sqlite", {}) as journal, local_pool(2) as pool:
        mechanism = Telling(folder=folder / "workers", seconds=60)
        run_trials(mechanism, tiny_pair(), trials(0, 8), journal, pool)
"""


def test_workers_die_with_their_parent_however_it_dies(tmp_path):
    script, workers = tmp_path / "parent.py", tmp_path / "workers"
    script.write_text(PARENT)
    workers.mkdir()
    shared = tmp_path / "shared"
    shared.mkdir()
    here = [*map(str, Path(__file__).parents[:2]), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(here)
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(shared)},
    )
    try:
        end = time.monotonic() + 30
        while len(list(workers.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        pids = [int(file.name) for file in workers.iterdir()]
        assert len(pids) == 2
        assert all(map(alive, pids))
        assert len(list(shared.glob("dpaudit-*"))) == 1
    finally:
        parent.kill()
        parent.wait()
    gone = all_gone(pids)
    for pid in filter(alive, pids):
        os.kill(pid, signal.SIGKILL)
    assert gone
    assert list(shared.glob("dpaudit-*")) == []
    with Journal.open_for_writing(tmp_path / "journal.sqlite", {}) as journal:
        assert journal.missing(trials(0, 8)) == trials(0, 8)


def test_here_a_task_is_done_at_once_and_raises_what_it_raises():
    done = []
    with SerialExecutor() as pool:
        assert pool.submit(done.append, 1).result() is None
        assert done == [1]
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 / 0)
        assert list(pool.map(abs, [-1, 2])) == [1, 2]
