import re

import numpy as np
from playground import KEPT_RUN, facts, observe, worlds_and_indices, write_journal
from refusals import refuses

from dpaudit.journal import Journal
from dpaudit.judging.facts import Pairing, RunFacts, refuse_other_versions


def test_a_run_goes_on_only_by_the_versions_that_it_was_begun_with(tmp_path, monkeypatch):
    worlds, _ = worlds_and_indices(4)
    path = write_journal(
        tmp_path / "run" / "journal.sqlite", observe(worlds, np.random.default_rng(0))
    )
    with Journal.read(path) as journal:
        monkeypatch.setattr("dpaudit.judging.facts.versions", lambda: journal.facts["versions"])
        refuse_other_versions(journal)
        monkeypatch.setattr("dpaudit.judging.facts.versions", lambda: {"torch": "99.0"})
        with refuses("other-versions") as caught:
            refuse_other_versions(journal)
    assert re.search(r"torch .* there, 99\.0 here", caught.value.value)


def test_what_an_older_run_settled_is_read_and_written_as_it_was():
    with Journal.read(KEPT_RUN / "journal.sqlite") as journal:
        told = journal.facts
    read = RunFacts.from_dict(told)
    assert read.pairing == Pairing(removed=5, replaces=True)
    assert read.to_dict() == {**told, "attacker": "", "training": {}, "untested": "", "utility": {}}


def test_a_canary_without_a_label_is_told_without_one():
    told = {**facts(), "canary": {"name": "gradient", "made": "by hand"}}
    assert RunFacts.from_dict(told).to_dict()["canary"] == told["canary"]
