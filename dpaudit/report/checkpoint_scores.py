"""What was seen and guessed of each record, as a table for other programs."""

from __future__ import annotations

import csv
import io

from dpaudit.checkpoint.audit import CheckpointReport

GUESSES = {1: "in", -1: "out", 0: ""}


def table(found: CheckpointReport) -> str:
    """A row a record: its number, label and score, where the coin fell, and what was guessed."""
    statistics = found.outputs.statistics
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["canary", "label", "coin", "guess", "score", "log_odds", "loss", *statistics])
    for i, score in enumerate(found.scores):
        rows.writerow(
            [
                i,
                int(found.candidates.records.y[i]),
                "in" if found.candidates.put_in[i] else "out",
                GUESSES[int(found.calls[i])],
                repr(float(score)),
                f"{found.outputs.log_odds[i]:.9g}",
                f"{-found.outputs.log_p[i] + 0.0:.9g}",
                *(f"{values[i]:.9g}" for values in statistics.values()),
            ]
        )
    return text.getvalue()
