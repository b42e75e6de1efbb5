"""Writer for a browser: a document as one page, without scripts, that loads nothing."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from dpaudit.report import drawing
from dpaudit.report.document import Document, Figure
from dpaudit.report.formats import clean


def write(document: Document) -> str:
    """Write a document as HTML; the same document, the same bytes.

    Jinja escapes every text. Names come from files and plug-ins, so the page's policy also
    allows nothing but its own style sheet and the figures embedded in it.
    """
    from jinja2 import Environment
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return clean(value) if type(value) is str else value

    def source(figure: Figure) -> Markup:
        data = base64.b64encode(drawing.svg(figure.drawing)).decode()
        return Markup(f"data:image/svg+xml;base64,{data}")

    folder = files("dpaudit.report")
    css = folder.joinpath("page.css").read_text(encoding="utf-8")
    template = folder.joinpath("page.html.jinja").read_text(encoding="utf-8")
    page = Environment(
        autoescape=True, finalize=finalize, trim_blocks=True, lstrip_blocks=True
    ).from_string(template)
    return page.render(
        document=document,
        blocks=[*document.summary, *document.details],
        css=Markup(css),
        digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        kind=lambda block: type(block).__name__,
        source=source,
    )
