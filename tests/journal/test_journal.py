import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playground import KEPT_RUN, KNOWN, facts, observe, worlds_and_indices, write_journal
from refusals import refuses

from dpaudit.audit.folder import Run
from dpaudit.errors import DiskFull, JournalError, OtherConfiguration
from dpaudit.journal import Journal
from dpaudit.journal.file import APPLICATION_ID, FORMAT
from dpaudit.report import to_dict
from dpaudit.seeds import trials
from dpaudit.types import Trial

SETTINGS = {"seed": 0, "models": 8, "lr": 1.0, "attacks": ["loss", "mean"]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "journal.sqlite"


@pytest.fixture
def complete(path):
    """A journal of eight trials."""
    worlds, _ = worlds_and_indices(8)
    return write_journal(path, observe(worlds, np.random.default_rng(0)))


def refusal(do, *arguments) -> JournalError:
    """The error with which a journal refuses, and the promise that it is one line."""
    with pytest.raises(JournalError) as caught:
        do(*arguments)
    assert str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def contents(folder):
    """Every file below a folder with its bytes."""
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# ---------------------------------------------------------------- what goes in comes out


@pytest.mark.parametrize(
    "array",
    [
        np.float32([[0.1, np.nan], [np.inf, -0.0]]),
        np.linspace(0, 1, 7, dtype=np.float16),
        np.array(0.1),
        np.array(7, dtype=np.int64),
        np.array([], dtype=np.float32),
        np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3)),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_come_back_bit_by_bit(path, array):
    with Journal.open_for_writing(path, SETTINGS) as journal:
        journal.write_facts(facts(), {"known": array})
        journal.add(Trial(0, 1, 2**63 - 1), {"seen": array}, seconds=0.25)
    with Journal.read(path) as journal:
        for back in (journal.known["known"], next(journal.arrays("seen"))):
            assert (back.dtype, back.shape) == (array.dtype, array.shape)
            assert back.tobytes() == array.tobytes()
        assert journal.observations()["seen"].shape == (1, *array.shape)
        assert journal.seconds() == 0.25


def test_settings_and_facts_come_back(path):
    with Journal.open_for_writing(path, SETTINGS) as journal:
        assert journal.facts is None
        journal.write_facts(facts(), KNOWN)
    with Journal.read(path) as journal:
        assert journal.settings == SETTINGS
        assert journal.facts == facts()


def test_order_of_playing_leaves_no_trace(path):
    """Trials come back by index and world, whichever worker was faster."""
    wanted = trials(0, 8)
    with Journal.open_for_writing(path, SETTINGS) as journal:
        for trial in random.Random(1).sample(wanted, len(wanted)):
            journal.add(trial, {"mark": np.array([trial.index, trial.world])}, 0.0)
        worlds, indices = journal.trials()
        marks = journal.observations()["mark"]
    assert [(t.index, t.world) for t in wanted] == list(zip(indices, worlds, strict=True))
    np.testing.assert_array_equal(marks, np.stack([indices, worlds], axis=1))


def test_only_what_every_trial_released_is_an_observation(path):
    with Journal.open_for_writing(path, SETTINGS) as journal:
        journal.add(Trial(0, 0, 1), {"all": np.array(1.0), "some": np.array(2.0)}, 0.0)
        journal.add(Trial(0, 1, 2), {"all": np.array(3.0)}, 0.0)
        assert list(journal.observations()) == ["all"]
        assert [float(a) for a in journal.arrays("some")] == [2.0]


def test_pickles_are_neither_written_nor_read(path):
    with Journal.open_for_writing(path, SETTINGS) as journal:
        with pytest.raises(ValueError, match="Object arrays"):
            journal.add(Trial(0, 0, 1), {"object": np.array([print])}, 0.0)
        assert journal.missing(trials(0, 8)) == trials(0, 8)


# ---------------------------------------------------------------- resuming


def test_same_settings_go_on_with_what_is_missing(path):
    wanted = trials(0, 8)
    with Journal.open_for_writing(path, SETTINGS) as journal:
        for trial in wanted[:3]:
            journal.add(trial, {"a": np.array(0.0)}, 1.0)
    with Journal.open_for_writing(path, SETTINGS) as journal:
        assert journal.missing(wanted) == wanted[3:]
        journal.add(wanted[3], {"a": np.array(0.0)}, 1.0)
        assert journal.missing(wanted) == wanted[4:]
        assert journal.seconds() == 4.0


def test_a_trial_is_written_once(path):
    with Journal.open_for_writing(path, SETTINGS) as journal:
        journal.add(Trial(0, 0, 1), {"a": np.array(1.0)}, 1.0)
        refusal(journal.add, Trial(0, 0, 1), {"a": np.array(2.0)}, 1.0)
        assert journal.observations()["a"].tolist() == [1.0]


def test_other_configuration_is_refused_with_all_that_differs(path, complete):
    before = contents(path.parent)
    with pytest.raises(OtherConfiguration) as caught:
        Journal.open_for_writing(path, {"seed": 1, "models": 8, "canary": "blank"})
    said = str(caught.value)
    differing = ["seed: 0 there, 1 here", "canary: none there, blank here"]
    assert sorted(caught.value.value) == sorted(differing)
    assert all(one in said for one in differing)
    assert "models" not in said
    assert str(path.parent) in said
    assert "--out" in said
    assert contents(path.parent) == before


def test_where_the_data_lie_is_no_difference(path):
    Journal.open_for_writing(path, {**SETTINGS, "data": "/here.npz"}).close()
    with Journal.open_for_writing(path, {**SETTINGS, "data": "/there.npz"}) as journal:
        assert journal.settings["data"] == "/here.npz"


def test_a_second_writer_is_refused_and_a_reader_too(path, complete):
    with Journal.open_for_writing(path, {"seed": 0, "models": 8}):
        assert refusal(Journal.open_for_writing, path, {"seed": 0}).code == "journal-locked"
        assert refusal(Journal.read, path).code == "journal-locked"
    Journal.read(path).close()


# ---------------------------------------------------------------- files that are no journal


@pytest.mark.parametrize(
    "do", [Journal.read, lambda path: Journal.open_for_writing(path, SETTINGS)]
)
class TestUnusableFile:
    """One clear sentence each, for reading and for playing, and the file stays as it was."""

    def refused(self, do, path):
        before = contents(path.parent)
        found = refusal(do, path)
        assert contents(path.parent) == before
        assert str(path) in str(found)
        return found

    @pytest.mark.parametrize(
        "content", [b"x", b"not a journal\n" * 500, None, b"SQLite format 3\0"]
    )
    def test_of_random_bytes(self, do, path, content):
        path.parent.mkdir()
        path.write_bytes(random.Random(0).randbytes(20_000) if content is None else content)
        assert self.refused(do, path).code == "not-a-journal"

    @pytest.mark.parametrize("share", [0.03, 0.3, 0.9, 0.999])
    def test_cut_short(self, do, path, complete, share):
        os.truncate(path, int(path.stat().st_size * share))
        assert self.refused(do, path).code == "journal-damaged"

    def test_of_another_program(self, do, path):
        path.parent.mkdir()
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE bookmarks (url TEXT)")
            db.execute("PRAGMA journal_mode = WAL")  # SQLite would add files as it opens it
        db.close()
        assert self.refused(do, path).code == "not-a-journal"

    def test_of_a_newer_format(self, do, path, complete):
        with sqlite3.connect(path) as db:
            db.execute(f"PRAGMA user_version={FORMAT + 1}")
        db.close()
        found = self.refused(do, path)
        assert (found.code, found.value) == ("journal-format", FORMAT + 1)
        assert f" 1 to {FORMAT}" in str(found)

    def test_that_is_a_folder(self, do, path):
        path.mkdir(parents=True)
        refusal(do, path)
        assert not list(path.iterdir())


def test_a_run_that_is_not_there_is_not_made_by_reading(path):
    with refuses("no-run", value=str(path.parent), kind=JournalError):
        Journal.read(path)
    path.parent.mkdir()
    with refuses("no-run", value=str(path.parent), kind=JournalError) as caught:
        Journal.read(path)
    assert "journal.sqlite" in str(caught.value)
    assert not list(path.parent.iterdir())


def test_an_empty_file_is_no_run(path):
    """It is where a run was about to begin: reading refuses it, playing begins."""
    path.parent.mkdir()
    path.touch()
    assert refusal(Journal.read, path).code == "not-a-journal"
    assert path.stat().st_size == 0
    with Journal.open_for_writing(path, SETTINGS) as journal:
        assert journal.settings == SETTINGS


@pytest.mark.parametrize("blocked", ["run", "run/below"])
def test_a_file_in_the_folders_place_is_refused(tmp_path, blocked):
    (tmp_path / "run").write_text("mine")
    found = refusal(Journal.open_for_writing, tmp_path / blocked / "journal.sqlite", SETTINGS)
    assert (found.code, found.value) == ("folder-unwritable", str(tmp_path / blocked))
    assert "--out" in str(found)
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs another user's eyes")
def test_an_unreadable_file_is_refused(path, complete):
    """Root reads everything, so a child that is nobody looks at it."""
    path.chmod(0)
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.chdir(path.parent)
                os.setuid(65534)
            near = refusal(Journal.read, path.relative_to(path.parent))
            said = f"{near.code} {near}\n{refusal(Journal.read, path)}"
        except BaseException as error:
            said = repr(error)
        os.write(tell, said.encode())
        os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    near, far = os.read(told, 10_000).decode().split("\n")
    os.close(told)
    assert near.startswith("journal-unusable ")
    assert "journal.sqlite" in near
    assert "journal.sqlite" in far


@pytest.mark.parametrize(
    ("table", "cell", "look"),
    [
        ("meta", "value", lambda journal: journal.settings),
        ("meta", "value", lambda journal: journal.facts),
        ("known", "npy", lambda journal: journal.known),
        ("seen", "npy", lambda journal: journal.observations()),
    ],
)
def test_damage_that_sqlite_does_not_see_is_told(complete, table, cell, look):
    with sqlite3.connect(complete) as db:
        db.execute(f"UPDATE {table} SET {cell} = substr({cell}, 1, 9)")
    db.close()
    with Journal.read(complete) as journal:
        assert refusal(look, journal).code == "journal-damaged"


def everything(path):
    """All that a report is made of."""
    with Journal.read(path) as journal:
        return repr(
            (
                journal.settings,
                journal.facts,
                journal.known,
                journal.trials(),
                journal.whole_pairs(),
                journal.seconds(),
                journal.shapes(),
                {name: array.tolist() for name, array in journal.observations().items()},
                journal.upcoming("mean", "clopper-pearson"),
            )
        )


def outcomes(path, whole, damages):
    """What is told of each damaged copy: nothing, where it reads as before, or one sentence."""
    expected, told = everything(whole), []
    path.parent.mkdir(exist_ok=True)
    for damage in damages:
        damage()
        try:
            assert everything(path) == expected
            told.append("")
        except JournalError as error:
            told.append(str(error))
        for side in path.parent.glob(f"{path.name}-*"):
            side.unlink()
    assert not any("\n" in said for said in told)
    assert all(str(path) in said for said in told if said)
    return told


@pytest.fixture
def whole(tmp_path):
    """A journal of eight trials with a look, to be copied and damaged."""
    worlds, _ = worlds_and_indices(8)
    whole = write_journal(tmp_path / "whole.sqlite", observe(worlds, np.random.default_rng(0)))
    with Journal.read(whole) as journal:
        journal.look("mean", "clopper-pearson")
    return whole


def with_bit_flipped(content, at):
    return content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]


