"""A model of any framework, saved as ONNX and run by onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.opened import opened
from dpaudit.types import Array

CHUNK = 512
"""Records at a time, unless the model takes a number of its own."""


def ask(path: Path, x: Array) -> Array:
    """The first output of the model on all records: (records, classes)."""
    with opened(path, "an .onnx file") as file:
        if not file.read(1):
            raise BadInput(f"{path}: it is empty; export the model again")
    session = _session(path)
    inputs = session.get_inputs()
    if len(inputs) != 1 or not inputs[0].shape:
        raise BadInput(f"{path}: it has {len(inputs)} inputs; a model that takes a batch has one")
    # A model of two axes takes rows of numbers, whatever the records look like.
    given = x.reshape(len(x), -1) if len(inputs[0].shape) == 2 else x
    size = inputs[0].shape[0] if isinstance(inputs[0].shape[0], int) else CHUNK
    said = [_run(path, session, inputs[0].name, part) for part in _parts(given, max(1, size))]
    found = np.concatenate(said)[: len(x)]
    if found.ndim != 2 or len(found) != len(x):
        raise BadInput(
            f"{path}: its first output has the shape {found.shape} for {len(x)} records; it should "
            "have a number for each class of each"
        )
    return found.astype(np.float64)


def _parts(x: Array, size: int) -> list[Array]:
    """Batches of exactly so many; the last is filled up with its own last record."""
    short = -len(x) % size
    whole = np.concatenate([x, np.repeat(x[-1:], short, axis=0)]) if short else x
    return [whole[i : i + size] for i in range(0, len(whole), size)]


def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise BadInput(
            f"{path}: .onnx files are run by onnxruntime, which does not import; pip install "
            "'dpaudit[onnx]'"
        ) from error
    try:
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 4
        return onnxruntime.InferenceSession(
            str(path), sess_options=quiet, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise BadInput(
            f"{path}: it is no ONNX model that onnxruntime runs, or it is damaged ({_told(error)})"
        ) from error


def _run(path: Path, session: Any, name: str, part: Array) -> Array:
    try:
        return np.asarray(session.run(None, {name: part})[0])
    except Exception as error:
        raise BadInput(f"{path} failed on a batch of {part.shape}: {_told(error)}") from error


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
