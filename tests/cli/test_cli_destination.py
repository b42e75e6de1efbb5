"""Where a command is to write: refused before its work where it could not."""

import os
from pathlib import Path

import pytest

from dpaudit.cli import BadValue
from dpaudit.cli.output import FIGURES, Destination
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
    monkeypatch.setattr("dpaudit.judging.plan.plan", worked)
    monkeypatch.setattr("dpaudit.judging.compare.compare", worked)
    return request.param


@pytest.mark.parametrize(
    ("words", "code", "facts"),
    [
        ("--json .", "is-folder", "--json"),
        ("--json new/", "is-folder", "new/"),
        ("--json nowhere/c.json", "folder-missing", "nowhere/c.json"),
        ("--figure nowhere/c.png", "folder-missing", "nowhere/c.png"),
        ("--figure c.bmp", "wrong-ending", "c.bmp"),
        ("--figure c", "wrong-ending", "c"),
        ("--figure c.svg/", "is-folder", "c.svg/"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(refused, never, words, code, facts):
    said = refused(*never, *words.split())
    said.tells(code, facts)
    assert f"(see main {never[0]} --help) [" in said


def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(BadValue, match=str(tmp_path)) as caught:
        Destination()(str(tmp_path / "c.json"))
    assert caught.value.code == "file-unwritable"


@pytest.mark.parametrize("option", ["--json", "--figure"])
def test_a_journal_is_never_overwritten(refused, never, option):
    journal = Path("trials.png")
    with Journal.open_for_writing(journal, {"seed": 0}):
        pass
    refused(*never, option, str(journal)).tells("is-journal", "trials.png")


@pytest.mark.parametrize("command", ["run", "report"])
def test_no_report_takes_the_journals_place(refused, command):
    words = {"run": ("run", "--out", "new"), "report": ("report", "new")}[command]
    Path("new").mkdir()
    refused(*words, "--json", "new/journal.sqlite").tells("is-journal", "new/journal.sqlite")


def test_what_can_be_written_is_a_path(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "c.json")
    os.mkfifo(tmp_path / "pipe")
    for name in ("c.json", "link.json", "pipe"):
        assert Destination()(str(tmp_path / name)) == tmp_path / name
    assert Destination(*FIGURES)("c.svg") == Path("c.svg")
