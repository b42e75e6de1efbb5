"""Runs that lose a worker, or room on their disk, end in seconds or go on."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpaudit.journal import Journal

DPAUDIT = Path(sys.executable).with_name("dpaudit")


def content(folder):
    """All that a journal holds of its trials but the time they took."""
    query = "SELECT idx, world, seed, name, npy FROM trials JOIN seen USING (idx, world)"
    with Journal.read(folder / "journal.sqlite") as journal:
        rows = journal._db.execute(f"{query} WHERE name <> 'padding'").fetchall()
    assert len(rows) == 4 * 40
    return sorted(rows)


# ---------------------------------------------------------------- lost workers


def workers_of(process):
    """The process ids of a run's workers."""
    children = [
        int(pid)
        for file in Path(f"/proc/{process.pid}/task").glob("*/children")
        for pid in file.read_text().split()
    ]
    return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_run_goes_on_though_a_worker_is_killed(undisturbed, shell, command, tmp_path):
    folder = tmp_path / "run"
    process = shell.start(*command, "--workers", 2, "--out", folder, pause=0.1)
    shell.until(process, "^4/40 models")
    before = workers_of(process)
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    shell.until(process, "^2./40 models")
    after = workers_of(process)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(after) == 2
    assert before[0] not in after
    assert content(folder) == content(undisturbed[0])


def test_trials_that_end_every_worker_end_the_run_in_one_line(shell, command, tmp_path):
    """By another code than that of bad input."""
    deadly = replace(shell, env={**shell.env, "PLAYGROUND_DEADLY": "1"})
    done = deadly(*command, "--workers", 2, "--out", tmp_path / "run")
    assert done.returncode == 5
    *_, said = done.stderr.splitlines()
    assert said.endswith("[workers-died]")


# ---------------------------------------------------------------- full disks

SMALL = """
set -e
mkdir disk
mount -t tmpfs -o size=2m tmpfs disk
"$@" --out disk/run 2> stderr || echo $?
[ -z "$AGAIN" ] && exit
mount -o remount,size=64m disk
"$@" --out disk/run
cp disk/run/journal.sqlite .
"""
"""A run on a disk of 2 MB; then, where wanted, the same on a larger one. The mount is gone at
the end of the process, and of its namespace, however that comes."""


def small_disk(namespace):
    able = shutil.which("unshare") and subprocess.run(
        [*namespace, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
    )
    return bool(able) and able.returncode == 0


NAMESPACE = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]

mounting = pytest.mark.skipif(
    not small_disk(NAMESPACE), reason="a small disk cannot be mounted by this user here"
)


def on_a_small_disk(shell, command, folder, again=False):
    """The exit code and the messages of a run that fills its disk after a few trials.

    What its workers send is larger than what a pipe holds: the end finds them sending.
    """
    folder.mkdir()
    done = subprocess.run(
        [*NAMESPACE, "bash", "-c", SMALL, "bash", DPAUDIT, *command, "--workers", "3"],
        env={**shell.env, "PLAYGROUND_PADDING": "30000", "AGAIN": "again" if again else ""},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[0]), (folder / "stderr").read_text().splitlines()


@mounting
def test_a_run_on_a_full_disk_says_so_and_goes_on_where_there_is_room(
    undisturbed, shell, command, tmp_path
):
    code, lines = on_a_small_disk(shell, command, tmp_path / "small", again=True)
    assert code == 4
    assert lines[-1].endswith("[disk-full]")
    assert not any("Traceback" in line for line in lines)
    assert content(tmp_path / "small") == content(undisturbed[0])


@pytest.mark.verify
@mounting
def test_a_run_on_a_full_disk_always_ends(shell, command, tmp_path):
    """Fifty runs, while other processes want the same processors."""
    load = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        ended = [on_a_small_disk(shell, command, tmp_path / str(i))[0] for i in range(50)]
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert set(ended) == {4}


def test_a_full_disk_is_not_bad_input_wherever_output_goes(cli, undisturbed):
    counts = ["estimate", "--fp", "5", "--out-trials", "500", "--fn", "60", "--in-trials", "500"]
    for words in (
        [*counts, "--json", "/dev/full"],
        ["report", undisturbed[0], "--html", "/dev/full"],
    ):
        done = cli(*words)
        assert done.exit_code == 4, done.output
        assert "/dev/full: " in done.stderr
        assert done.stderr.endswith(" [disk-full]\n")
