"""The records that a user's function is given without torch, and the release of its result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dpaudit.errors import BadInput, wrap_errors
from dpaudit.mechanisms.views import observe
from dpaudit.types import Observation, Pair, Records, Trial

if TYPE_CHECKING:
    from torch import Tensor

SMALLEST = float(np.finfo(np.float32).tiny)
"""Stands for a probability of 0 where its logarithm is taken."""


class TorchNeeded(BaseException):
    """Ends a call whose function needs tensors; it is called again with a TensorDataset.

    It is no `Exception`, so that the function does not catch it as an error of its own.
    """


class Arrays:
    """The records as numpy arrays `x` and `y`, which a TensorDataset of dpaudit has too."""

    def __init__(self, records: Records) -> None:
        self.x, self.y = np.array(records.x, order="C"), np.array(records.y)
        self.tensors_needed = False

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: object) -> NoReturn:
        self._need_tensors()

    @property
    def tensors(self) -> NoReturn:
        """The attribute of a TensorDataset."""
        self._need_tensors()

    def _need_tensors(self) -> NoReturn:
        self.tensors_needed = True
        raise TorchNeeded


def read_release(
    given: Any, name: str, pair: Pair, trial: Trial, classes: int, outputs: str, samples: int
) -> Observation:
    """Return the observation of one trial; refuse what is neither a model nor numbers."""
    if not callable(given):
        return {"values": _numbers(given, name)}
    from torch import nn

    from dpaudit.training import predict

    forward = partial(forward_of, given, name, classes, outputs == "probabilities")
    has_dropout = isinstance(given, nn.Module) and predict.has_dropout(given)
    logits_of = partial(predict.logits, given, forward=forward)
    samples_of = partial(predict.mc_dropout, given, forward=forward) if has_dropout else None
    return observe(logits_of, samples_of, pair, trial, samples)


def _numbers(given: Any, name: str) -> Any:
    try:
        if hasattr(given, "detach"):
            given = given.detach().cpu().double().numpy()
        numbers = np.asarray(given)
    except Exception:
        numbers = np.array(None)
    if numbers.dtype.kind not in "biuf" or numbers.size == 0:
        raise BadInput(
            f"{name} gave back {_kind(given)}, which is neither a model that can be called nor one "
            "array of numbers (join several by concatenating them)",
            "wrong-type",
            value=type(given).__name__,
        )
    return numbers


def forward_of(
    model: Callable[[Any], Any], name: str, classes: int, probabilities: bool, x: Tensor
) -> Tensor:
    """Return the model's logits of a batch, or the logarithm of its probabilities."""
    import torch
    from torch import nn

    if isinstance(model, nn.Module):
        first = next(model.parameters(), x)
        x = x.to(first.device)
    with wrap_errors(f"the model of {name}", f"failed on a batch of {tuple(x.shape)}"):
        output = model(x)
    try:
        output = torch.as_tensor(output).detach().cpu().float()
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInput(
            f"the model of {name} gave back {_kind(output)}, not one tensor with a number for "
            "each class of each record",
            "wrong-type",
            value=type(output).__name__,
        ) from error
    wanted = (len(x), classes)
    if (shape := tuple(output.shape)) != wanted:
        raise BadInput(
            f"the model of {name} gave back the shape {shape} for a batch of {len(x)}; "
            f"it should be {wanted}, a number for each class",
            "shape-mismatch",
            value=shape,
        )
    if not probabilities:
        return output
    sums = output.sum(dim=1)
    if not bool(((output >= 0).all(dim=1) & ((sums - 1).abs() < 1e-3) | sums.isnan()).all()):
        problem = (
            f"the outputs of the model of {name} are not probabilities (they must be at least 0 "
            "and add up to 1); leave --outputs probabilities out if they are logits"
        )
        raise BadInput(problem, "not-probabilities", option="outputs", value=name)
    return output.clamp_min(SMALLEST).log()


def _kind(given: Any) -> str:
    return "None" if given is None else f"a {type(given).__name__}"
