"""A privacy test for anyone's test suite: one call, which fails where a claim is refuted.

In a file that pytest finds::

    from dpaudit.testing import assert_private

    def test_training_keeps_its_promise():
        assert_private(train, claim=(1.0, 1e-5))
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpaudit import audit, checks
from dpaudit import data as data_sets
from dpaudit.audit import trials
from dpaudit.audit.preparation import make_builder, make_pair
from dpaudit.config import Config
from dpaudit.config.run import command_line
from dpaudit.config.settings import Judging, Planting, Source, Target
from dpaudit.errors import BadInput
from dpaudit.executors import Here
from dpaudit.judging.choice import Choice
from dpaudit.judging.until_decided import fewest
from dpaudit.mechanisms.function import Function
from dpaudit.protocols import CanaryBuilder
from dpaudit.report.formats import power
from dpaudit.report.run import refutation
from dpaudit.report.run_verdict import in_one_line
from dpaudit.results import Report
from dpaudit.training.restored import restored
from dpaudit.types import Canary, Claim, Data, Pair, neighbours

__all__ = ["NothingTested", "PrivacyViolation", "assert_private"]

SIZE = 194
"""Records, of which D lacks one: 193 is a prime and 194 twice a prime, so that both make as many
batches of any usual size, whether the last one is kept or dropped."""

MODELS = 300
"""Enough, if every guess is right, to refute a Gaussian curve's epsilon up to 8 at 1e-6, and a
bare one up to 2."""

CANARY = "static"
"""Shows most of forgotten clipping, and much of missing noise, without shadow models."""


class PrivacyViolation(AssertionError):
    """A claim that was refuted: in words for people, and as a `report` for programs."""

    def __init__(self, words: str, report: Report) -> None:
        super().__init__(words)
        self.report = report


class NothingTested(AssertionError):
    """An audit that could not have found anything: in words for people, and as a `report`."""

    def __init__(self, words: str, report: Report) -> None:
        super().__init__(words)
        self.report = report


def assert_private(
    train: Callable[[Any, int], Any],
    claim: Claim | tuple[float, float],
    *,
    data: str | Data = Source.data,
    size: int | None = SIZE,
    canary: str | CanaryBuilder | Canary | Pair = CANARY,
    models: int = MODELS,
    attacks: Sequence[str] = Judging.attacks,
    outputs: str = Target.outputs,
    samples: int = 100,
    false_alarm: float = 1e-6,
    seed: int = 0,
    workers: int | Executor | None = None,
) -> Report:
    """The report of an audit that did not refute the claim; one that does is `PrivacyViolation`.

    An audit that had nothing to find, because the canary changes nothing that is released, is
    `NothingTested`. Both fail a test.

    `train(dataset, seed)` is what `dpaudit run --mechanism` takes (`dpaudit explain
    own-function`): given a `TensorDataset`, it gives back a model or an array of released numbers,
    and all its randomness follows from the seed. Any callable will do, a lambda or a closure too.
    It is called some five times to see that, and that the canary changes something, then once for
    each of at most `models` models, rounded up to fours, half of them with the canary. They are
    looked at after every twenty, and the audit ends as soon as the claim is refuted: a gross bug
    costs a fraction of what correct code does.

    `claim` is (epsilon, delta), or a `Claim`; if that has a curve, the curve is relied on, and
    far fewer models can decide. What so many models could never decide is refused before any is
    trained. A test need not train as you deploy: with much noise and few records the claim is
    small, and a bug in clipping or noise shows sooner. The number of records is private, too:
    where steps, sampling rate or scale follow from it, that is what may be refuted.

    Passing means that the models of this seed, as these attacks see them, do not refute the claim.
    It is no proof of privacy: another canary, attack or seed may show more, and small bugs do not
    show at all. Failing means that the claim is wrong, or that a chance of at most `false_alarm`
    has come true, whatever the number of looks. The same seed gives the same verdict as long as
    `train` gives the same.

    `data` is what `dpaudit run --data` takes, of which `size` records are drawn, or a `Data`, which
    is taken as it is. `canary` is a plug-in's name, a builder, a record of your own, or a `Pair`,
    which brings its own data. `workers` is a number of processes, to which no closure can be sent;
    without it all models are trained here, by one torch thread. Nothing is left behind: no file,
    and global random generators and torch's threads are as before. Wrong input is refused by a
    `BadInput`, and so is a `train` that fails.
    """
    __tracebackhide__ = True  # a failing test then shows its own line
    # Below this the confidence of a bound would no longer be a number that says so.
    few = None if workers is None or isinstance(workers, Executor) else workers
    checks.refuse(
        [
            checks.in_range("false_alarm", false_alarm, 1e-9, 0.5, ends="[)"),
            None if few is None else checks.at_least("workers", few, 1),
        ]
    )
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
    with restored(), tempfile.TemporaryDirectory(prefix="dpaudit-") as folder:
        records = _records(data, canary, config)
        mechanism = Function(train, _promised(claim), records, outputs, samples, seed)
        _refuse_hopeless(mechanism.claim, config, false_alarm)
        pair = _pair(canary, records, mechanism, seed)
        trials.refuse_other_adjacency(mechanism, pair)
        report = audit.play(
            *(mechanism, pair, config.volume.models, Path(folder) / "run", seed),
            workers=Here() if workers is None else workers,
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
    return report


def _promised(claim: Claim | tuple[float, float]) -> Claim | tuple[float, float]:
    """The claim, if it is one that whole trainings can be held against."""
    if isinstance(claim, Claim):
        if claim.by_step:
            raise BadInput(
                "a trial is a whole training here, so a claim on single steps is no use",
                "single-steps",
                option="claim",
            )
        return claim
    if not isinstance(claim, (tuple, list)) or len(claim) != 2:
        raise BadInput(
            f"the claim must be (epsilon, delta) or a Claim, not {claim!r:.60}",
            "wrong-type",
            option="claim",
            value=type(claim).__name__,
        )
    epsilon, delta = claim
    return epsilon, delta


def _records(data: str | Data, canary: str | CanaryBuilder | Canary | Pair, config: Config) -> Data:
    """The data that models are trained on; those of a pair are what it holds."""
    if isinstance(canary, Pair):
        both, test = canary.inn, canary.test
        classes = canary.about.get("classes", int(max(both.y.max(), canary.out.y.max())) + 1)
        return Data(str(canary.about.get("name", "given")), both, test, test, classes)
    if isinstance(data, Data):
        return data
    if not isinstance(data, str):
        raise BadInput(
            f"data must be a name, a path or a Data, not {data!r:.60}",
            "wrong-type",
            option="data",
            value=type(data).__name__,
        )
    return data_sets.load(data, config.seed, size=config.source.size)


def _pair(canary: Any, records: Data, mechanism: Function, seed: int) -> Pair:
    """The neighbouring data sets that a canary makes, however it was given."""
    if isinstance(canary, Pair):
        return canary
    if isinstance(canary, str):
        builder = make_builder(Planting(canary=canary), mechanism, Here(), {})
        name = canary
    elif isinstance(canary, Canary):
        builder, name = _Given(canary), canary.name
    elif isinstance(canary, CanaryBuilder):
        builder, name = canary, type(canary).__name__
    else:
        kinds = "a name, a builder, a Canary or a Pair"
        raise BadInput(
            f"the canary must be {kinds}, not {canary!r:.60}",
            "wrong-type",
            option="canary",
            value=type(canary).__name__,
        )
    made = make_pair(builder, name, records, mechanism, seed)
    if not made.canary.record:
        raise BadInput(
            f"the canary {name} is a gradient, and a training function takes records",
            "needs-record",
            option="canary",
            value=name,
        )
    return made


@dataclass(frozen=True)
class _Given(CanaryBuilder):
    """Makes the canary that it was given."""

    canary: Canary

    def build(self, data: Data, seed: int) -> Pair:
        return neighbours(data, self.canary)


def _refuse_hopeless(claim: Claim, config: Config, false_alarm: float) -> None:
    """Refuse, before anything is trained, a test that no bug could ever fail."""
    attacks = Choice(config.judging.attacks).attack_plugins
    least = fewest(attacks, claim, config.judging.confidence)
    models = config.volume.models
    if least is not None and models >= least:
        return
    takes = "no number of models would do" if least is None else f"it takes models={least}"
    curve = "" if claim.curve else "; a Claim with its curve takes far fewer"
    raise BadInput(
        f"{models:,} models could not refute an epsilon of {claim.epsilon:g} at a false "
        f"alarm of {power(false_alarm)} even if no guess were wrong; {takes}. Give more of them, "
        f"or test a training with more noise, of which a smaller epsilon is claimed{curve}",
        "cannot-refute",
        option="models",
        value=models,
    )


def _command(config: Config, train: Any, claim: Claim, data: Any, canary: Any) -> str:
    """The command that audits the same, with a page and figures; none if it could not name it."""
    name = _named(train)
    if name is None or claim.curve or not isinstance(data, str) or not isinstance(canary, str):
        return ""
    stated = claim.epsilon, claim.delta
    return command_line(config.changed(mechanism=name, claim=stated, data=data, canary=canary))


def _named(train: Any) -> str | None:
    """FILE:FUNCTION, by which `dpaudit run` finds the same function; None if it would not."""
    module = sys.modules.get(getattr(train, "__module__", None) or "")
    file, name = getattr(module, "__file__", None), getattr(train, "__name__", "")
    if module is None or file is None or module.__name__ != Path(file).stem:
        return None
    return f"{os.path.relpath(file)}:{name}" if getattr(module, name, None) is train else None
