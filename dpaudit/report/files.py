"""The report on disk: the page, and the figures as files of their own."""

from __future__ import annotations

import os
from pathlib import Path

from dpaudit.errors import write_error
from dpaudit.files import write_whole
from dpaudit.report import drawing, figures, html
from dpaudit.results import Report


def dump_html(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page alone, whole or not at all."""
    write_whole(path, html.page(report).encode())


def write_folder(report: Report, folder: str | os.PathLike[str]) -> None:
    """Write report.html and figures/*.png into a run's folder.

    A figure of an earlier report that this one has not is removed, and first of all: it may be
    the canary's image, which was then asked to be left out.
    """
    drawn = list(figures.pictures(report))
    page = html.document(report, drawn)
    images = Path(folder) / "figures"
    _prepare(images, stale=set(figures.NAMES) - {picture.name for picture in drawn})
    write_whole(Path(folder) / "report.html", page.encode())
    for picture in drawn:
        write_whole(images / f"{picture.name}.png", drawing.png(picture.figure))


def _prepare(images: Path, stale: set[str]) -> None:
    try:
        images.mkdir(parents=True, exist_ok=True)
        for name in stale:
            (images / f"{name}.png").unlink(missing_ok=True)
    except OSError as error:
        raise write_error(images, error) from error
