"""A privacy test for any test suite: one call, which fails if a claim is refuted.

In a file that pytest finds::

    from dpaudit.testing import assert_private

    def test_training_keeps_its_promise():
        assert_private(train, claim=(1.0, 1e-5))
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit import audit, checks
from dpaudit import data as data_sets
from dpaudit.audit.preparation import make_builder, make_pair
from dpaudit.config import DEFAULT, Config
from dpaudit.config.settings import Judging, Planting, RecordSource, Target
from dpaudit.errors import BadInput
from dpaudit.executors import SerialExecutor
from dpaudit.mechanisms.function import Function
from dpaudit.protocols import CanaryBuilder
from dpaudit.report.run import refutation
from dpaudit.report.run_verdict import in_one_line
from dpaudit.results import Report
from dpaudit.training.isolation import isolated
from dpaudit.types import Canary, Claim, Data, Pair, neighbours

__all__ = ["NothingTested", "PrivacyViolation", "WeakTest", "assert_private"]

SIZE = 194
"""Number of records, of which D lacks one. 193 is a prime and 194 twice a prime, so that both make
the same number of batches of any usual size, whether the last one is kept or dropped."""

MODELS = 300
"""Enough to refute a Gaussian curve's epsilon up to 8 at 1e-6, and a bare one up to 2, if every
guess is right."""

CANARY = "static"
"""Shows most of forgotten clipping and much of missing noise, without shadow models."""


class _Failure(AssertionError):
    """A failed test: a sentence for people, and the `report` for programs."""

    def __init__(self, sentence: str, report: Report) -> None:
        super().__init__(sentence)
        self.report = report


class PrivacyViolation(_Failure):
    """A claim that was refuted."""


class NothingTested(_Failure):
    """An audit that could not have found anything."""


class WeakTest(_Failure):
    """An audit that was no strong test: it certified less than half, or could never refute."""


def assert_private(
    train: Callable[[Any, int], Any],
    claim: Claim | tuple[float, float],
    *,
    data: str | Data = RecordSource.data,
    size: int | None = SIZE,
    canary: str | CanaryBuilder | Canary | Pair = CANARY,
    models: int = MODELS,
    attacks: Sequence[str] = Judging.attacks,
    outputs: str = Target.outputs,
    samples: int = 100,
    false_alarm: float = 1e-6,
    seed: int = 0,
    workers: int | Executor | None = None,
    strong: bool = False,
) -> Report:
    """Audit a training function; return the report if the claim is not refuted.

    Raises `PrivacyViolation` if it is, and `NothingTested` if the canary changes nothing that is
    released. With `strong`, it also raises `WeakTest` if less than half of the claim is certified:
    such a pass says nothing about privacy. All three fail a test. Wrong input, and a `train` that
    fails, raise `BadInput`.

    `train(dataset, seed)` is as for `dpaudit run --mechanism` (`dpaudit explain own-function`): it
    takes a `TensorDataset` and returns a model or an array of released numbers, and all its
    randomness follows from the seed. It is called some five times to check that, and then once for
    each of at most `models` models (rounded up to a multiple of 4), half of them with the canary.
    After every twenty the audit ends if the claim is refuted, so that a gross bug costs little.

    `claim` is (epsilon, delta), or a `Claim`, whose curve, if any, is relied on: far fewer models
    then decide. A test that could never fail is refused before training. A test need not train as
    you deploy: with much noise and few records the claim is small, and a bug in clipping or noise
    shows sooner. If steps, sampling rate or scale follow from the number of records, which is
    private, too, that may be refuted.

    Passing proves no privacy: another canary, attack or seed may show more, and small bugs do not
    show at all. Failing means that the claim is wrong, except with probability `false_alarm` at
    most, whatever the number of looks. The same seed and models give the same verdict.

    `data` is as for `dpaudit run --data`, of which `size` records are drawn, or a `Data`, which is
    used whole. `canary` is a plug-in's name, a builder, a record, or a `Pair` with its own data.
    `workers` is a number of processes, to which no closure can be sent; by default all models are
    trained in this process by one torch thread. No file is left behind, and global random
    generators and torch's threads are restored.
    """
    __tracebackhide__ = True  # a failing test then shows its own line
    # Below 1e-9 rounding would change the confidence of a bound.
    problems = [checks.in_range("false_alarm", false_alarm, 1e-9, 0.5, ends="[)")]
    if workers is not None and not isinstance(workers, Executor):
        problems.append(checks.at_least("workers", workers, 1))
    checks.refuse(problems)
    attacks = (attacks,) if isinstance(attacks, str) else tuple(attacks)
    config = Config.of(
        size=size,
        models=models,
        attacks=attacks,
        outputs=outputs,
        samples=samples,
        confidence=1 - false_alarm,
        seed=seed,
        until_decided=True,
    )
    with isolated(), tempfile.TemporaryDirectory(prefix="dpaudit-") as folder:
        records = _records(data, canary, config)
        mechanism = Function(train, _checked(claim), records, outputs, samples, seed)
        pair = _pair(canary, records, mechanism, seed)
        report = audit.play(
            *(mechanism, pair, config.volume.models, Path(folder) / "run", seed),
            workers=SerialExecutor() if workers is None else workers,
            until_decided=True,
            durable=False,
            attacks=attacks,
            confidence=config.judging.confidence,
        ).judge()
    if report.verdict == "VIOLATION":
        same = _command(config, train, mechanism.claim, data, canary)
        raise PrivacyViolation(refutation(report, mechanism.name, false_alarm, same), report)
    if report.verdict == "INCONCLUSIVE":
        raise NothingTested(" ".join([in_one_line(report), *report.next_steps]), report)
    if strong and report.strength != "strong":
        raise WeakTest(f"{in_one_line(report)} {_stronger(report, config.volume.models)}", report)
    return report


def _stronger(report: Report, models: int) -> str:
    """Advise on a test that certifies more."""
    expected = report.expected
    if expected is None:
        return "Give a claim with its curve, another canary or other attacks."
    number = f"{expected.models:,} models"
    more = "another canary or other attacks" if expected.models <= models else f"about {number}"
    return (
        f"Give {more}. If all of the claim leaks, {number} typically certify "
        f"{expected.typical:.2g} at this false_alarm."
    )


def _wrong_type(name: str, wanted: str, given: object) -> BadInput:
    sentence = f"{name} must be {wanted}, not {given!r:.60}"
    return BadInput(sentence, "wrong-type", option=name, value=type(given).__name__)


def _checked(claim: Claim | tuple[float, float]) -> Claim | tuple[float, float]:
    """Return the claim if it is one on whole trainings."""
    if isinstance(claim, Claim):
        if claim.by_step:
            sentence = "a trial is a whole training here; a claim on single steps cannot be tested"
            raise BadInput(sentence, "single-steps", option="claim")
        return claim
    if not isinstance(claim, (tuple, list)) or len(claim) != 2:
        raise _wrong_type("claim", "(epsilon, delta) or a Claim", claim)
    epsilon, delta = claim
    return epsilon, delta


def _records(data: str | Data, canary: str | CanaryBuilder | Canary | Pair, config: Config) -> Data:
    """Return the data that models are trained on; a pair brings its own."""
    if isinstance(canary, Pair):
        both, test = canary.inn, canary.test
        classes = canary.about.get("classes", int(max(both.y.max(), canary.out.y.max())) + 1)
        return Data(str(canary.about.get("name", "given")), both, test, test, classes)
    if isinstance(data, Data):
        return data
    if not isinstance(data, str):
        raise _wrong_type("data", "a name, a path or a Data", data)
    return data_sets.load(data, config.seed, size=config.source.size)


def _pair(canary: Any, records: Data, mechanism: Function, seed: int) -> Pair:
    """Return the neighbouring data sets of a canary of any kind."""
    name = canary.name if isinstance(canary, Canary) else type(canary).__name__
    if isinstance(canary, Pair):
        return canary
    if isinstance(canary, str):
        builder, name = (
            make_builder(Planting(canary=canary), mechanism, SerialExecutor(), {}),
            canary,
        )
    elif isinstance(canary, Canary):
        builder = _Given(canary)
    elif isinstance(canary, CanaryBuilder):
        builder = canary
    else:
        raise _wrong_type("canary", "a name, a builder, a Canary or a Pair", canary)
    made = make_pair(builder, name, records, mechanism, seed)
    if not made.canary.record:
        sentence = f"the canary {name} is a gradient, and a training function takes records"
        raise BadInput(sentence, "needs-record", option="canary", value=name)
    return made


@dataclass(frozen=True)
class _Given(CanaryBuilder):
    """A builder of one canary."""

    canary: Canary

    def build(self, data: Data, seed: int) -> Pair:
        return neighbours(data, self.canary)


def _command(config: Config, train: Any, claim: Claim, data: Any, canary: Any) -> str:
    """Return the command of the same audit; empty if it cannot name train, claim or data."""
    name = _function_name(train)
    if name is None or claim.curve or not isinstance(data, str) or not isinstance(canary, str):
        return ""
    stated = claim.epsilon, claim.delta
    return command_line(config.changed(mechanism=name, claim=stated, data=data, canary=canary))


def _function_name(train: Any) -> str | None:
    """Return FILE:FUNCTION, by which `dpaudit run` finds the function; None if it does not."""
    module = sys.modules.get(getattr(train, "__module__", None) or "")
    file, name = getattr(module, "__file__", None), getattr(train, "__name__", "")
    if module is None or file is None or module.__name__ != Path(file).stem:
        return None
    return f"{os.path.relpath(file)}:{name}" if getattr(module, name, None) is train else None


def command_line(config: Config) -> str:
    """Return `dpaudit run` with every setting that is not the default."""
    # A setting that is None gives way to another one, which implies it.
    changed = {n: v for n, v in config.flat().items() if v not in (None, DEFAULT[n])}
    words = (word for name, value in changed.items() for word in _words(name, value))
    return shlex.join(["dpaudit", "run", *words])


def _words(name: str, value: Any) -> Iterator[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield flag if value else flag.replace("--", "--no-", 1)
    elif name == "claim":
        yield from (flag, ",".join(map(repr, value)))
    elif isinstance(value, tuple):
        for one in value:
            yield from ("--attack" if name == "attacks" else flag, one)
    else:
        yield from (flag, str(value))
