"""A run's folder, which is judged at will: nothing is trained here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit import compare, journal_file, one_run, report, sequential
from dpaudit.choice import ALL, Choice
from dpaudit.compare import Comparison
from dpaudit.journal import Journal
from dpaudit.judge import judge
from dpaudit.protocols import Defence
from dpaudit.report import comparison
from dpaudit.types import Report


@dataclass(frozen=True)
class Run:
    """A folder with a journal, complete or not."""

    path: Path

    @property
    def journal(self) -> Path:
        """The file that holds every trial."""
        return self.path / journal_file.NAME

    @property
    def mechanism(self) -> str:
        """What was audited, as it was named."""
        with Journal.read(self.journal) as journal:
            return str(journal.settings.get("mechanism", ""))

    def judge(self, **choice: Any) -> Report:
        """The verdict on the journal; what is not chosen is as the run was configured."""
        with Journal.read(self.journal) as journal:
            if journal.settings.get("until_decided"):
                return sequential.judge(journal, _choice(journal, choice))
            if journal.settings.get("canaries", 1) > 1:
                return one_run.judge(journal, _choice(journal, choice))
            return judge(journal, _choice(journal, choice))

    def report(self, **choice: Any) -> str:
        """The verdict as text for a terminal."""
        return report.render(self.judge(**choice))

    def compare(self, defences: Sequence[str | Defence], **choice: Any) -> str:
        """Leak and utility without a defence and with each of some, as text for a terminal."""
        return comparison.render(self.compared(defences, **choice))

    def compared(
        self,
        defences: Sequence[str | Defence],
        watch: Callable[[int, int], None] = lambda done, total: None,
        **choice: Any,
    ) -> Comparison:
        """The same as numbers; `watch` is told how many defences are done, and of how many."""
        # The low bits of what is released are no matter of defences.
        given = {"raw_scores": False, **choice}
        with Journal.read(self.journal) as journal:
            return compare.compare(journal, defences, _choice(journal, given), watch)


def _choice(journal: Journal, choice: Mapping[str, Any]) -> Choice:
    given = {name: value for name, value in choice.items() if value not in (None, ())}
    chosen = {**vars(Choice.configured(journal.settings)), **given}
    if "primary" not in given and chosen["primary"] not in (ALL, *chosen["attacks"]):
        chosen["primary"] = "auto"
    return Choice(**chosen)
