"""The folder of a run, which can be judged at any time; nothing is trained here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit import report
from dpaudit.config import differences, read_toml
from dpaudit.config.settings import ALL
from dpaudit.errors import BadInput, OtherConfiguration
from dpaudit.journal import Journal, file
from dpaudit.judging import compare, judge, one_run, until_decided
from dpaudit.judging.choice import Choice
from dpaudit.judging.compare import Comparison
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
        """The audited mechanism, as it was named."""
        with Journal.read(self.journal) as journal:
            return str(journal.settings.get("mechanism", ""))

    def judge(self, **choice: Any) -> Report:
        """Return the report of the run; options that are not given are as configured."""
        with self._opened(choice) as (journal, chosen):
            kind: Any = judge
            if journal.settings.get("until_decided"):
                kind = until_decided
            elif journal.settings.get("canaries", 1) > 1:
                kind = one_run
            made: Report = kind.judge(journal, chosen)
            return made

    def report(self, **choice: Any) -> str:
        """Return the report as text for a terminal."""
        return report.render(self.judge(**choice))

    def compare(self, defences: Sequence[str | Defence], **choice: Any) -> str:
        """Return leak and utility behind each defence as text for a terminal."""
        return to_terminal.write(comparison.document(self.compared(defences, **choice)))

    def compared(
        self,
        defences: Sequence[str | Defence],
        watch: Callable[[int, int], None] = lambda done, total: None,
        **choice: Any,
    ) -> Comparison:
        """Return leak and utility behind each defence; `watch` shows how many are done."""
        # Defences do not protect the low bits of what is released.
        with self._opened({"raw_scores": False, **choice}) as (journal, chosen):
            return compare.compare(journal, defences, chosen, watch)

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
            text = f"cannot read {self.path}: {error.strerror or error}"
            raise BadInput(text, "file-unreadable", option="out", value=str(self.path)) from error
        if others:
            text = (
                f"the folder {self.path} has files (such as {others[0]}) but no run; "
                "choose another --out, or an empty folder"
            )
            raise BadInput(text, "folder-not-empty", option="out", value=others[0])

    @contextmanager
    def _opened(self, options: dict[str, Any]) -> Iterator[tuple[Journal, Choice]]:
        """Open the journal, with the configured choice changed by options.

        Refuse a configuration file that is not that of the journal's trials.
        """
        config = self.path / CONFIG
        with Journal.read(self.journal) as journal:
            settings = journal.settings
            if os.path.lexists(config) and (
                differing := differences(there=settings, here=read_toml(config))
            ):
                raise OtherConfiguration(
                    f"{self.path} holds a run of another configuration than its {CONFIG} "
                    f"({'; '.join(differing)}); put {CONFIG} back, or delete it",
                    "other-configuration",
                    value=differing,
                )
            given = {name: value for name, value in options.items() if value not in (None, ())}
            chosen = {**Choice.of_settings(settings).flat(), **given}
            if "primary" not in given and chosen["primary"] not in (ALL, *chosen["attacks"]):
                chosen["primary"] = "auto"
            yield journal, Choice(**chosen)
