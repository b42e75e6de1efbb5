"""A run's folder, which is judged at will: nothing is trained here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit import report
from dpaudit.config import differences, read_toml
from dpaudit.config.settings import ALL
from dpaudit.errors import BadInput, OtherConfiguration
from dpaudit.journal import Journal, file
from dpaudit.judging import compare, one_run, until_decided
from dpaudit.judging.choice import Choice
from dpaudit.judging.compare import Comparison
from dpaudit.judging.judge import judge
from dpaudit.protocols import Defence
from dpaudit.report import comparison, to_terminal
from dpaudit.results import Report

CONFIG = "config.toml"
"""The file in a run's folder that plays the same run again."""


@dataclass(frozen=True, init=False)
class Run:
    """A folder with a journal, complete or not."""

    path: Path

    def __init__(self, path: str | os.PathLike[str]) -> None:
        object.__setattr__(self, "path", Path(path))

    @property
    def journal(self) -> Path:
        """The file that holds every trial."""
        return self.path / file.NAME

    @property
    def mechanism(self) -> str:
        """What was audited, as it was named."""
        with Journal.read(self.journal) as journal:
            return str(journal.settings.get("mechanism", ""))

    def judge(self, **choice: Any) -> Report:
        """The verdict on the journal; what is not chosen is as the run was configured."""
        with self._opened() as journal:
            if journal.settings.get("until_decided"):
                return until_decided.judge(journal, _chosen(journal, choice))
            if journal.settings.get("canaries", 1) > 1:
                return one_run.judge(journal, _chosen(journal, choice))
            return judge(journal, _chosen(journal, choice))

    def report(self, **choice: Any) -> str:
        """The verdict as text for a terminal."""
        return report.render(self.judge(**choice))

    def compare(self, defences: Sequence[str | Defence], **choice: Any) -> str:
        """Leak and utility without a defence and with each of some, as text for a terminal."""
        return to_terminal.write(comparison.document(self.compared(defences, **choice)))

    def compared(
        self,
        defences: Sequence[str | Defence],
        watch: Callable[[int, int], None] = lambda done, total: None,
        **choice: Any,
    ) -> Comparison:
        """The same as numbers; `watch` is told how many defences are done, and of how many."""
        # The low bits of what is released are no matter of defences.
        given = {"raw_scores": False, **choice}
        with self._opened() as journal:
            return compare.compare(journal, defences, _chosen(journal, given), watch)

    def refuse_foreign(self, config: str = "") -> None:
        """Refuse a folder with files but no run, in which a run would overwrite or mix files.

        Hidden files may be there, and what an interrupted start leaves: an empty journal, or the
        `config` that the run is about to write.
        """
        if not file.is_blank(self.journal) or not self.path.is_dir():
            return
        try:
            names = sorted(entry.name for entry in self.path.iterdir())
            others = [name for name in names if not name.startswith((".", file.NAME))]
            if others == [CONFIG] and (self.path / CONFIG).read_bytes() == config.encode():
                return
        except OSError as error:
            raise BadInput(
                f"cannot read {self.path}: {error.strerror or error}",
                "file-unreadable",
                option="out",
                value=str(self.path),
            ) from error
        if others:
            raise BadInput(
                f"the folder {self.path} has files (such as {others[0]}) but no run; "
                "choose another --out, or an empty folder",
                "folder-not-empty",
                option="out",
                value=others[0],
            )

    @contextmanager
    def _opened(self) -> Iterator[Journal]:
        """The journal, if the configuration beside it is that of its trials, or is not there."""
        config = self.path / CONFIG
        with Journal.read(self.journal) as journal:
            if os.path.lexists(config) and (
                differing := differences(there=journal.settings, here=read_toml(config))
            ):
                raise OtherConfiguration(
                    f"{self.path} holds a run of another configuration than its {CONFIG} "
                    f"({'; '.join(differing)}); put {CONFIG} back, or delete it",
                    "other-configuration",
                    value=differing,
                )
            yield journal


def _chosen(journal: Journal, choice: Mapping[str, Any]) -> Choice:
    """Return what is chosen; all else as the run was configured."""
    given = {name: value for name, value in choice.items() if value not in (None, ())}
    chosen = {**Choice.configured(journal.settings).flat(), **given}
    if "primary" not in given and chosen["primary"] not in (ALL, *chosen["attacks"]):
        chosen["primary"] = "auto"
    return Choice(**chosen)
