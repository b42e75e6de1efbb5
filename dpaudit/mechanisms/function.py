"""A user's own training function as a mechanism."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit import checks
from dpaudit.config.adversaries import OBSERVER
from dpaudit.config.settings import Training
from dpaudit.errors import BadInput, DpauditError, wrap_errors
from dpaudit.mechanisms.function_interface import Arrays, TorchNeeded, read_release
from dpaudit.mechanisms.function_reference import Reference, refuse_uncallable
from dpaudit.mechanisms.warnings import delta_too_large
from dpaudit.protocols import Mechanism, repr_of
from dpaudit.seeds import derive, stream
from dpaudit.types import (
    IN,
    OUT,
    About,
    Array,
    Backend,
    Claim,
    Data,
    Observation,
    Pair,
    Records,
    Trial,
)

if TYPE_CHECKING:
    from dpaudit.training.recipe import Recipe

ALIKE = 0.01
"""Share of another seed's distance by which results of one seed may differ, as GPUs do."""

DRAWS = 50
"""Number of seeds of which two must differ: discrete releases are often equal."""

PAIRS = 60
"""Number of seeds with equal worlds before a canary counts as without effect.

One that changes what a seed in ten releases is missed with a probability of 0.9^60 = 0.2 %.
"""


class Function(Mechanism):
    """Your own code: a function (dataset, seed) that returns a model or released numbers.

    Named as my_module:train or path/to/my_module.py:train, with --claim EPS,DELTA.

    `dataset` is a torch TensorDataset, x float32 (n, channels, height, width) in [0, 1] and y
    int64, so an Opacus training loop works on it unchanged. (A float .npz outside [0, 1] is passed
    unchanged, with a warning.) `dataset.x` and `dataset.y` are the same as numpy arrays: a function
    that uses these alone, and releases numbers, is audited without importing torch, if the canary
    needs no shadow models. `seed` is an int below 2^32; Python's, numpy's and torch's own
    generators are seeded before each call too.

    A model is anything that can be called with a batch of x and returns logits (n, classes), or
    probabilities with --outputs probabilities. A torch module is asked in eval mode and, if it has
    dropout, also --samples times with dropout on. Anything else is an array of released numbers, of
    the same shape in every trial.

    Before the run the function is called with one seed twice and with others until one differs, 50
    at most, to check that it follows its seed: trials that share their randomness would refute any
    claim. Then it is called with and without the canary, with the same seed. If both give the same,
    more seeds follow; if they do for 60, the canary changes nothing that can be tested, and the
    verdict is INCONCLUSIVE at best. These calls are no evidence. Usually there are five.
    """

    def __init__(
        self,
        train: str | Callable[[Any, int], Any],
        claim: Claim | tuple[float, float],
        data: Data,
        outputs: str = "logits",
        samples: int = 1000,
        seed: int = 0,
    ) -> None:
        if not isinstance(claim, Claim):
            claim = Claim(*claim, unit="what the function returns")
        checks.refuse(
            [
                checks.of("claim", checks.positive("the claimed epsilon", claim.epsilon)),
                checks.of(
                    "claim",
                    checks.in_range("the claimed delta", claim.delta, 0, 1, ends="[)"),
                ),
                checks.one_of("outputs", outputs, ("logits", "probabilities")),
                checks.at_least("samples", samples, 1),
            ]
        )
        self.train = Reference.read(train) if isinstance(train, str) else train
        refuse_uncallable(self.name, self._find())
        self.code = self._digest()
        self._claim = claim
        self.outputs, self.samples, self.seed = outputs, samples, seed
        self.records, self.shape, self.classes = len(data.pool), data.shape, data.classes
        self.range = float(data.pool.x.min()), float(data.pool.x.max())

    bounded_canary = True  # a user's function is promised pixels from 0 to 1
    backend = Backend("own function", "the training code is the user's")

    @property
    def claim(self) -> Claim:
        return self._claim

    def __repr__(self) -> str:
        return repr_of(self, self.name, names=("code", "claim", "outputs", "samples"))

    def about(self, pair: Pair) -> About:
        return About(
            adversary="observer: sees what the function returns or, of a model, what it says of "
            "the canary",
            deployment=OBSERVER.follows,
            warnings=self._warnings(),
        )

    def _warnings(self) -> list[str]:
        found = delta_too_large(self.claim.delta, self.records)
        low, high = self.range
        if low < 0 or high > 1:
            found.append(f"the data's values are not in [0, 1] but from {low:g} to {high:g}")
        return found

    def _digest(self) -> str:
        """Return a hash of the function's text, and of its imports from its own folder."""
        if isinstance(self.train, Reference):
            return self.train.digest()
        try:
            text = inspect.getsource(self.train)
        except (OSError, TypeError):
            text = ""
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def files(self) -> list[Path]:
        """Return the modules that other machines need; packages must be installed there."""
        sources = self.train.sources() if isinstance(self.train, Reference) else []
        for file in sources:
            if file.name == "__init__.py":
                raise BadInput(
                    f"{self.name} needs the package {file.parent.name}, which is not sent to a "
                    "cluster's workers; install it there and here",
                    "package-not-sent",
                    value=file.parent.name,
                )
        return sources

    @cached_property
    def recipe(self) -> Recipe:
        """The training of shadow models, without noise."""
        from dpaudit.training import networks
        from dpaudit.training.recipe import Recipe

        try:
            network = "cnn-small"
            networks.check(network, self.shape)
        except BadInput:
            network = "mlp"
        training = Training(network=network, epochs=20, batch=64, lr=0.5, dropout=0.0)
        init_seed = derive(self.seed, "init")
        return Recipe(training, self.shape, self.classes, init_seed=init_seed)

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        how = (self.classes, self.outputs, self.samples)
        results = ((self._call(pair.world(t.world), t.seed), t) for t in trials)
        return [read_release(result, self.name, pair, trial, *how) for result, trial in results]

    def rehearse(self, pair: Pair, executor: Executor) -> None:
        """Refuse a function that fails, releases what cannot be used, or ignores its seed."""
        first, again = (self._release(executor, pair, OUT, 0) for _ in range(2))
        for number in range(1, DRAWS):
            other = self._release(executor, pair, OUT, number)
            if first.shape != other.shape:
                raise BadInput(
                    f"{self.name} released {first.shape} numbers for one seed and {other.shape} "
                    "for another; release as many in every trial",
                    "shape-mismatch",
                    value=other.shape,
                )
            if apart := _distance(first, other):
                break
        else:
            raise BadInput(
                f"{self.name} gives the same for {DRAWS} different seeds; let all its randomness "
                "follow from its seed (without randomness it is not private; if other values are "
                "rare, release something that varies more)",
                "no-randomness",
                value=self.name,
            )
        if _distance(first, again) > ALIKE * apart:
            raise BadInput(
                f"{self.name} gives different results for the same seed; let all its randomness "
                "follow from its seed",
                "not-reproducible",
                value=self.name,
            )

    def equal_pairs(self, pair: Pair, executor: Executor) -> int:
        """Return the number of seeds for which both worlds release the same; 0 once one differs.

        A diagnosis, never evidence: the seeds are not those of trials, which share none.
        """
        if not pair.canary.inserted:
            return 0
        for number in range(PAIRS):
            out, inn = (self._release(executor, pair, world, number) for world in (OUT, IN))
            if out.shape != inn.shape or _distance(out, inn) > 0:
                return 0
        return PAIRS

    def _release(self, executor: Executor, pair: Pair, world: int, number: int) -> Array:
        """Return the release of one rehearsal: numbers, or the canary's logits."""
        trial = Trial(0, world, derive(self.seed, "rehearsal", number))
        # One after the other: threads of one process would share their random numbers.
        (seen,) = executor.submit(self.run, pair, [trial]).result()
        return np.asarray(seen["values" if "values" in seen else "logits"])

    def _call(self, records: Records, seed: int) -> Any:
        """Return the function's result: the same whether torch was imported before or not."""
        train = self._find()  # which may import torch
        if "torch" not in sys.modules:
            arrays = Arrays(records)
            try:
                given = self._given(train, arrays, seed)
            except (TorchNeeded, DpauditError):
                if not arrays.tensors_needed and "torch" not in sys.modules:
                    raise
            else:
                # torch computes the model's outputs.
                needed = arrays.tensors_needed or callable(given)
                if not needed and "torch" not in sys.modules:
                    return given
        # Also for a function that has just imported torch, whose generator was not seeded then.
        import torch

        from dpaudit.training.isolation import one_thread
        from dpaudit.training.opacus import Tensors

        one_thread()
        torch.manual_seed(stream(seed, "torch"))
        return self._given(train, Tensors(records), seed)

    def _given(self, train: Callable[[Any, int], Any], dataset: Any, seed: int) -> Any:
        random.seed(stream(seed, "random"))
        np.random.seed(stream(seed, "numpy") % 2**32)
        # Standard output is the report's alone.
        with contextlib.redirect_stdout(sys.stderr), wrap_errors(self.name):
            return train(dataset, seed % 2**32)

    def _find(self) -> Callable[[Any, int], Any]:
        return self.train.find() if isinstance(self.train, Reference) else self.train

    @property
    def name(self) -> str:
        """The function's name in messages, or that of its type."""
        if isinstance(self.train, Reference):
            return self.train.text
        # What wraps another function, such as a functools.partial, goes by the name of that.
        inner = getattr(self.train, "func", self.train)
        return str(getattr(inner, "__qualname__", type(inner).__qualname__))


def _distance(a: Array, b: Array) -> float:
    """Return the largest difference; NaN is equal to itself and far from all else."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        gap = np.abs(a.astype(np.float64) - b)
    return float(np.max(np.where(same, 0.0, np.nan_to_num(gap, nan=np.inf)), initial=0.0))
