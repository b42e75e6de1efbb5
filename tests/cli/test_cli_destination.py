"""Where a command is to write: refused before its work where it could not."""

import os
from pathlib import Path

import click
import pytest

from dpaudit.cli.destination import FIGURES, Destination
from dpaudit.journal import Journal

COMMANDS = [
    ("calibrate",),
    ("plan", "--claim", "1,1e-5"),
    ("compare", "run", "--defence", "quantize:0.1"),
]


@pytest.fixture(params=COMMANDS, ids=lambda words: words[0])
def never(request, monkeypatch):
    """A command whose work would be seen."""

    def worked(*_args, **_kwargs):
        raise AssertionError("it began to work")

    monkeypatch.setattr("dpaudit.calibration.calibrate.calibrate", worked)
    monkeypatch.setattr("dpaudit.plan.plan", worked)
    monkeypatch.setattr("dpaudit.compare.compare", worked)
    return request.param


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--json .", "cannot write .: it is a folder"),
        ("--json new/", "cannot write new/: it is a folder"),
        ("--json nowhere/c.json", "cannot write nowhere/c.json: there is no folder nowhere"),
        ("--figure nowhere/c.png", "cannot write nowhere/c.png: there is no folder nowhere"),
        ("--figure c.bmp", "cannot write c.bmp: it must end in .png or .svg"),
        ("--figure c", "cannot write c: it must end in .png or .svg"),
        ("--figure c.svg/", "cannot write c.svg/: it is a folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(refused, never, words, said):
    assert f"{said} (see " in refused(*never, *words.split())


def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(click.BadParameter, match=f"{tmp_path} is not writable"):
        Destination()(str(tmp_path / "c.json"))


@pytest.mark.parametrize("option", ["--json", "--figure"])
def test_a_journal_is_never_overwritten(refused, never, option):
    journal = Path("trials.png")
    with Journal.play(journal, {"seed": 0}):
        pass
    said = refused(*never, option, str(journal))
    assert "it is a journal, and the models of its run would be lost" in said


@pytest.mark.parametrize("command", ["run", "report"])
def test_no_report_takes_the_journals_place(refused, command):
    words = {"run": ("run", "--out", "new"), "report": ("report", "new")}[command]
    Path("new").mkdir()
    said = refused(*words, "--json", "new/journal.sqlite")
    assert "cannot write new/journal.sqlite: it is a journal" in said


def test_what_can_be_written_is_a_path(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "c.json")
    os.mkfifo(tmp_path / "pipe")
    for name in ("c.json", "link.json", "pipe"):
        assert Destination()(str(tmp_path / name)) == tmp_path / name
    assert Destination(*FIGURES)("c.svg") == Path("c.svg")
