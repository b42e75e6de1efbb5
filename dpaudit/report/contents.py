"""What a report on disk gives away itself: whoever passes it on must know."""

from __future__ import annotations

from dpaudit.report.attacker import is_record
from dpaudit.report.one_run import unit
from dpaudit.report.worlds import is_null
from dpaudit.results import Report


def contents(report: Report) -> list[str]:
    """What the file contains, and first whether it shows a training record."""
    evidence = report.evidence
    if evidence is None:
        shown = "It shows no training record: no trial and no canary was at hand when it was made."
    elif report.guesses is not None:
        shown = "It shows no training record: the canaries are gradients."
    elif not is_record(report):
        shown = "It shows no training record: the canary is a gradient."
    elif evidence.canary is None:
        shown = "It shows no training record: the image of the canary was left out."
    elif is_null(report.canary):
        shown = (
            "It shows the training record that was asked about. Pass it on only to those who may "
            "see the data; --no-canary-image leaves it out."
        )
    else:
        made = "" if evidence.original is None else ", and the record that it was made from"
        shown = (
            f"It shows the canary, which may be a training record{made}. Pass it on only to those "
            "who may see the data; --no-canary-image leaves it out."
        )
    units = unit(report)
    scores = "" if evidence is None else f" and, as figures, the scores of the {units} that judge"
    if report.guesses is not None:
        scores = " and, as a figure, the scores of the canaries"
    if report.growth is not None:
        scores = " and, as a figure, how the evidence grew"
    return [
        shown,
        f"Beside it: the numbers of this report{scores}; names of data, plug-ins and software; "
        f"how the canary was made{', and its label' if is_record(report) else ''}.",
        "It is one file: it loads nothing from the network and runs no scripts.",
    ]
