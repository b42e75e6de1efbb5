"""Renderers of all results by class: what a notebook shows of a result is its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from dpaudit.calibration.results import Calibration
from dpaudit.checkpoint.audit import CheckpointReport
from dpaudit.judging.compare import Comparison
from dpaudit.judging.estimates import Estimates
from dpaudit.judging.ladder import Ladder
from dpaudit.judging.plan import Plan
from dpaudit.report import calibration, checkpoint, comparison, estimates, ladder, plan, run
from dpaudit.report.document import Document
from dpaudit.report.to_html import write
from dpaudit.results import Report

RENDERERS: Mapping[type, Callable[[Any], Document]] = {
    Report: lambda report: run.document(report, page=True),
    CheckpointReport: checkpoint.document,
    Comparison: comparison.document,
    Ladder: lambda found: ladder.document(found, page=True),
    Plan: plan.document,
    Estimates: estimates.document,
    Calibration: calibration.document,
}


def frame(result: object) -> str:
    """Return the page of a result in a frame, so that its style stays its own."""
    page = write(RENDERERS[type(result)](result))
    style = "width: 100%; height: 40rem; border: 0"
    return f'<iframe srcdoc="{escape(page)}" style="{style}"></iframe>'
