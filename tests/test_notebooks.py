"""Notebooks are kept as they were executed, and still run: here at a small scale."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
PROMISES = {
    "audit_your_checkpoint": "VIOLATION - the leak is at least epsilon",
    "bayesian_networks": "on shuffled labels, the same search shows",
    "calibration": "The evidence kept its word",
    "compare_defences": "behind mean-std + quantize:0.01: at least",
    "first_audit": "VIOLATION - the leak is at least epsilon",
    "targets_ensembles": "NO GUARANTEE CLAIMED: with 95 % confidence the leak is at least epsilon",
    "targets_p3gm": "NO VIOLATION",
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


LONG = ("bayesian", "calibration", "compare", "targets")
"""Beginnings of notebooks that `make verify` runs; the two for newcomers always run."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, marks=pytest.mark.verify if p.stem.startswith(LONG) else ())
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
