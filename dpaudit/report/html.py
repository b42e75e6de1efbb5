"""The report as one page: whole in itself, without scripts, and loading nothing."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable

from dpaudit.report import drawing, formats, promises, setting, words
from dpaudit.report.attacker import game
from dpaudit.report.contents import contents
from dpaudit.report.figures import Picture, pictures
from dpaudit.report.legend import legend
from dpaudit.report.stylesheet import CSS
from dpaudit.report.table import cells, head, in_one_line, rows
from dpaudit.results import Report


def page(report: Report) -> str:
    """The report as an HTML document; the same report, the same bytes."""
    return document(report, list(pictures(report)))


def document(report: Report, drawn: Iterable[Picture]) -> str:
    """The page around figures that are drawn already."""
    digits = words.digits_needed(report)
    body = [
        *_banner(report, digits),
        *_section("The claim", _lines(promises.lines(report.claim, digits))),
        *_section("Figures", "".join(map(_figure, drawn))),
        *_section("Attacks", _attacks(report, digits)),
        *_section("How it was played", _played(report)),
        *_section("Warnings", _bullets(report.warnings)),
        *_section("What to do next", _bullets(report.next_steps)),
        *_section("What this file contains", _lines(contents(report))),
    ]
    return _document(f"dpaudit: {words.VERDICTS[report.verdict]}", "\n".join(body))


def _document(title: str, body: str) -> str:
    # Nothing but this style sheet and embedded figures may act, whatever a name smuggles in.
    known = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{known}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{text(title)}</title>
<style>{CSS}</style>
</head>
<body>
{body}
</body>
</html>
"""


def text(given: str) -> str:
    """Text that no browser takes for anything else; names come from files and plug-ins."""
    glued = formats.printable(given).replace(" %", "\N{NO-BREAK SPACE}%")
    return html.escape(glued, quote=True)


def _banner(report: Report, digits: int) -> list[str]:
    """The first screen: the question, the answer, its three numbers, and what was done."""
    bound = report.bounds[report.primary]
    sure = formats.percent(bound.confidence)
    reach = report.reach
    ceiling = "no limit" if reach == float("inf") else formats.nearest(reach, digits)
    numbers = (
        ("claimed leak, at most", promises.promised(report.claim, digits)),
        (f"certified leak, at least ({sure} sure)", formats.at_least(bound.epsilon, digits)),
        ("ceiling: most that this audit could certify", ceiling),
    )
    sentence = words.verdict_sentence(report, digits)
    return [
        "<header>",
        f"<h1>{text(promises.question(report.claim, digits))}</h1>",
        f'<div class="verdict {report.verdict}">',
        f"<p><strong>{words.VERDICTS[report.verdict]}</strong></p>",
        f'<p class="sentence">{text(sentence)}</p>',
        *(f"<p>{text(line)}</p>" for line in (words.looks_line(report),) if line),
        "</div>",
        '<dl class="numbers">',
        *(f"<div><dt>{text(name)}</dt><dd>{text(x)}</dd></div>" for name, x in numbers),
        "</dl>",
        f"<p>{text(game(report))}</p>",
        "</header>",
    ]


def _section(title: str, content: str) -> list[str]:
    return [f"<section>\n<h2>{title}</h2>", content, "</section>"] if content else []


def _figure(picture: Picture) -> str:
    data = base64.b64encode(drawing.svg(picture.figure)).decode()
    return (
        f"<figure>\n<h3>{text(picture.title)}</h3>\n"
        f'<img alt="{text(picture.alt)}" src="data:image/svg+xml;base64,{data}">\n'
        f"<figcaption>{text(picture.caption)}</figcaption>\n</figure>\n"
    )


def _attacks(report: Report, digits: int) -> str:
    titles = "".join(f'<th scope="col">{text(in_one_line(t))}</th>' for t in head(report))
    lines = [
        f'<table class="of{len(head(report))}">',
        "<caption>Epsilon by attack; &gt; marks the row that decides.</caption>",
        f'<thead><tr><th scope="col">attack</th>{titles}</tr></thead>',
        "<tbody>",
    ]
    for row in rows(report):
        mark, kind = ("&gt; ", ' class="deciding"') if row.deciding else ("", "")
        numbers = "".join(f"<td>{text(cell)}</td>" for cell in cells(row, report, digits))
        name = f'<th scope="row">{mark}{text(row.attack)}</th>'
        lines.append(f"<tr{kind}>{name}{numbers}</tr>")
    lines.append("</tbody></table>")
    lines += [_lines([*words.deciding_lines(report), words.standing_out(report)])]
    lines += ["<h3>What the columns say</h3>", '<dl class="legend">']
    lines += [f"<dt>{text(name)}</dt><dd>{text(said)}</dd>" for name, said in legend(report)]
    return "\n".join([*lines, "</dl>"])


def _played(report: Report) -> str:
    labelled = [*setting.played(report), *setting.machinery(report)]
    labelled.append(("Looks", [f"{report.looks:,}"]))
    facts = (f"<dt>{text(label)}</dt><dd>{_lines(said)}</dd>" for label, said in labelled)
    return "\n".join(['<dl class="facts">', *facts, "</dl>"])


def _lines(said: Iterable[str]) -> str:
    return "\n".join(f"<p>{text(line)}</p>" for line in said if line)


def _bullets(said: Iterable[str]) -> str:
    items = "\n".join(f"<li>{text(line)}</li>" for line in said)
    return f"<ul>\n{items}\n</ul>" if items else ""
