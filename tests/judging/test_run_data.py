"""A journal that somebody edited is refused in one sentence, never judged and never a traceback."""

import json
import shutil
import sqlite3

import numpy as np
import pytest
from playground import KEPT_RUN, observe, worlds_and_indices, write_journal
from refusals import refuses

from dpaudit.errors import JournalError
from dpaudit.estimators.trials import choosing
from dpaudit.journal import Journal
from dpaudit.judging.run_data import read_run

UPDATE = "UPDATE meta SET value = ? WHERE key = ?"
ONE_MORE = """
CREATE TEMP TABLE more AS SELECT * FROM trials WHERE idx = 1 AND world = 0;
UPDATE more SET idx = 50;
INSERT INTO trials SELECT * FROM more;
"""


@pytest.fixture
def path(tmp_path):
    worlds, _ = worlds_and_indices(8)
    seen = observe(worlds, np.random.default_rng(0), 0.0)
    return write_journal(tmp_path / "run" / "journal.sqlite", seen)


@pytest.fixture
def unchecked(tmp_path):
    """A journal of format 1, which has no checksums."""
    return shutil.copy(KEPT_RUN / "journal.sqlite", tmp_path / "journal.sqlite")


def changed(value, **changes):
    return json.dumps({**value, **changes})


@pytest.mark.parametrize("journal", ["path", "unchecked"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda db, s, f: db.execute("UPDATE trials SET idx = 100 WHERE idx = 1 AND world = 0"),
        lambda db, s, f: db.execute("UPDATE trials SET world = 2 WHERE idx = 1 AND world = 0"),
        lambda db, s, f: db.executescript(ONE_MORE),
        lambda db, s, f: db.execute(UPDATE, (changed(s, models=4), "settings")),
        lambda db, s, f: db.execute(UPDATE, (changed(s, models="8"), "settings")),
        lambda db, s, f: db.execute(UPDATE, ("[]", "settings")),
        lambda db, s, f: db.execute(UPDATE, ("{}", "settings")),
        lambda db, s, f: db.execute(UPDATE, ("{}", "facts")),
        lambda db, s, f: db.execute("DELETE FROM meta WHERE key = 'settings'"),
        lambda db, s, f: db.execute("UPDATE seen SET npy = x'00' WHERE idx = 1 AND world = 0"),
    ],
)
def test_an_edited_journal_is_called_damaged(request, journal, edit):
    path = request.getfixturevalue(journal)
    with Journal.read(path) as journal:
        settings, facts = journal.settings, journal.facts
    with sqlite3.connect(path) as db:
        edit(db, settings, facts)
    with pytest.raises(JournalError, match="damaged"), Journal.read(path) as journal:
        read_run(journal)


def test_more_models_than_a_run_can_have_are_refused_at_once(unchecked):
    with Journal.read(unchecked) as journal:
        settings = journal.settings
    with sqlite3.connect(unchecked) as db:
        db.execute(UPDATE, (changed(settings, models=10**26), "settings"))
    refused = refuses("too-large", option="models", value=10**26)
    with refused, Journal.read(unchecked) as journal:
        read_run(journal)


def test_halves_are_balanced_and_of_other_trials(path):
    with Journal.read(path) as journal:
        played = read_run(journal)
    chooses = choosing(played.worlds)
    for half in (chooses, ~chooses):
        assert sorted(played.worlds[half]) == [0, 0, 1, 1]
