import errno
import os
import random
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor

import numpy as np
import pytest
from playground import KNOWN, Failing, Shifted, Stalling, facts, tiny_pair
from refusals import refuses

from dpaudit.audit.trials import run_trials
from dpaudit.errors import BadInput, DiskFull, TrialFailed, WorkersLost
from dpaudit.executors import SerialExecutor, local_pool
from dpaudit.journal import Journal
from dpaudit.seeds import trials

MODELS = 12
SETTINGS = {"seed": 0, "models": MODELS}


@pytest.fixture
def journal(tmp_path):
    with Journal.open_for_writing(tmp_path / "run" / "journal.sqlite", SETTINGS) as journal:
        journal.write_facts(facts(), KNOWN)
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


# ---------------------------------------------------------------- what is played


def test_only_missing_trials_are_played(journal, threads):
    wanted, played = trials(0, MODELS), []

    class Counted(Shifted):
        def run(self, pair, trials):
            played.extend(trials)
            return super().run(pair, trials)

    for trial in wanted[2:9]:
        journal.add(trial, Shifted()._play(trial), 0.0)
    told = []
    run_trials(
        Counted(), tiny_pair(), wanted, journal, threads, lambda *numbers: told.append(numbers)
    )
    assert sorted(played) == wanted[:2] + wanted[9:]
    assert journal.missing(wanted) == []
    assert told == [(done, MODELS) for done in range(7, MODELS + 1)]


def test_a_game_may_end_after_every_few_trials_in_their_order(journal, threads):
    wanted, looks = trials(0, MODELS), []

    def enough():
        looks.append(MODELS - len(journal.missing(wanted)))
        return len(looks) == 2

    journal.add(wanted[1], Shifted()._play(wanted[1]), 0.0)
    run_trials(Shifted(), tiny_pair(), wanted, journal, threads, every=4, enough=enough)
    assert looks == [4, 8]
    assert journal.missing(wanted) == wanted[8:]


def test_trials_that_are_played_together_are_written_together_or_not_at_all(journal, threads):
    """So that a kill loses what is in flight and nothing else."""
    wanted = trials(0, MODELS)

    class Together(Shifted):
        trials_per_call = 4

        def run(self, pair, trials):
            seen = super().run(pair, trials)
            return seen if trials[0].index < 2 else [*seen[:-1], {"logits": np.zeros(7)}]

    with refuses("shape-mismatch", value={"logits": (7,)}, kind=TrialFailed):
        run_trials(Together(), tiny_pair(), wanted, journal, threads)
    assert len(journal.missing(wanted)) % 4 == 0
    assert journal.missing(wanted)[-4:] == wanted[-4:]


def test_a_finished_game_plays_nothing(journal):
    for trial in trials(0, MODELS):
        journal.add(trial, Shifted()._play(trial), 0.0)
    run_trials(Shifted(), tiny_pair(), trials(0, MODELS), journal, executor=None)
    assert journal.missing(trials(0, MODELS)) == []


def test_time_of_a_trial_is_the_workers_own(journal, threads, monkeypatch):
    monkeypatch.setenv("PLAYGROUND_PAUSE", "0.05")
    run_trials(Shifted(), tiny_pair(), trials(0, 4), journal, threads)
    assert 4 * 0.05 <= journal.seconds() < 4 * 0.5


@pytest.mark.parametrize("claimed", ["add-remove", "replace"])
def test_a_pair_of_the_other_adjacency_is_refused(journal, threads, claimed):
    (other,) = {"add-remove", "replace"} - {claimed}
    with refuses("other-adjacency", option="canary", value=other) as caught:
        run_trials(Shifted(adjacency=claimed), tiny_pair(other), trials(0, 4), journal, threads)
    assert f" {claimed} " in str(caught.value)
    assert dump(journal) == []


def test_journal_is_the_same_for_any_workers_and_any_order(tmp_path):
    wanted, kept = trials(0, MODELS), []
    orders = [wanted, wanted[::-1], random.Random(5).sample(wanted, MODELS)]
    pools = [SerialExecutor(), ThreadPoolExecutor(2), local_pool(2)]
    for number, (workers, order) in enumerate(zip(pools, orders, strict=True)):
        path = tmp_path / str(number) / "journal.sqlite"
        with Journal.open_for_writing(path, SETTINGS) as journal, workers as pool:
            run_trials(Shifted(1.0), tiny_pair(), order, journal, pool)
            kept.append(dump(journal))
    assert len(kept[0]) == 4 * MODELS
    assert kept[0] == kept[1] == kept[2]


