"""Bad input gets one clear sentence and exit code 2, and changes nothing on disk."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from playground import KNOWN, facts, observe, worlds_and_indices, write_journal
from refusals import Line

from dpaudit.journal import Journal

FAST = ("run", "--mechanism", "leaky", "--canary", "random", "--models", "4")


SETTINGS = [
    ("--canary adv-maxlos", "unknown-name", "'adv-maxlos' 'adv-maxloss'"),
    ("--attack losss", "unknown-name", "'losss' 'loss'"),
    ("--mechanism dpsdg", "unknown-name", "'dpsdg' 'dpsgd'"),
    ("--data mnits", "unknown-name", "'mnits' 'mnist'"),
    ("--data nowhere.npz", "file-missing", "nowhere.npz"),
    ("--estimator clopper", "unknown-name", "'clopper-pearson'"),
    ("--primary max", "unknown-choice", "primary auto 'max'"),
    ("--epsilon -1 --delta 2", "several-problems", "epsilon -1.0 delta 2.0"),
    ("--epsilon 8 --noise-multiplier 1", "excluded-options", "epsilon noise_multiplier"),
    ("--batch some", "no-number", "'some'"),
    ("--workers 2 --cluster tcp://x:1", "excluded-options", "--workers --cluster"),
    ("--outputs probabilities", "no-effect", "--outputs dpsgd"),
    ("--mechanism m:f --epochs 3 --lr 1", "no-effect", "--epochs --lr m:f"),
    ("--mechanism m:f", "needs-claim", "m:f --claim"),
    ("--mechanism m:f --claim 8,1e-5", "module-missing", "m.py:f"),
    ("--mechanism own-function", "needs-function", "--mechanism MODULE:FUNCTION"),
    ("--defence quantise:0.01", "unknown-name", "'quantize'"),
    ("--size 5000", "too-large", "size 1000"),
    ("--label age", "no-effect", "--label"),
    ("--download", "no-effect", "--download"),
    ("--claim 8", "no-pair", "'8' 8,1e-5"),
    ("--claim 1,2,3", "no-pair", "'1,2,3'"),
    ("--claim -1,2", "several-problems", "epsilon -1.0 delta 2.0"),
    ("--config nowhere.toml", "file-missing", "nowhere.toml"),
    ("--workers 0", "usage", "'--workers'"),
]


def test_run_refuses_a_bad_setting(refused):
    for words, code, named in SETTINGS:
        refused("run", *words.split()).tells(code, named)


def test_run_refuses_an_unknown_network(refused):
    said = refused("run", "--network", "logrge", "--noise-multiplier", "2", "--canary", "random")
    said.tells("unknown-name", "'logrge' 'logreg'?")


def test_run_refuses_a_bad_configuration_file(refused):
    Path("bad.toml").write_text("epsilon = 'much'\nmodels = 1.5")
    said = refused("run", "--config", "bad.toml")
    said.tells("several-problems", "bad.toml epsilon 'much' models 1.5")


def test_run_refuses_a_folder_that_cannot_be(refused, npz):
    Path("file").write_text("mine")
    for out in ("file", "file/below", "/proc/nowhere"):
        refused(*FAST, "--data", npz, "--out", out).tells("folder-unwritable", out)


def test_run_refuses_a_cluster_that_is_not_there(refused, npz, monkeypatch):
    monkeypatch.setattr("dpaudit.executors.cluster.PATIENCE", 1)
    said = refused(*FAST, "--data", npz, "--cluster", "tcp://127.0.0.1:1", "--out", "run")
    said.tells("no-scheduler", "tcp://127.0.0.1:1")


def test_run_refuses_an_attack_that_fits_nothing_at_the_first_model(cli, npz):
    words = ("--data", npz, "--workers", 1, "--attack", "released", "--out", "run")
    done = cli(*FAST, "--models", 400, *words)
    assert done.exit_code == 2
    Line(done.stderr.splitlines()[-1]).tells("not-released", "released values")
    with Journal.read(Path("run/journal.sqlite")) as journal:
        assert len(journal.trials()[0]) == 0


def test_run_refuses_a_folder_with_a_strangers_journal(refused, npz):
    Path("mine").mkdir()
    Path("mine/journal.sqlite").write_text("Dear diary")
    refused(*FAST, "--data", npz, "--out", "mine").tells("not-a-journal", "mine/journal.sqlite")


def test_run_refuses_a_folder_with_files_but_no_run(refused, npz):
    Path("mine").mkdir()
    Path("mine/config.toml").write_text("precious = true\n")
    said = refused(*FAST, "--data", npz, "--out", "mine")
    said.tells("folder-not-empty", "mine config.toml")


JUDGES = pytest.mark.parametrize("words", [["report"], ["compare", "--defence", "mean-only"]])


@JUDGES
def test_what_is_no_run_is_refused(refused, words):
    Path("empty").mkdir()
    Path("others").mkdir()
    Path("others/notes.txt").write_text("mine")
    Path("a-file").touch()
    for what in ("nowhere", "empty", "a-file", "others", "a-file/below"):
        refused(words[0], what, *words[1:]).tells("no-run", what)


@JUDGES
def test_a_strangers_database_is_refused_and_left_alone(refused, words):
    Path("mine").mkdir()
    with sqlite3.connect("mine/journal.sqlite") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()
    refused(words[0], "mine", *words[1:]).tells("not-a-journal", "mine/journal.sqlite")


def test_a_flipped_bit_in_a_journal_is_refused(refused):
    path = write_journal(Path("run/journal.sqlite"), observe(worlds_and_indices(8)[0], draw()))
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT checksum FROM trials").fetchall()
    db.close()
    content = bytearray(path.read_bytes())
    content[content.index(rows[-1][0])] ^= 4
    path.write_bytes(content)
    refused("report", "run").tells("journal-damaged", "run/journal.sqlite trial 3")


@JUDGES
def test_a_damaged_journal_is_refused(refused, words):
    path = write_journal(Path("run/journal.sqlite"), observe(worlds_and_indices(8)[0], draw()))
    path.write_bytes(path.read_bytes()[:-700])
    refused(words[0], "run", *words[1:]).tells("journal-damaged", "run/journal.sqlite")


@JUDGES
def test_an_incomplete_run_is_refused_with_the_way_to_go_on(refused, words):
    with Journal.open_for_writing(Path("run/journal.sqlite"), {"seed": 0, "models": 8}) as journal:
        journal.write_facts(facts(), KNOWN)
    Path("run/config.toml").write_text("seed = 0\nmodels = 8\n")
    said = refused(words[0], "run", *words[1:])
    said.tells("not-complete", "0 8 models")
    assert "dpaudit run --config run/config.toml --out run [" in said


CHOICES = [
    ("--attack losss", "unknown-name", "'loss'"),
    ("--attack mean&losss", "unknown-name", "'losss'"),
    ("--attack mean --estimator clopper", "unknown-name", "'clopper-pearson'"),
    ("--primary nobody", "unknown-choice", "primary auto 'nobody'"),
    ("--confidence 0", "out-of-range", "confidence 0.5 1 0.0"),
    ("--attack loss", "not-released", "loss"),
]


def test_report_refuses_a_bad_choice_and_counts_no_look(refused):
    seen = observe(worlds_and_indices(8)[0], draw())
    write_journal(Path("run/journal.sqlite"), {"mc": seen["mc"]})
    for words, code, named in CHOICES:
        refused("report", "run", *words.split()).tells(code, named)


def test_explain_refuses_what_it_does_not_know(refused):
    refused("explain", "losss").tells("unknown-name", "'losss' 'loss'?")


def test_an_unknown_command_is_refused(cli):
    result = cli("audit")
    assert result.exit_code == 2
    Line(result.stderr.strip()).tells("usage", "'audit'")


def test_an_interrupt_is_never_taken_for_a_violation(cli, monkeypatch):
    """Exit code 1 says that a claim was refuted."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpaudit.audit.Run.judge", interrupted)
    result = cli("report", "anything")
    assert result.exit_code == 130
    assert result.stderr == "Stopped.\n"


def draw():
    return np.random.default_rng(0)
