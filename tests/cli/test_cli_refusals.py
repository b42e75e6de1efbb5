"""Bad input gets one clear sentence and exit code 2, and changes nothing on disk."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from playground import KNOWN, facts, finished, observe, worlds_and_indices
from refusals import Line

from dpaudit.journal import Journal

FAST = ("run", "--mechanism", "leaky", "--canary", "random", "--models", "4")


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("--canary adv-maxlos", "unknown-name", "'adv-maxlos' 'adv-maxloss'"),
        ("--attack losss", "unknown-name", "'losss' 'loss'"),
        ("--mechanism dpsdg", "unknown-name", "'dpsdg' 'dpsgd'"),
        ("--data mnits", "unknown-name", "'mnits' 'mnist'"),
        ("--data nowhere.npz", "file-missing", "nowhere.npz"),
        ("--estimator clopper", "unknown-name", "'clopper-pearson'"),
        ("--primary max", "unknown-choice", "primary auto 'max'"),
        ("--epsilon -1 --delta 2", "several-problems", "epsilon -1.0 delta 2.0"),
        ("--epsilon 8 --noise-multiplier 1", "excluded-options", "epsilon noise_multiplier"),
        ("--epsilon nan", "not-positive", "epsilon 0 nan"),
        ("--models 0", "too-small", "models 4 0"),
        ("--models -3 --samples 0", "several-problems", "models samples"),
        ("--batch 0", "too-small", "batch 1 0"),
        ("--batch some", "no-number", "'some'"),
        ("--dropout 1", "out-of-range", "dropout 0 1 1.0"),
        ("--confidence 95", "out-of-range", "confidence 0.5 1 95.0"),
        ("--workers 2 --cluster tcp://x:1", "excluded-options", "--workers --cluster"),
        ("--outputs probabilities", "no-effect", "--outputs dpsgd"),
        ("--mechanism m:f --epochs 3 --lr 1", "no-effect", "--epochs --lr m:f"),
        ("--mechanism m:f", "needs-claim", "m:f --claim"),
        ("--mechanism m:f --claim 8,1e-5", "module-missing", "m.py:f"),
        ("--mechanism own-function", "needs-function", "--mechanism MODULE:FUNCTION"),
        ("--defence quantise:0.01", "unknown-name", "'quantize'"),
        ("--defence quantize:2", "out-of-range", "quantize 0 1 2.0"),
        ("--size 0", "too-small", "size 1 0"),
        ("--size 5000", "too-large", "size 1000"),
        ("--label age", "no-effect", "--label"),
        ("--download", "no-effect", "--download"),
        ("--claim 8", "no-pair", "'8' 8,1e-5"),
        ("--claim 8,x", "no-pair", "'8,x'"),
        ("--claim 1,2,3", "no-pair", "'1,2,3'"),
        ("--claim -1,2", "several-problems", "epsilon -1.0 delta 2.0"),
        ("--config nowhere.toml", "file-missing", "nowhere.toml"),
        ("--workers 0", "usage", "'--workers'"),
        ("--workers 513", "usage", "'--workers'"),
        (f"--models {10**26}", "too-large", "models 1,000,000 100,000,000"),
        ("--noise-multiplier 1e308", "too-large", "noise_multiplier 1,000,000 1e+308"),
    ],
)
def test_run_refuses_a_bad_setting(refused, words, code, facts):
    refused("run", *words.split()).tells(code, facts)


def test_run_refuses_an_unknown_network(refused):
    said = refused("run", "--network", "logrge", "--noise-multiplier", "2", "--canary", "random")
    said.tells("unknown-name", "'logrge' 'logreg'?")


@pytest.mark.parametrize(
    ("toml", "code", "facts"),
    [
        ("epsilon = ", "wrong-format", "bad.toml"),
        ("epsilonn = 8", "unknown-name", "'epsilonn'"),
        ("epsilon = 'much'\nmodels = 1.5", "several-problems", "epsilon 'much' models 1.5"),
        ("attacks = []", "missing-options", "attack"),
        ("epsilon = -1", "not-positive", "epsilon 0 -1.0"),
        ("\x00", "wrong-format", "bad.toml"),
        (f"models = {10**26}", "too-large", "models 1,000,000 100,000,000"),
        (f"models = 0x{'f' * 5000}", "too-large", "models 1,000,000"),
        (f"attacks = {'[' * 10**5}", "wrong-format", "bad.toml"),
    ],
)
def test_run_refuses_a_bad_configuration_file(refused, toml, code, facts):
    Path("bad.toml").write_text(toml)
    refused("run", "--config", "bad.toml").tells(code, facts)


def test_run_refuses_a_configuration_that_is_a_folder(refused):
    Path("folder").mkdir()
    refused("run", "--config", "folder").tells("is-folder", "folder")


@pytest.mark.parametrize("out", ["file", "file/below", "/proc/nowhere"])
def test_run_refuses_a_folder_that_cannot_be(refused, npz, out):
    Path("file").write_text("mine")
    said = refused(*FAST, "--data", npz, "--out", out)
    said.tells("folder-unwritable", out)


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


@pytest.mark.parametrize("words", [["report"], ["compare", "--defence", "mean-only"]])
@pytest.mark.parametrize("what", ["nowhere", "empty", "a-file", "others", "a-file/below"])
def test_what_is_no_run_is_refused(refused, words, what):
    Path("empty").mkdir()
    Path("others").mkdir()
    Path("others/notes.txt").write_text("mine")
    Path("a-file").touch()
    refused(words[0], what, *words[1:]).tells("no-run", what)


@pytest.mark.parametrize("words", [["report"], ["compare", "--defence", "mean-only"]])
def test_a_strangers_database_is_refused_and_left_alone(refused, words):
    Path("mine").mkdir()
    with sqlite3.connect("mine/journal.sqlite") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()
    refused(words[0], "mine", *words[1:]).tells("not-a-journal", "mine/journal.sqlite")


@pytest.mark.parametrize("table", ["seen", "trials", "meta", "known"])
def test_a_flipped_bit_in_a_journal_is_refused(refused, table):
    path = finished(Path("run/journal.sqlite"), observe(worlds_and_indices(8)[0], draw()))
    with sqlite3.connect(path) as db:
        rows = db.execute(f"SELECT checksum FROM {table}").fetchall()
    db.close()
    content = bytearray(path.read_bytes())
    content[content.index(rows[-1][0])] ^= 4
    path.write_bytes(content)
    said = refused("report", "run")
    said.tells("journal-damaged", "run/journal.sqlite")
    assert ("trial 3" in said) == (table in ("seen", "trials"))


def test_report_refuses_a_damaged_journal(refused):
    path = finished(Path("run/journal.sqlite"), observe(worlds_and_indices(8)[0], draw()))
    path.write_bytes(path.read_bytes()[:-700])
    refused("report", "run").tells("journal-damaged", "run/journal.sqlite")


def test_report_refuses_an_incomplete_run_with_the_way_to_go_on(refused):
    with Journal.open_for_writing(Path("run/journal.sqlite"), {"seed": 0, "models": 8}) as journal:
        journal.write_facts(facts(), KNOWN)
    Path("run/config.toml").write_text("seed = 0\nmodels = 8\n")
    said = refused("report", "run")
    assert "(0 of 8 models)" in said
    assert "dpaudit run --config run/config.toml --out run [" in said


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("--attack losss", "unknown-name", "'loss'"),
        ("--attack mean&losss", "unknown-name", "'losss'"),
        ("--attack mean --estimator clopper", "unknown-name", "'clopper-pearson'"),
        ("--primary nobody", "unknown-choice", "primary auto 'nobody'"),
        ("--confidence 0", "out-of-range", "confidence 0.5 1 0.0"),
        ("--confidence 2", "out-of-range", "confidence 0.5 1 2.0"),
        ("--attack loss", "not-released", "loss"),
    ],
)
def test_report_refuses_a_bad_choice_and_counts_no_look(refused, words, code, facts):
    seen = observe(worlds_and_indices(8)[0], draw())
    finished(Path("run/journal.sqlite"), {"mc": seen["mc"]})
    refused("report", "run", *words.split()).tells(code, facts)


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