def test_journal_is_the_same_though_a_worker_is_killed_in_a_trial(journal, threads, tmp_path):
    file = tmp_path / "stalled"

    def kill():
        end = time.monotonic() + 30
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(int(file.read_text()), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    with local_pool(2) as pool:
        run_trials(Stalling(1.0, file=file), tiny_pair(), trials(0, MODELS), journal, pool)
    assert file.exists()
    with Journal.open_for_writing(tmp_path / "undisturbed", SETTINGS) as undisturbed:
        run_trials(Shifted(1.0), tiny_pair(), trials(0, MODELS), undisturbed, threads)
        assert dump(journal) == dump(undisturbed)


@pytest.mark.parametrize("trials_per_call", [1, 5, 100])
def test_batches_are_the_mechanisms_own_and_change_nothing(
    journal, threads, tmp_path, trials_per_call
):
    class Batched(Shifted):
        def run(self, pair, trials):
            sizes.append(len(trials))
            return super().run(pair, trials)

    sizes: list[int] = []
    mechanism = Batched()
    object.__setattr__(mechanism, "trials_per_call", trials_per_call)
    run_trials(mechanism, tiny_pair(), trials(0, MODELS), journal, threads)
    assert sum(sizes) == MODELS
    assert max(sizes) == min(trials_per_call, MODELS)
    with Journal.open_for_writing(tmp_path / "single", SETTINGS) as single:
        run_trials(Shifted(), tiny_pair(), trials(0, MODELS), single, threads)
        assert dump(journal) == dump(single)


# ---------------------------------------------------------------- what goes wrong


def test_the_first_observation_may_be_refused(journal, threads):
    def blind(observation):
        shown.append(sorted(observation))
        raise BadInput("nothing to see")

    shown: list[list[str]] = []
    with pytest.raises(BadInput, match="nothing to see"):
        run_trials(Shifted(), tiny_pair(), trials(0, 4), journal, threads, check=blind)
    assert shown == [["accuracy", "logits", "mc", "probabilities"]]
    assert dump(journal) == []


def test_a_trial_of_another_shape_than_those_before_a_restart_is_refused(journal, threads):
    journal.add(trials(0, MODELS)[0], {"logits": np.zeros(7)}, 0.0)
    with refuses("shape-mismatch", kind=TrialFailed):
        run_trials(Shifted(), tiny_pair(), trials(0, MODELS), journal, threads)


@pytest.mark.parametrize("trials_per_call", [0, 1.5, "many"])
def test_batches_of_no_size_are_refused(journal, threads, trials_per_call):
    mechanism = Shifted()
    object.__setattr__(mechanism, "trials_per_call", trials_per_call)
    with refuses("too-small", option="trials_per_call", value=trials_per_call):
        run_trials(mechanism, tiny_pair(), trials(0, 4), journal, threads)


@pytest.mark.parametrize(
    ("other", "code", "option", "value"),
    [
        ({"logits": np.zeros(4)}, "shape-mismatch", "", {"logits": (4,)}),
        ({"values": np.zeros(3)}, "shape-mismatch", "", {"values": (3,)}),
        ({"logits": np.array([{}])}, "not-numbers", "logits", None),
        ({"logits": np.array(["a", "b", "c"])}, "not-numbers", "logits", None),
    ],
)
def test_trials_that_release_unlike_things_are_refused(
    journal, threads, other, code, option, value
):
    class Changing(Shifted):
        def _play(self, trial, label=1):
            return {"logits": np.zeros(3)} if trial.index < 2 else other

    with refuses(code, option, value, kind=TrialFailed):
        run_trials(Changing(), tiny_pair(), trials(0, MODELS), journal, threads)
    assert len({row[3:] for row in dump(journal)}) <= 1


def test_a_mechanism_that_forgets_a_trial_is_refused(journal, threads):
    class Forgetful(Shifted):
        def run(self, pair, trials):
            return []

    with refuses("count-mismatch", value=0, kind=TrialFailed):
        run_trials(Forgetful(), tiny_pair(), trials(0, 4), journal, threads)


def test_a_mechanism_that_raises_is_told_with_its_trial(journal, threads):
    """And with the trials that came before it kept."""
    mechanism = Failing(index=3, world=1)
    with refuses("code-failed", value="ArithmeticError", kind=TrialFailed) as caught:
        run_trials(mechanism, tiny_pair(), trials(0, MODELS), journal, threads)
    assert str(caught.value).startswith("trial 3 of world 1 ")
    assert str(caught.value).endswith("ArithmeticError: the loss is NaN")
    assert (3, 1) not in {(t[0], t[1]) for t in dump(journal)}


@pytest.mark.parametrize("lost", ["broken", "cancelled"])
def test_workers_of_any_executor_that_are_lost_are_told_as_lost(journal, lost):
    class Lossy(ThreadPoolExecutor):
        def submit(self, *_):
            future = Future()
            if lost == "broken":
                future.set_exception(BrokenExecutor())
            else:
                future.cancel()
                future.set_running_or_notify_cancel()
            return future

    with Lossy() as pool, refuses("workers-lost", kind=WorkersLost):
        run_trials(Shifted(), tiny_pair(), trials(0, 4), journal, pool)


def test_a_trial_that_fails_because_of_a_full_disk_is_told_as_that(journal, threads):
    class Writing(Shifted):
        def _play(self, trial, label=1):
            raise OSError(errno.ENOSPC, "No space left on device")

    with refuses("disk-full", value="OSError", kind=DiskFull) as caught:
        run_trials(Writing(), tiny_pair(), trials(0, 4), journal, threads)
    assert "trial 0 of world " in str(caught.value)
    assert "No space left on device" in str(caught.value)


@pytest.mark.parametrize(
    ("how", "kind", "code", "value", "said"),
    [
        ("leave", TrialFailed, "code-failed", "SystemExit", "trial 2 of world 1 "),
        ("raise unsendable", TrialFailed, "code-failed", "Unsendable", "trial 2 of world 1 "),
        ("release a function", TrialFailed, "not-picklable", None, ""),
        ("kill", WorkersLost, "workers-died", 3, ""),
    ],
)
def test_a_failure_in_a_worker_is_one_clear_line_and_loses_nothing(
    journal, how, kind, code, value, said
):
    wanted = trials(0, MODELS)
    with refuses(code, value=value, kind=kind) as caught, local_pool(1) as pool:
        run_trials(Failing(index=2, world=1, how=how), tiny_pair(), wanted, journal, pool)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    # One worker plays them in turn: all before the failure are there, and are whole.
    finished = {(index, world) for index, world, *_ in dump(journal)}
    assert finished == {(t.index, t.world) for t in wanted[: 2 * 2 + 1]}
    assert len(dump(journal)) == 4 * len(finished)
