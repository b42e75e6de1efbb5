"""Settings of a run in groups, which mechanisms take and the command line and TOML files fill.

Each group checks its own values when it is made. What takes no groups, such as an own function
in Python, checks what it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dpaudit import checks, registry
from dpaudit.accounting import NUMERICAL
from dpaudit.config.adversaries import ADVERSARIES, OBSERVER
from dpaudit.errors import BadInput

BACKENDS = ("auto", "native", "torch", "opacus")
"""Implementations of DP-SGD: the fastest that can train the network, or one by name."""

ALL = "all"
"""The primary if every attack decides, at its share of the error probability."""

Problems: TypeAlias = Iterator[BadInput | None]


class Group:
    """Settings that check their own values."""

    def __post_init__(self) -> None:
        checks.refuse(self._problems())

    def _problems(self) -> Problems:
        yield None


@dataclass(frozen=True)
class RecordSource(Group):
    """The source of the records."""

    data: str = "digits"
    data_root: str | None = None
    size: int | None = None
    label: str | None = None
    bounds: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fingerprint: str | None = None
    """Hash of the records."""

    def _problems(self) -> Problems:
        yield None if self.size is None else checks.at_least("size", self.size, 1)


@dataclass(frozen=True)
class Planting(Group):
    """The choice of the canary."""

    canary: str = "adv-maxloss"
    clip_canary: bool = False


@dataclass(frozen=True)
class Target(Group):
    """The audited mechanism, and its claim."""

    mechanism: str = "dpsgd"
    set: tuple[str, ...] = ()
    """Settings of the mechanism's own, each as NAME=VALUE."""
    code: str | None = None
    """Hash of the user's code, if that is audited."""
    outputs: str = "logits"
    claim: tuple[float, float] | None = None

    def _problems(self) -> Problems:
        epsilon, delta = self.claim or (1.0, 0.0)
        yield checks.one_of("outputs", self.outputs, ("logits", "probabilities"))
        yield checks.of("claim", checks.positive("the claimed epsilon", epsilon))
        yield checks.of("claim", checks.in_range("the claimed delta", delta, 0, 1, ends="[)"))


@dataclass(frozen=True)
class Attacker(Group):
    """The adversary, its number of queries to a model, and its number of canaries."""

    adversary: str = OBSERVER.name
    samples: int = 1000
    canaries: int = 1
    guesses: int | None = None

    def _problems(self) -> Problems:
        yield checks.one_of("adversary", self.adversary, tuple(ADVERSARIES))
        yield checks.at_least("samples", self.samples, 1)
        wrong = checks.at_least("canaries", self.canaries, 1)
        yield wrong
        if self.guesses is None or wrong:
            return
        if self.one_run:
            yield checks.whole("guesses", self.guesses, 1, self.canaries)
        else:
            sentence = "guesses are made on many canaries in one training; set --canaries, too"
            yield BadInput(sentence, "needs-option", option="guesses", value="canaries")

    @property
    def one_run(self) -> bool:
        """True if one training holds many canaries, each by a coin."""
        return self.canaries > 1


@dataclass(frozen=True)
class Budget(Group):
    """The privacy budget of DP-SGD: a claimed epsilon, or the noise."""

    epsilon: float | None = None
    """8 if there is no noise multiplier."""
    noise_multiplier: float | None = None
    delta: float = 1e-5
    clip: float = 1.0

    def __post_init__(self) -> None:
        if self.epsilon is None and self.noise_multiplier is None:
            object.__setattr__(self, "epsilon", 8.0)
        super().__post_init__()

    def _problems(self) -> Problems:
        if self.epsilon is not None and self.noise_multiplier is not None:
            sentence, option = "give either epsilon or noise_multiplier", "noise_multiplier"
            yield BadInput(sentence, "excluded-options", option=option, value="epsilon")
        for name in ("epsilon", "noise_multiplier", "clip"):
            if (value := getattr(self, name)) is not None:
                yield checks.positive(name, value)
        yield checks.in_range("delta", self.delta, 0, 1, ends="()")


@dataclass(frozen=True)
class Privacy(Budget):
    """The privacy budget of DP-SGD, and the accountant that computes it."""

    accountant: str = "pld"

    def _problems(self) -> Problems:
        yield from super()._problems()
        yield checks.one_of("accountant", self.accountant, NUMERICAL)


@dataclass(frozen=True)
class Schedule(Group):
    """Number and size of the steps of a training."""

    epochs: int = 60
    steps: int | None = None
    """Instead of epochs."""
    batch: int | str = 256
    """Expected records a step, or 'full'."""
    lr: float = 1.0

    def _problems(self) -> Problems:
        yield checks.at_least("epochs", self.epochs, 1)
        yield None if self.steps is None else checks.at_least("steps", self.steps, 1)
        yield None if self.batch == "full" else checks.at_least("batch", self.batch, 1)
        yield checks.positive("lr", self.lr)

    def sample_rate(self, records: int) -> float:
        """Return q, the chance of a record to be in a batch, for a public number of records."""
        return 1.0 if self.batch == "full" else min(1.0, int(self.batch) / records)

    def rounds(self, records: int) -> int:
        """Return T: as stated, else as many batches as the epochs hold, rounded down."""
        if self.steps is not None:
            return self.steps
        return max(1, int(self.epochs / self.sample_rate(records) + 1e-9))


@dataclass(frozen=True)
class Training(Schedule):
    """The training of a network, without its noise."""

    network: str = "cnn-small"
    dropout: float = 0.5
    init: str = "random"
    backend: str = "auto"

    def _problems(self) -> Problems:
        yield from super()._problems()
        yield checks.in_range("dropout", self.dropout, 0, 1, ends="[)")
        yield checks.one_of("init", self.init, ("random", "fixed"))
        yield checks.one_of("backend", self.backend, BACKENDS)


@dataclass(frozen=True)
class Volume(Group):
    """The number of models, when to stop, and the root seed."""

    models: int = 1000
    """Rounded up to a multiple of 4: both worlds have a choosing and a judging half."""
    until_decided: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.models, int) and self.models > 0:
            object.__setattr__(self, "models", -(-self.models // 4) * 4)
        super().__post_init__()

    def _problems(self) -> Problems:
        yield checks.at_least("models", self.models, 4)
        yield checks.at_least("seed", self.seed, 0)


@dataclass(frozen=True)
class Judging(Group):
    """The choices of a judgement: attacks, the one that decides, defence, estimator, confidence.

    Of the default attacks those take part that fit the observations; named ones must fit.
    """

    attacks: Sequence[str] = ("loss", "mean+std", "min+max", "all-four", "learned", "released")
    primary: str = "auto"
    defence: str = "none"
    estimator: str = "auto"
    raw_scores: bool = False
    confidence: float = 0.95

    def __post_init__(self) -> None:
        given = (self.attacks,) if isinstance(self.attacks, str) else self.attacks
        names = tuple(registry.current_name("attacks", name) for name in given)
        object.__setattr__(self, "attacks", names)
        object.__setattr__(self, "primary", registry.current_name("attacks", self.primary))
        super().__post_init__()

    def _problems(self) -> Problems:
        if self.attacks:
            yield checks.one_of("primary", self.primary, ("auto", ALL, *self.attacks))
        else:
            yield BadInput("name at least one attack", "missing-options", option="attacks")
        yield checks.in_range("confidence", self.confidence, 0.5, 1, ends="()")
