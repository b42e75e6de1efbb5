"""A user's own model, queried on every record: a checkpoint by torch, an .onnx by onnxruntime."""

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
from dpaudit.errors import BadInput, one_line, wrap_errors
from dpaudit.files import add_path, open_file
from dpaudit.mechanisms.function_interface import forward_of
from dpaudit.mechanisms.function_reference import Reference
from dpaudit.seeds import derive
from dpaudit.training import networks
from dpaudit.types import Array

AT_ONCE = 1 << 23
"""Numbers in a batch that is given to a network with dropout."""


@dataclass(frozen=True)
class QuerySettings:
    """How models are built and queried; the same for the model itself and its references.

    `network` is a name or MODULE:FUNCTION, a function without arguments that returns an untrained
    network. `preprocess` is a function that takes a batch and returns the input of the network.
    """

    network: str | None = None
    outputs: Literal["logits", "probabilities"] = "logits"
    preprocess: str | None = None
    samples: int = 0
    dropout: float = 0.5
    seed: int = 0


@dataclass(frozen=True)
class QueryResult:
    """A model's outputs, its description, and warnings about it."""

    outputs: Outputs
    about: str
    warnings: list[str]


def query(path: Path, candidates: Candidates, settings: QuerySettings) -> QueryResult:
    """Query a checkpoint on all records."""
    if path.suffix.lower() == ".onnx":
        with add_path(path):
            return _query_onnx(path, candidates, settings)
    name = settings.network
    if name is None:
        text = f"name the network of {path}: --network cnn-small (or another of dpaudit list), or "
        text += "your own as --network MODULE:FUNCTION"
        raise BadInput(text, "needs-network", option="network", value=str(path))
    # Here, because torch takes seconds to import and much can be refused before.
    from dpaudit.training import predict, state

    tensors = state.read(path)
    x, y, classes = candidates.records.x, candidates.records.y, candidates.classes
    shape, own = tuple(x.shape[1:]), ":" in name
    if own:
        function = Reference(name, takes=(), option="network").find()
        with wrap_errors(name):
            network = function()
    else:
        network = networks.build(name, shape, classes, settings.dropout)
    untrained = state.buffers(network)
    model = state.load(network, name, tensors, path, shape, classes)
    warnings = state.layer_warnings(model, untrained)
    if own and candidates.flat:
        x = x.reshape(len(x), -1)  # a user's network takes rows of numbers without channels
    forward = _forward(model, str(path), classes, settings)
    numbers = sum(p.numel() for p in model.parameters())
    about = f"{path}, {name} of {numbers:,} parameters"
    outputs = of_logits(_finite(path, predict.logits(model, x, forward)), y)
    if settings.samples and predict.drops(model):
        mc_logits = partial(predict.mc_logits, model, forward=forward)
        outputs = with_passes(outputs, _finite(path, _passes(mc_logits, x, y, settings)))
        about += f", asked once without dropout and {settings.samples:,} times with it"
    elif settings.samples:
        has = "a dropout of 0" if predict.has_dropout(model) else "no dropout layer (nn.Dropout)"
        warnings.append(f"{name} has {has}, so --samples has no effect: it is asked once")
    return QueryResult(outputs, about, warnings)


def _forward(model: Any, name: str, classes: int, settings: QuerySettings) -> Callable[[Any], Any]:
    """The function from a batch to the model's logits, with the user's preprocessing."""
    own = settings.preprocess
    preprocess = own and Reference(own, takes=("batch",), option="preprocess").find()

    def forward(x: Any) -> Any:
        if preprocess:
            with wrap_errors(f"{own}", f"failed on a batch of {tuple(x.shape)}"):
                x = preprocess(x)
        return forward_of(model, name, classes, settings.outputs == "probabilities", x)

    return forward


