import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playground import KNOWN, Failing, Shifted, facts, tiny_pair

from dpaudit import game
from dpaudit.errors import BadInput, TrialFailed
from dpaudit.journal import Journal
from dpaudit.seeds import trials

MODELS = 12
SETTINGS = {"seed": 0, "models": MODELS}


@pytest.fixture
def journal(tmp_path):
    with Journal.play(tmp_path / "run" / "journal.sqlite", SETTINGS) as journal:
        journal.settle(facts(), KNOWN)
        yield journal


@pytest.fixture
def threads():
    """An executor like any other; its workers are at hand at once."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


def dump(journal):
    """All that a journal holds of its trials but the time they took."""
    query = "SELECT idx, world, seed, name, npy FROM trials JOIN seen USING (idx, world)"
    return sorted(journal._db.execute(query).fetchall())


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


# ---------------------------------------------------------------- what is played


def test_only_missing_trials_are_played(journal, threads):
    wanted, played = trials(0, MODELS), []

    class Counted(Shifted):
        def play(self, pair, trials):
            played.extend(trials)
            return super().play(pair, trials)

    for trial in wanted[2:9]:
        journal.add(trial, Shifted()._play(trial), 0.0)
    told = []
    game.play(
        Counted(), tiny_pair(), wanted, journal, threads, lambda *numbers: told.append(numbers)
    )
    assert sorted(played) == wanted[:2] + wanted[9:]
    assert journal.missing(wanted) == []
    assert told == [(done, MODELS) for done in range(7, MODELS + 1)]


def test_a_finished_game_plays_nothing(journal):
    for trial in trials(0, MODELS):
        journal.add(trial, Shifted()._play(trial), 0.0)
    game.play(Shifted(), tiny_pair(), trials(0, MODELS), journal, executor=None)


def test_time_of_a_trial_is_the_workers_own(journal, threads, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_PAUSE", "0.05")
    game.play(Shifted(), tiny_pair(), trials(0, 4), journal, threads)
    assert 4 * 0.05 <= journal.seconds() < 4 * 0.5


@pytest.mark.parametrize("claimed", ["add-remove", "replace"])
def test_a_pair_of_the_other_adjacency_is_refused(journal, threads, claimed):
    (other,) = {"add-remove", "replace"} - {claimed}
    with pytest.raises(BadInput) as caught:
        game.play(Shifted(adjacency=claimed), tiny_pair(other), trials(0, 4), journal, threads)
    assert f"holds for {claimed} neighbours" in str(caught.value)
    assert f"of the kind {other}" in str(caught.value)
    assert dump(journal) == []


def test_journal_is_the_same_for_any_workers_and_any_order(tmp_path):
    wanted, kept = trials(0, MODELS), []
    orders = [wanted, wanted[::-1], random.Random(5).sample(wanted, MODELS)]
    for number, (workers, order) in enumerate(zip((1, 2, 2), orders, strict=True)):
        path = tmp_path / str(number) / "journal.sqlite"
        with Journal.play(path, SETTINGS) as journal, game.local_pool(workers) as pool:
            game.play(Shifted(1.0), tiny_pair(), order, journal, pool)
            kept.append(dump(journal))
    assert len(kept[0]) == 4 * MODELS
    assert kept[0] == kept[1] == kept[2]


# ---------------------------------------------------------------- what goes wrong


def test_a_mechanism_that_raises_is_told_with_its_trial(journal, threads):
    """And with the trials that came before it kept."""
    mechanism = Failing(index=3, world=1)
    with pytest.raises(TrialFailed) as caught:
        game.play(mechanism, tiny_pair(), trials(0, MODELS), journal, threads)
    assert str(caught.value) == "trial 3 of world 1 failed: ArithmeticError: the loss is NaN"
    assert (3, 1) not in {(t[0], t[1]) for t in dump(journal)}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raise", "trial 2 of world 1 failed: ArithmeticError: the loss is NaN"),
        ("raise unsendable", "trial 2 of world 1 failed: Unsendable: this and that"),
        ("release a function", "no trial can be sent"),
        ("exit", "a worker process died"),
        ("kill", "a worker process died"),
    ],
)
def test_a_failure_in_a_worker_is_one_clear_line_and_loses_nothing(journal, how, said):
    wanted = trials(0, MODELS)
    with pytest.raises(TrialFailed) as caught, game.local_pool(1) as pool:
        game.play(Failing(index=2, world=1, how=how), tiny_pair(), wanted, journal, pool)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    # One worker plays them in turn: all before the failure are there, and are whole.
    finished = {(index, world) for index, world, *_ in dump(journal)}
    assert finished == {(t.index, t.world) for t in wanted[: 2 * 2 + 1]}
    assert len(dump(journal)) == 4 * len(finished)


def test_a_worker_that_dies_outside_a_trial_is_told_too():
    """Shadow models are trained in the same pool, before the game."""
    with pytest.raises(TrialFailed, match="a worker process died"), game.local_pool(1) as pool:
        pool.submit(os._exit, 1).result()


def test_workers_end_with_the_pool_that_failed():
    before = set(multiprocessing.active_children())

    def fail():
        with game.local_pool(1) as pool:
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
    with game.local_pool(1) as pool:
        worker = pool.submit(os.getpid).result()
        os.kill(worker, signal.SIGINT)
        assert pool.submit(os.getpid).result() == worker
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


PARENT = """
import sys
from pathlib import Path
from playground import Telling, tiny_pair
from dpaudit import game
from dpaudit.journal import Journal
from dpaudit.seeds import trials

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with Journal.play(folder / "journal.sqlite", {}) as journal, game.local_pool(2) as pool:
        mechanism = Telling(folder=folder / "workers", seconds=60)
        game.play(mechanism, tiny_pair(), trials(0, 8), journal, pool)
"""


def test_workers_die_with_their_parent_however_it_dies(tmp_path):
    script, workers = tmp_path / "parent.py", tmp_path / "workers"
    script.write_text(PARENT)
    workers.mkdir()
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    parent = subprocess.Popen(
        [sys.executable, script, tmp_path], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        end = time.monotonic() + 30
        while len(list(workers.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        pids = [int(file.name) for file in workers.iterdir()]
        assert len(pids) == 2
        assert all(map(alive, pids))
    finally:
        parent.kill()
        parent.wait()
    gone = all_gone(pids)
    for pid in filter(alive, pids):
        os.kill(pid, signal.SIGKILL)
    assert gone
    with Journal.play(tmp_path / "journal.sqlite", {}) as journal:
        assert journal.missing(trials(0, 8)) == trials(0, 8)
