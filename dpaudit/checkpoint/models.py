"""A model of any framework, saved as ONNX and run by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checkpoint.predictions import (
    Outputs,
    label_odds,
    of_logits,
    of_probabilities,
    with_passes,
)
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.files import open_file
from dpaudit.mechanisms.given import forward_of
from dpaudit.mechanisms.reference import Reference
from dpaudit.seeds import derive
from dpaudit.training import networks
from dpaudit.types import Array

CHUNK = 512
"""Records at a time, unless the model takes a number of its own."""

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
"""Of what a model takes and gives back, by onnxruntime's names."""


def ask_onnx(path: Path, x: Array) -> Array:
    """What the model says of all records: (records, classes)."""
    with open_file(path, "an .onnx file") as file:
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


# ----------------------------------------------------------------
# A user's own model, asked about every record: what it says of each, and what to know of it.


AT_ONCE = 1 << 23
"""Numbers that are given to a network with dropout at a time."""

Released = Literal["logits", "probabilities"]


@dataclass(frozen=True)
class Asking:
    """How models are made and asked; the same for the model itself and its references.

    `network` is a name or MODULE:FUNCTION, a function that takes nothing and gives back an
    untrained network; `preprocess` another that takes a batch and gives back what the network
    wants of it.
    """

    network: str | None = None
    outputs: Released = "logits"
    preprocess: str | None = None
    samples: int = 0
    dropout: float = 0.5
    seed: int = 0


@dataclass(frozen=True)
class Answers:
    """What a model said, what it is, and what a reader should know of it."""

    outputs: Outputs
    about: str
    warnings: list[str]


def ask(path: Path, candidates: Candidates, how: Asking) -> Answers:
    """A checkpoint's answers on all records."""
    if path.suffix.lower() == ".onnx":
        return _asked_onnx(path, candidates, how)
    if how.network is None:
        raise BadInput(
            f"name the network of {path}: --network cnn-small (or another of dpaudit list), or "
            "your own as --network MODULE:FUNCTION",
            "needs-network",
            option="network",
            value=str(path),
        )
    # Here, because torch takes seconds to import and much can be refused before.
    from dpaudit.training import predict, state

    tensors = state.read(path)
    shape = tuple(candidates.records.x.shape[1:])
    own = ":" in how.network
    made = _own(how.network) if own else _named(how, shape, candidates.classes)
    untrained = state.buffers(made)
    model = state.load(made, how.network, tensors, path, shape, candidates.classes)
    warnings = state.cautions(model, untrained)
    x = candidates.records.x
    # A row of numbers is what it is to everybody else: without channels.
    x = x.reshape(len(x), -1) if own and candidates.flat else x
    forward = partial(_forward, model, str(path), candidates.classes, how, _preprocess(how))
    found = of_logits(_finite(path, predict.logits(model, x, forward)), candidates.records.y)
    numbers = sum(p.numel() for p in model.parameters())
    about = f"{path}, {how.network} of {numbers:,} parameters"
    if how.samples and predict.drops(model):
        passes = partial(predict.mc_logits, model, forward=forward)
        found = with_passes(found, _finite(path, _passes(passes, x, candidates.records.y, how)))
        about += f", asked once without dropout and {how.samples:,} times with it"
    elif how.samples:
        has = "a dropout of 0" if predict.has_dropout(model) else "no dropout layer (nn.Dropout)"
        warnings.append(
            f"{how.network} has {has}, so that --samples changes nothing: it is asked once"
        )
    return Answers(found, about, warnings)


def _forward(
    model: Any,
    name: str,
    classes: int,
    how: Asking,
    preprocess: Callable[[Any], Any] | None,
    x: Any,
) -> Any:
    if preprocess is not None:
        with wrap_errors(f"{how.preprocess}", f"failed on a batch of {tuple(x.shape)}"):
            x = preprocess(x)
    return forward_of(model, name, classes, how.outputs == "probabilities", x)


def _named(how: Asking, shape: tuple[int, ...], classes: int) -> Any:
    assert how.network is not None
    return networks.build(how.network, shape, classes, how.dropout)


def _own(network: str) -> Any:
    function = Reference(network, takes=(), option="network").find()
    with wrap_errors(network):
        return function()


def _preprocess(how: Asking) -> Callable[[Any], Any] | None:
    if how.preprocess is None:
        return None
    return Reference(how.preprocess, takes=("batch",), option="preprocess").find()


def _passes(
    ask_often: Callable[[Array, int, int], Array], x: Array, y: Array, how: Asking
) -> Array:
    """The log-odds of each record's label in T passes: (records, T)."""
    rows = max(1, AT_ONCE // (how.samples * max(1, x[0].size)))
    found = []
    for i in range(0, len(x), rows):
        seed = derive(how.seed, "checkpoint", "passes", i)
        part = ask_often(x[i : i + rows], how.samples, seed)
        found.append(label_odds(part, y[i : i + rows]).T)
    return np.concatenate(found)


def _asked_onnx(path: Path, candidates: Candidates, how: Asking) -> Answers:
    if how.network is not None or how.preprocess is not None:
        raise BadInput(
            f"{path} is a whole model; leave --network and --preprocess out",
            "no-effect",
            option="preprocess" if how.network is None else "network",
            value=how.network or how.preprocess,
        )
    said = _finite(path, ask_onnx(path, candidates.records.x))
    if said.shape[1] != candidates.classes:
        raise BadInput(
            f"{path} says something of {said.shape[1]} classes, not {candidates.classes}",
            "class-mismatch",
            value=[said.shape[1], candidates.classes],
        )
    if how.outputs == "probabilities":
        found = of_probabilities(said, candidates.records.y, str(path))
    else:
        found = of_logits(said, candidates.records.y)
    warnings = []
    if how.samples:
        warnings.append(f"{path} is asked without dropout, so that --samples changes nothing")
    return Answers(found, f"{path}, by onnxruntime", warnings)


def _finite(path: Path, said: Array) -> Array:
    strange = int((~np.isfinite(said).reshape(len(said), -1).all(axis=1)).sum())
    if strange:
        raise BadInput(
            f"{path}: what it says of {strange:,} of {len(said):,} records is NaN or infinite, "
            "which cannot be scored; see whether the records are what it was trained on",
            "not-finite",
            value=strange,
        )
    return said
