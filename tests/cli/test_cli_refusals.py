"""Bad input gets one clear sentence and exit code 2, and changes nothing on disk."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from playground import KNOWN, facts, finished, observe, worlds_and_indices

from dpaudit.journal import Journal

FAST = ("run", "--mechanism", "leaky", "--canary", "random", "--models", "4")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--canary adv-maxlos", "no 'adv-maxlos' among the canaries; did you mean 'adv-maxloss'?"),
        ("--attack losss", "no 'losss' among the attacks; did you mean 'loss'?"),
        ("--mechanism dpsdg", "no 'dpsdg' among the mechanisms; did you mean 'dpsgd'?"),
        ("--data mnits", "no 'mnits' among the data"),
        ("--data nowhere.npz", "nowhere.npz: there is no such file; check the path"),
        ("--estimator clopper", "did you mean 'clopper-pearson'?"),
        ("--primary max", "primary must be one of auto, all, loss, mean+std"),
        ("--epsilon -1 --delta 2", "2 problems: (1) epsilon must be a number above 0, not -1.0;"),
        ("--epsilon 8 --noise-multiplier 1", "give either epsilon or noise_multiplier"),
        ("--epsilon nan", "epsilon must be a number above 0, not nan"),
        ("--models 0", "models must be a whole number of at least 4, not 0"),
        ("--models -3 --samples 0", "2 problems"),
        ("--batch 0", "batch must be a whole number of at least 1, not 0"),
        ("--batch some", "'some' is neither a number of records nor full"),
        ("--dropout 1", "dropout must be at least 0 and below 1, not 1.0"),
        ("--confidence 95", "confidence must be above 0.5 and below 1, not 95.0"),
        ("--workers 2 --cluster tcp://x:1", "--workers are processes here"),
        ("--outputs probabilities", "--outputs has no effect on dpsgd"),
        ("--mechanism m:f --epochs 3 --lr 1", "--epochs, --lr have no effect on m:f"),
        ("--mechanism m:f", "state what m:f claims: --claim EPS,DELTA"),
        ("--mechanism m:f --claim 8,1e-5", "there is no module m;"),
        ("--mechanism own-function", "name your own function instead: --mechanism MODULE:FUNCTION"),
        ("--defence quantise:0.01", "did you mean 'quantize'?"),
        ("--defence quantize:2", "the unit of quantize must be above 0 and at most 1, not 2.0"),
        ("--size 0", "size must be a whole number of at least 1, not 0"),
        ("--size 5000", "size must be at most 1000"),
        ("--label age", "takes no --label; leave it out"),
        ("--download", "takes no --download; leave it out"),
        ("--claim 8", "'8' is not EPS,DELTA, such as 8,1e-5"),
        ("--claim 8,x", "'8,x' is not EPS,DELTA"),
        ("--claim 1,2,3", "'1,2,3' is not EPS,DELTA"),
        ("--claim -1,2", "2 problems: (1) the claimed epsilon must be a number above 0"),
        ("--config nowhere.toml", "nowhere.toml is not a usable configuration"),
        ("--workers 0", "'--workers'"),
        ("--workers 513", "'--workers'"),
        (f"--models {10**26}", "models must be at most 1,000,000, not 100,000,000,"),
        ("--noise-multiplier 1e308", "noise_multiplier must be at most 1,000,000, not 1e+308"),
    ],
)
def test_run_refuses_a_bad_setting(refused, words, said):
    assert said in refused("run", *words.split())


def test_run_refuses_an_unknown_network(refused):
    said = refused("run", "--network", "logrge", "--noise-multiplier", "2", "--canary", "random")
    assert "no 'logrge' among the networks; did you mean 'logreg'?" in said


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("epsilon = ", "is not a usable configuration"),
        ("epsilonn = 8", "there is no setting 'epsilonn'"),
        ("epsilon = 'much'\nmodels = 1.5", "2 problems: (1) epsilon cannot be 'much'; (2) models"),
        ("attacks = []", "name at least one attack"),
        ("epsilon = -1", "epsilon must be a number above 0, not -1.0"),
        ("\x00", "is not a usable configuration"),
        (f"models = {10**26}", "models must be at most 1,000,000, not 100,000,000,"),
        (f"models = 0x{'f' * 5000}", "models must be at most 1,000,000, not a number of about"),
        (f"attacks = {'[' * 10**5}", "its values are nested too deeply"),
    ],
)
def test_run_refuses_a_bad_configuration_file(refused, toml, said):
    Path("bad.toml").write_text(toml)
    assert said in refused("run", "--config", "bad.toml")


def test_run_refuses_a_configuration_that_is_a_folder(refused):
    Path("folder").mkdir()
    assert "folder is not a usable configuration" in refused("run", "--config", "folder")


@pytest.mark.parametrize("out", ["file", "file/below", "/proc/nowhere"])
def test_run_refuses_a_folder_that_cannot_be(refused, npz, out):
    Path("file").write_text("mine")
    said = refused(*FAST, "--data", npz, "--out", out)
    assert "cannot be made" in said
    assert out in said


def test_run_refuses_a_cluster_that_is_not_there(refused, npz, monkeypatch):
    monkeypatch.setattr("dpaudit.cluster.PATIENCE", 1)
    said = refused(*FAST, "--data", npz, "--cluster", "tcp://127.0.0.1:1", "--out", "run")
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in said


def test_run_refuses_an_attack_that_fits_nothing_at_the_first_model(cli, npz):
    words = ("--data", npz, "--workers", 1, "--attack", "released", "--out", "run")
    done = cli(*FAST, "--models", 400, *words)
    assert done.exit_code == 2
    assert "attack released needs values, which is not released here" in done.stderr
    with Journal.read(Path("run/journal.sqlite")) as journal:
        assert len(journal.trials()[0]) == 0


def test_run_refuses_a_folder_with_a_strangers_journal(refused, npz):
    Path("mine").mkdir()
    Path("mine/journal.sqlite").write_text("Dear diary")
    assert "is not a dpaudit journal" in refused(*FAST, "--data", npz, "--out", "mine")


def test_run_refuses_a_folder_with_files_but_no_run(refused, npz):
    Path("mine").mkdir()
    Path("mine/config.toml").write_text("precious = true\n")
    said = refused(*FAST, "--data", npz, "--out", "mine")
    assert "the folder mine has files (such as config.toml) but no run; choose another" in said


@pytest.mark.parametrize("words", [["report"], ["compare", "--defence", "mean-only"]])
@pytest.mark.parametrize("what", ["nowhere", "empty", "a-file", "others", "a-file/below"])
def test_what_is_no_run_is_refused(refused, words, what):
    Path("empty").mkdir()
    Path("others").mkdir()
    Path("others/notes.txt").write_text("mine")
    Path("a-file").touch()
    assert f"there is no run at {what}" in refused(words[0], what, *words[1:])


@pytest.mark.parametrize("words", [["report"], ["compare", "--defence", "mean-only"]])
def test_a_strangers_database_is_refused_and_left_alone(refused, words):
    Path("mine").mkdir()
    with sqlite3.connect("mine/journal.sqlite") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()
    assert "is not a dpaudit journal" in refused(words[0], "mine", *words[1:])


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
    assert "run/journal.sqlite is damaged or cut short" in said
    assert ("(trial 3 of world 1)" in said) == (table in ("seen", "trials"))


def test_report_refuses_a_damaged_journal(refused):
    path = finished(Path("run/journal.sqlite"), observe(worlds_and_indices(8)[0], draw()))
    path.write_bytes(path.read_bytes()[:-700])
    assert "damaged or cut short" in refused("report", "run")


def test_report_refuses_an_incomplete_run_with_the_way_to_go_on(refused):
    with Journal.play(Path("run/journal.sqlite"), {"seed": 0, "models": 8}) as journal:
        journal.settle(facts(), KNOWN)
    Path("run/config.toml").write_text("seed = 0\nmodels = 8\n")
    said = refused("report", "run")
    assert "not complete (0 of 8 models)" in said
    assert said.endswith("go on with dpaudit run --config run/config.toml --out run")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--attack losss", "did you mean 'loss'?"),
        ("--attack mean&losss", "unknown statistic 'losss'"),
        ("--attack mean --estimator clopper", "did you mean 'clopper-pearson'?"),
        ("--primary nobody", "primary must be one of auto"),
        ("--confidence 0", "confidence must be above 0.5 and below 1, not 0.0"),
        ("--confidence 2", "confidence must be above 0.5 and below 1, not 2.0"),
        ("--attack loss", "attack loss needs logits, which is not released here"),
    ],
)
def test_report_refuses_a_bad_choice_and_counts_no_look(refused, words, said):
    seen = observe(worlds_and_indices(8)[0], draw())
    finished(Path("run/journal.sqlite"), {"mc": seen["mc"]})
    assert said in refused("report", "run", *words.split())


def test_explain_refuses_what_it_does_not_know(refused):
    assert "no 'losss' among the plug-ins; did you mean 'loss'?" in refused("explain", "losss")


def test_an_unknown_command_is_refused(cli):
    result = cli("audit")
    assert result.exit_code == 2
    assert "No such command 'audit'" in result.stderr


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
