"""A real Dask scheduler with two workers on loopback."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from playground import Shifted, Telling, tiny_pair
from refusals import refuses

from dpaudit import audit
from dpaudit.audit.trials import run_trials
from dpaudit.config import Config
from dpaudit.errors import WorkersLost
from dpaudit.executors import local_pool
from dpaudit.executors.cluster import cluster
from dpaudit.journal import Journal
from dpaudit.seeds import trials

MODELS = 24
TESTS = (Path(__file__).parent, Path(__file__).parents[1])
DPAUDIT = Path(sys.executable).with_name("dpaudit")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def started(*words, cwd):
    path = os.pathsep.join([*map(str, TESTS), os.environ.get("PYTHONPATH", "")])
    with open(cwd / f"{words[0]}.log", "a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # With its nannies, which would start a worker anew.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def worker(address, cwd, threads=1):
    local = ("--local-directory", str(cwd), "--no-dashboard", "--nthreads", str(threads))
    return started("worker", address, *local, cwd=cwd)


@contextmanager
def scheduling(folder):
    """A scheduler: its process and its address."""
    port = free_port()
    words = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    with started("scheduler", *words, cwd=folder) as process:
        address, end = f"tcp://127.0.0.1:{port}", time.monotonic() + 30
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield process, address


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    with scheduling(folder) as (_, address):
        yield address, folder


def content(path):
    """All that a journal holds of its trials but the time they took."""
    query = "SELECT idx, world, seed, name, npy FROM trials JOIN seen USING (idx, world)"
    with Journal.read(path) as journal:
        return sorted(journal._db.execute(query).fetchall())


def run_trials_on(path, mechanism, executor, progress=lambda done, total: None):
    with Journal.open_for_writing(path, {"models": MODELS}) as journal:
        run_trials(mechanism, tiny_pair(), trials(0, MODELS), journal, executor, progress)
    return content(path)


def test_a_cluster_without_workers_is_refused(scheduler):
    with refuses("no-workers", option="cluster", value=scheduler[0]), cluster(scheduler[0]):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "127.0.0.1:port"])
def test_an_address_where_nobody_answers_is_refused(monkeypatch, address):
    monkeypatch.setattr("dpaudit.executors.cluster.PATIENCE", 1)
    with refuses("no-scheduler", option="cluster", value=address), cluster(address):
        pass


@pytest.mark.parametrize("address", ["", "localhost"])
def test_no_cluster_is_started_where_none_is_named(address):
    with refuses("not-an-address", option="cluster", value=address), cluster(address):
        pass


def test_journal_of_a_cluster_is_that_of_one_machine_though_a_worker_is_killed(scheduler, tmp_path):
    address, folder = scheduler
    with local_pool(2) as pool:
        here = run_trials_on(tmp_path / "here", Shifted(1.0), pool)
    killed, workers = [], tmp_path / "workers"

    def kill(done, total):
        if not killed and len(list(workers.iterdir())) == 2:
            os.killpg(doomed.pid, signal.SIGKILL)
            killed.append(done)

    workers.mkdir()
    slow = Telling(1.0, folder=workers, seconds=0.1)
    with worker(address, folder, threads=4) as doomed, worker(address, folder):
        wait_for_workers(address, 2)
        with cluster(address) as executor:
            one, other = (executor.submit(os.urandom, 8).result() for _ in range(2))
            assert one != other, "the same call twice is two calls"
            there = run_trials_on(tmp_path / "there", slow, executor, kill)
    assert killed
    assert len(here) == 4 * MODELS
    assert there == here


OWN = """
import time
import numpy as np

def train(dataset, seed):
    time.sleep(0.05)
    return float(dataset.tensors[0].sum()) + np.random.default_rng(seed).laplace()
"""


def test_a_run_on_a_cluster_sends_the_users_own_module_along(scheduler, npz, tmp_path):
    """The workers have never seen the file."""
    address, folder = scheduler
    file = tmp_path / "own_module.py"
    file.write_text(OWN)
    line = f"run --data {npz} --mechanism {file}:train --claim 1,1e-5 --canary blank --models 8"
    command = [DPAUDIT, *line.split(), "--cluster", address, "--out", tmp_path / "there"]
    with worker(address, folder), worker(address, folder):
        wait_for_workers(address, 2)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    prepared = audit.prepare(Config.from_toml(tmp_path / "there/config.toml"))
    with ThreadPoolExecutor(1) as thread:
        audit.run(prepared, tmp_path / "here", workers=thread)
    assert content(tmp_path / "there/journal.sqlite") == content(tmp_path / "here/journal.sqlite")


def large(file):
    file.touch()
    return bytes(100_000_000)


def test_a_scheduler_that_is_lost_while_a_result_is_fetched_is_told(tmp_path):
    """Dask's own executor would never end the future."""
    file = tmp_path / "played"
    with scheduling(tmp_path) as (process, address), worker(address, tmp_path):
        wait_for_workers(address, 1)
        with cluster(address) as executor:
            future = executor.submit(large, file)
            while not file.exists() and not future.done():
                time.sleep(0.001)
            time.sleep(0.1)
            process.kill()
            with refuses("scheduler-lost", kind=WorkersLost):
                future.result(timeout=30)
            time.sleep(1)
            with refuses("scheduler-lost", kind=WorkersLost):
                executor.submit(abs, 1).result(timeout=30)


def test_a_run_whose_scheduler_is_killed_ends_in_one_line(npz, plugin_paths, tmp_path, monkeypatch):
    """Not by the code of bad input."""
    monkeypatch.setenv("PLAYGROUND_PAUSE", "0.05")
    here = filter(None, [os.environ.get("PYTHONPATH")])
    line = f"run --data {npz} --mechanism leaky --canary random --models 400"
    with scheduling(tmp_path) as (process, address), worker(address, tmp_path, threads=4):
        wait_for_workers(address, 1)
        with subprocess.Popen(
            [DPAUDIT, *line.split(), "--cluster", address, "--out", tmp_path / "run"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, plugin_paths), *here])},
            stderr=subprocess.PIPE,
            text=True,
        ) as run:
            for said in run.stderr:
                if re.search("^[1-9].*/400 models", said):
                    break
            process.kill()
            *others, said = run.stderr.read().splitlines()
    assert run.returncode == 5
    assert said.startswith("Error: ")
    assert said.endswith("[scheduler-lost]")
    assert all("/400 models" in line for line in others), others


def wait_for_workers(address, number):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(number, timeout=60)