def _passes(
    mc_logits: Callable[[Array, int, int], Array], x: Array, y: Array, settings: QuerySettings
) -> Array:
    """The log-odds of each record's label in T passes: (records, T)."""
    rows = max(1, AT_ONCE // (settings.samples * max(1, x[0].size)))
    found = []
    for i in range(0, len(x), rows):
        seed = derive(settings.seed, "checkpoint", "passes", i)
        z = mc_logits(x[i : i + rows], settings.samples, seed)
        found.append(label_odds(z, y[i : i + rows]).T)
    return np.concatenate(found)


def _finite(path: Path, outputs: Array) -> Array:
    finite = np.isfinite(outputs).reshape(len(outputs), -1).all(axis=1)
    if bad := int((~finite).sum()):
        text = f"its outputs on {bad:,} of {len(outputs):,} records are NaN or infinite"
        raise BadInput(f"{path}: {text}; check the records", "not-finite", value=bad)
    return outputs


# ---------------------------------------------------------------- ONNX


CHUNK = 512
"""Records at a time, unless the model takes a fixed number."""

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
"""Types of inputs and outputs, by onnxruntime's names."""


def _query_onnx(path: Path, candidates: Candidates, settings: QuerySettings) -> QueryResult:
    for option, value in (("network", settings.network), ("preprocess", settings.preprocess)):
        if value is not None:
            text = f"it is a whole model; leave --{option} out"
            raise BadInput(text, "no-effect", option=option, value=value)
    y = candidates.records.y
    outputs = _finite(path, _run_onnx(path, candidates.records.x))
    if (given := outputs.shape[1]) != candidates.classes:
        text = f"its output has {given} classes, not {candidates.classes}"
        raise BadInput(text, "class-mismatch", value=[given, candidates.classes])
    logits = settings.outputs == "logits"
    found = of_logits(outputs, y) if logits else of_probabilities(outputs, y)
    text = f"{path} is queried without dropout, so --samples has no effect"
    return QueryResult(found, f"{path}, by onnxruntime", [text] if settings.samples else [])


def _run_onnx(path: Path, x: Array) -> Array:
    """The model's output on all records: (records, classes)."""
    with open_file(path, "an .onnx file") as file:
        if not file.read(1):
            raise BadInput("it is empty; export the model again", "file-empty", value=str(path))
    session = _session(path)
    inputs = session.get_inputs()
    if len(inputs) != 1 or not inputs[0].shape:
        text = f"it has {len(inputs)} inputs; a model that takes a batch has one"
        raise BadInput(text, "wrong-inputs", value=len(inputs))
    given = fit_layout(x, inputs[0].shape).astype(TYPES.get(inputs[0].type, np.float32))
    size = inputs[0].shape[0] if isinstance(inputs[0].shape[0], int) else CHUNK
    # The output with a number for each class: of several the first that is a table of floats.
    outputs = session.get_outputs()
    tables = (out for out in outputs if out.type in TYPES and len(out.shape or ()) == 2)
    name = str(next(tables, outputs[0]).name)
    run = partial(_run_batch, session, name, inputs[0].name)
    found = [run(batch) for batch in _batches(given, max(1, size))]
    if any(part.ndim != 2 for part in found) or sum(map(len, found)) < len(x):
        text = f"its output {name} has the shape {found[0].shape}, not (records, classes)"
        raise BadInput(text, "wrong-shape", option=name, value=found[0].shape)
    return np.concatenate(found)[: len(x)].astype(np.float64)


def _run_batch(session: Any, output: str, name: str, batch: Array) -> Array:
    try:
        return np.asarray(session.run([output], {name: batch})[0])
    except Exception as error:
        text = f"it failed on a batch of {batch.shape}: {one_line(error)}"
        raise BadInput(text, "code-failed", value=name) from error


def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        text = ".onnx files need onnxruntime, which does not import; pip install 'dpaudit[onnx]'"
        raise BadInput(text, "module-missing", value="onnxruntime") from error
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        providers = ["CPUExecutionProvider"]
        return onnxruntime.InferenceSession(str(path), sess_options=options, providers=providers)
    except Exception as error:
        text = f"onnxruntime cannot load it, or it is damaged ({one_line(error)})"
        raise BadInput(text, "file-damaged", value=str(path)) from error


def fit_layout(x: Array, declared: Sequence[Any]) -> Array:
    """Records in the layout that a model declares: as rows, without or with channels last."""
    if len(declared) == 2:
        return x.reshape(len(x), -1)
    if len(declared) == 3 and x.shape[1] == 1:
        return x[:, 0]
    last = np.moveaxis(x, 1, -1)
    return last if not _fits(x, declared) and _fits(last, declared) else x


def _fits(x: Array, declared: Sequence[Any]) -> bool:
    sides = zip(x.shape[1:], declared[1:], strict=False)
    return x.ndim == len(declared) and all(n == d for n, d in sides if isinstance(d, int))


def _batches(x: Array, size: int) -> list[Array]:
    """Batches of exactly `size` records; the last one is filled with copies of its last record."""
    short = -len(x) % size
    whole = np.concatenate([x, np.repeat(x[-1:], short, axis=0)]) if short else x
    return [whole[i : i + size] for i in range(0, len(whole), size)]
