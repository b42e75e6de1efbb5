"""A page as its reader has it: elements, text and figures."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from typing import Any

BREAK = "\n"
VOID = {"meta", "img", "br", "link", "input", "hr"}
UNSEEN = {"style", "title"}
BLOCKS = {"p", "li", "tr", "div", "section", "header", "table", "ul", "ol", "dl", "dt", "figure"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}


class Page(HTMLParser):
    """Reads a page, and refuses one whose elements do not close in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.parts: list[str] = []
        self.open: list[str] = []
        self.comments: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._broken_at(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._broken_at(tag)

    def _broken_at(self, tag: str) -> None:
        if tag in BLOCKS | HEADINGS:
            self.parts.append(BREAK)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in HEADINGS:
            self.headings.append((self.open[-1], data))
        if not UNSEEN & set(self.open):
            self.parts.append(data.replace(BREAK, " "))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())

    @property
    def lines(self) -> list[str]:
        """The text, a line for every heading, paragraph, item and row of a table."""
        found = (" ".join(line.split()) for line in " ".join(self.parts).split(BREAK))
        return [line for line in found if line]

    def all(self, tag: str) -> list[dict[str, Any]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def images(self) -> list[bytes]:
        prefix = "data:image/svg+xml;base64,"
        assert all(image["src"].startswith(prefix) for image in self.all("img"))
        return [base64.b64decode(image["src"][len(prefix) :]) for image in self.all("img")]
