"""A model of any framework, saved as ONNX and run by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.files import opened
from dpaudit.types import Array

CHUNK = 512
"""Records at a time, unless the model takes a number of its own."""

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
"""Of what a model takes and gives back, by onnxruntime's names."""


def ask(path: Path, x: Array) -> Array:
    """What the model says of all records: (records, classes)."""
    with opened(path, "an .onnx file") as file:
        if not file.read(1):
            raise BadInput(
                f"{path}: it is empty; export the model again", "file-empty", value=str(path)
            )
    session = _session(path)
    inputs = session.get_inputs()
    if len(inputs) != 1 or not inputs[0].shape:
        raise BadInput(
            f"{path}: it has {len(inputs)} inputs; a model that takes a batch has one",
            "wrong-inputs",
            value=len(inputs),
        )
    given = laid_out(x, inputs[0].shape).astype(TYPES.get(inputs[0].type, np.float32))
    size = inputs[0].shape[0] if isinstance(inputs[0].shape[0], int) else CHUNK
    names = inputs[0].name, _output(session)
    said = [_run(path, session, *names, part) for part in _parts(given, max(1, size))]
    if any(part.ndim != 2 for part in said) or sum(map(len, said)) < len(x):
        raise BadInput(
            f"{path}: its output {names[1]} has the shape {said[0].shape} for {len(given[:size])} "
            "records; it should have a number for each class of each",
            "wrong-shape",
            option=names[1],
            value=said[0].shape,
        )
    return np.concatenate(said)[: len(x)].astype(np.float64)


def laid_out(x: Array, declared: Sequence[Any]) -> Array:
    """Records as a model declares that it takes them: as rows, without or with channels last."""
    if len(declared) == 2:
        return x.reshape(len(x), -1)
    if len(declared) == 3 and x.shape[1] == 1:
        return x[:, 0]
    last = np.moveaxis(x, 1, -1)
    return last if not _fit(x, declared) and _fit(last, declared) else x


def _fit(x: Array, declared: Sequence[Any]) -> bool:
    sides = zip(x.shape[1:], declared[1:], strict=False)
    return x.ndim == len(declared) and all(n == d for n, d in sides if isinstance(d, int))


def _output(session: Any) -> str:
    """The output with a number for each class: of several the first that is a table of floats."""
    outputs = session.get_outputs()
    tables = (out for out in outputs if out.type in TYPES and len(out.shape or ()) == 2)
    return str(next(tables, outputs[0]).name)


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
            "'dpaudit[onnx]'",
            "module-missing",
            value="onnxruntime",
        ) from error
    try:
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 4
        return onnxruntime.InferenceSession(
            str(path), sess_options=quiet, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise BadInput(
            f"{path}: it is no ONNX model that onnxruntime runs, or it is damaged ({_told(error)})",
            "file-damaged",
            value=str(path),
        ) from error


def _run(path: Path, session: Any, name: str, output: str, part: Array) -> Array:
    try:
        return np.asarray(session.run([output], {name: part})[0])
    except Exception as error:
        said = f"{path} failed on a batch of {part.shape}: {_told(error)}"
        raise BadInput(said, "code-failed", value=str(path)) from error


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
