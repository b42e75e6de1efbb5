import re

import numpy as np
from playground import finished, observe, worlds_and_indices
from refusals import refuses

from dpaudit import settled
from dpaudit.journal import Journal


def test_a_run_goes_on_only_by_the_versions_that_it_was_begun_with(tmp_path, monkeypatch):
    worlds, _ = worlds_and_indices(4)
    path = finished(tmp_path / "run" / "journal.sqlite", observe(worlds, np.random.default_rng(0)))
    with Journal.read(path) as journal:
        monkeypatch.setattr(settled, "versions", lambda: journal.facts["versions"])
        settled.refuse_other_versions(journal)
        monkeypatch.setattr(settled, "versions", lambda: {"torch": "99.0"})
        with refuses("other-versions") as caught:
            settled.refuse_other_versions(journal)
    assert re.search(r"torch .* there, 99\.0 here", caught.value.value)