def flipped(path, whole, offsets):
    """What is told of copies with one bit flipped, each at one of the offsets."""
    content = whole.read_bytes()
    damages = (lambda at=at: path.write_bytes(with_bit_flipped(content, at)) for at in offsets)
    return outcomes(path, whole, damages)


def test_a_flipped_bit_is_told_wherever_it_changes_something(path, whole):
    """In free space it changes nothing, and elsewhere the damaged trial is named if there is one.

    The schema, whose texts are on the first page, is looked at more closely.
    """
    told = flipped(path, whole, [*range(0, whole.stat().st_size, 97), *range(3200, 4096, 11)])
    assert sum("(trial " in said for said in told) > 40
    assert sum("is damaged or cut short;" in said for said in told) > 40


@pytest.mark.verify
def test_flipped_bits_all_over_are_told_wherever_they_change_something(path, whole):
    flipped(path, whole, range(0, whole.stat().st_size, 7))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_overwritten_bytes_are_told_wherever_they_change_something(path, whole, data):
    content = bytearray(whole.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    junk = data.draw(st.binary(min_size=1, max_size=64))
    content[at : at + len(junk)] = junk
    content = bytes(content[: whole.stat().st_size])
    outcomes(path, whole, [lambda: path.write_bytes(content)])


def test_damage_to_what_a_kill_leaves_beside_the_journal_is_told(path, whole):
    """A transaction has reached the disk in part, and SQLite takes it back as it opens the file.

    What it takes it back from may have a flipped bit, be cut short, or be missing.
    """
    half = whole.with_name("half.sqlite")
    shutil.copy(whole, half)
    with sqlite3.connect(half, isolation_level=None) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("UPDATE seen SET npy = zeroblob(length(npy))")
        db.execute("UPDATE trials SET seed = seed + 1")
        content, beside = half.read_bytes(), Path(f"{half}-journal").read_bytes()
        db.execute("ROLLBACK")
    db.close()
    assert content != whole.read_bytes()
    side = Path(f"{path}-journal")

    def left(beside):
        path.write_bytes(content)
        side.write_bytes(beside)

    damaged = [
        *(with_bit_flipped(beside, at) for at in range(0, len(beside), 197)),
        *(beside[: int(len(beside) * share)] for share in (0, 0.01, 0.3, 0.9)),
    ]
    told = outcomes(path, whole, (lambda b=b: left(b) for b in [beside, *damaged]))
    assert told[0] == ""
    assert any(told)


@pytest.mark.parametrize("side", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("content", [b"", b"x" * 5000])
def test_foreign_files_beside_a_journal_change_nothing(path, whole, side, content):
    def placed():
        shutil.copy(whole, path)
        Path(f"{path}{side}").write_bytes(content)

    assert outcomes(path, whole, [placed]) == [""]


def test_arrays_are_read_one_by_one(complete):
    """A sort would hold those of all trials in memory."""
    with Journal.read(complete) as journal:
        queries = []
        journal._db.set_trace_callback(queries.append)
        list(journal.arrays("mc"))
        (query,) = queries
        plan = journal._db.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
    assert not any("TEMP B-TREE" in row[3] for row in plan), plan


# ---------------------------------------------------------------- format 1


def test_a_run_of_format_1_is_reported_as_it_was(tmp_path):
    folder = shutil.copytree(KEPT_RUN, tmp_path / "run")
    before = json.loads((folder / "report.json").read_text())
    after = to_dict(Run(folder).judge())
    whole = ("claim", "verdict", "looks", "models", "data", "canary", "versions", "seed")
    assert {name: after[name] for name in whole} == {name: before[name] for name in whole}
    assert after["seconds"]["training"] == before["seconds"]["training"]
    numbers = ("epsilon", "delta", "confidence", "ceiling", "counts", "trials")
    for bound, told in zip(after["bounds"], before["bounds"], strict=True):
        assert {name: bound[name] for name in numbers} == {name: told[name] for name in numbers}
    assert Run(folder).judge(estimator="exact-scan").looks == 2


def test_a_run_of_format_1_is_not_gone_on_with(tmp_path):
    path = shutil.copytree(KEPT_RUN, tmp_path / "run") / "journal.sqlite"
    with Journal.read(path) as journal:
        configured = journal.settings
    before = contents(path.parent)
    found = refusal(Journal.open_for_writing, path, configured)
    assert (found.code, found.value) == ("journal-old", 1)
    assert contents(path.parent) == before


# ---------------------------------------------------------------- nothing is lost

WRITER = """
import sys
from pathlib import Path
import numpy as np
from dpaudit.journal import Journal
from dpaudit.seeds import trials

with Journal.open_for_writing(Path(sys.argv[1]), {"models": 100_000}) as journal:
    if journal.facts is None:
        journal.write_facts({"a": "fact"}, {"label": np.array(1)})
    for trial in journal.missing(trials(0, 100_000)):
        seen = {name: np.full(3000, trial.index) for name in ("logits", "mc", "accuracy")}
        journal.add(trial, seen, 1.0)
        print("one more", flush=True)
"""


def test_a_kill_at_any_instant_leaves_whole_trials(path):
    instants, before = random.Random(3), 0
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout.readline() == "one more\n"
        time.sleep(instants.uniform(0.02, 0.25))
        writer.send_signal(signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL
        writer.stdout.close()
        with Journal.read(path) as journal:
            _, indices = journal.trials()
            assert len(indices) > before, "each writer goes on where the one before was killed"
            before = len(indices)
            for name in ("logits", "mc", "accuracy"):
                seen = journal.observations()[name]
                np.testing.assert_array_equal(seen, np.tile(indices[:, None], (1, 3000)))


def test_a_kill_while_the_tables_are_made_leaves_a_run_that_begins_again(path, tmp_path):
    """They are one transaction: here it has already reached the disk, and is not committed."""
    path.parent.mkdir()
    half = tmp_path / "half.sqlite"
    with sqlite3.connect(half, isolation_level=None) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN EXCLUSIVE")
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        db.executemany("INSERT INTO meta VALUES (?, '')", [(f"{i:01000}",) for i in range(99)])
        shutil.copy(half, path)
        shutil.copy(f"{half}-journal", f"{path}-journal")
    db.close()
    assert path.stat().st_size > 0
    with Journal.open_for_writing(path, SETTINGS) as journal:
        assert journal.settings == SETTINGS
        assert journal.missing(trials(0, 8)) == trials(0, 8)


def test_a_full_disk_is_told_and_costs_nothing_that_was_finished(path, complete):
    before = contents(path.parent)[path.relative_to(path.parent)]
    with Journal.open_for_writing(path, {"seed": 0, "models": 8}) as journal:
        (pages,) = journal._db.execute("PRAGMA page_count").fetchone()
        journal._db.execute(f"PRAGMA max_page_count = {pages}")
        with refuses("disk-full", value=str(path), kind=DiskFull):
            journal.add(Trial(4, 0, 1), {"mc": np.zeros(100_000)}, 1.0)
        assert len(journal.trials()[0]) == 8
    assert path.read_bytes() == before


def test_a_file_that_may_not_grow_keeps_what_was_finished(path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))

    script = WRITER.replace("import sys", "import sys\nfrom dpaudit.errors import JournalError", 1)
    script = script.replace(
        "        journal.add(trial, seen, 1.0)",
        "        try:\n            journal.add(trial, seen, 1.0)\n"
        "        except JournalError as error:\n            sys.exit(str(error))",
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, preexec_fn=limit
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr
    with Journal.read(path) as journal:
        _, indices = journal.trials()
        assert len(indices) > 10
        np.testing.assert_array_equal(journal.observations()["mc"][:, 0], indices)


# ---------------------------------------------------------------- looks


def test_looks_number_the_primaries_and_never_forget(path, complete):
    with Journal.read(path) as journal:
        assert journal.look("loss", "clopper-pearson") == 2
        assert journal.look("loss", "clopper-pearson") == 2
        assert journal.look("mean", "clopper-pearson") == 3
        assert journal.look("loss", "other") == 4
    with Journal.read(path) as journal:
        assert journal.look("mean", "clopper-pearson") == 3
        assert journal.look("loss", "clopper-pearson") == 2
        assert journal.look("max", "clopper-pearson") == 5


def test_header_names_its_program(complete):
    """So that `file journal.sqlite` and other tools can tell whose it is."""
    assert complete.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big") == b"dpau"


def test_a_look_whose_number_has_changed_is_told(whole):
    """A lower number would let a later judgement decide at a lower confidence."""
    with Journal.read(whole) as journal:
        assert journal.look("loss", "exact-scan") == 3
    with sqlite3.connect(whole) as db:
        db.execute("UPDATE looks SET number = 7 WHERE number = 3")
    with pytest.raises(JournalError, match="looks"):
        Journal.read(whole)
