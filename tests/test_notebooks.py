"""Notebooks are kept as they were executed, and still run: here at a small scale."""

import os
import re
import shlex
import sys
from pathlib import Path

import click
import nbformat
import pytest
from click.core import ParameterSource
from nbclient import NotebookClient

from dpaudit.cli import main

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
PROMISES = {
    "audit_your_checkpoint": "VIOLATION - the leak is at least epsilon",
    "bayesian_networks": "on shuffled labels, the same search shows",
    "calibration": "The evidence kept its word",
    "compare_defences": "behind mean-std + quantize:0.01: at least",
    "first_audit": "VIOLATION - the leak is at least epsilon",
    "targets_ensembles": "at least",
    "targets_p3gm": "certified",
    "targets_local_and_laplace": "VIOLATION - the leak is at least epsilon",
}
"""What the last cell of each notebook must say, at whatever scale."""

FOLDER = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def said(cell):
    return "".join(output.get("text", "") for output in cell.outputs)


def kinds(cell):
    return {output.output_type for output in cell.outputs}


@FOLDER
def test_notebook_is_kept_as_it_was_executed(path):
    cells = code(nbformat.read(path, 4))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not any(output.output_type == "error" for cell in cells for output in cell.outputs)
    text = path.read_text(encoding="utf-8")
    assert not any(place in text for place in ("/home/", "/tmp/", "/root/", "/work/"))
    assert PROMISES[path.stem] in said(cells[-1])


def commands(path):
    """The words after `dpaudit` of every command in a notebook, up to one that Python fills in."""
    source = "\n".join(cell.source for cell in code(nbformat.read(path, 4)))
    for line in re.findall(r"^ *!dpaudit (.*)$", source.replace("\\\n", " "), re.MULTILINE):
        numbered = re.sub(r"(?<=--)(\w+) {\w+}", r"\1 100", line.partition(" > ")[0])
        filled = numbered.replace(",{DELTA}", ",1e-5")
        yield shlex.split(filled.partition(" {")[0])


def test_every_command_of_a_notebook_is_one_that_dpaudit_takes():
    every = [words for path in NOTEBOOKS for words in commands(path)]
    assert len(every) > 20
    for words in every:
        command = main
        while isinstance(command, click.Group):
            name, *words = words
            command = command.get_command(click.Context(command), name)
        context = command.make_context(name, list(words))
        given = {
            flag
            for option in command.params
            for flag in option.opts
            if context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        }
        assert {word for word in words if word.startswith("--")} <= given


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, marks=() if p.stem == "audit_your_checkpoint" else pytest.mark.verify)
        for p in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("DPAUDIT_SCALE", "0.05")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    kept, fresh = nbformat.read(path, 4), nbformat.read(path, 4)
    NotebookClient(fresh, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    for before, now in zip(code(kept), code(fresh), strict=True):
        assert kinds(before) == kinds(now)
    assert PROMISES[path.stem] in said(code(fresh)[-1])
