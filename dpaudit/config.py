"""The configuration of a run: complete, hashed, in and out of TOML."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import tomli_w

from dpaudit import checks, registry
from dpaudit.accounting import NUMERICAL
from dpaudit.adversaries import ADVERSARIES, OBSERVER, PER_STEP, WHITE_BOX
from dpaudit.errors import BadInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

UNHASHED = frozenset({"data", "data_root"})
"""Where the data lie changes no number: `fingerprint` says what they are."""

JUDGING = frozenset({"attacks", "primary", "estimator", "confidence", "defence", "raw_scores"})
"""Settings that change how trials are judged, not the trials."""

TRAINING = frozenset(
    {"network", "epsilon", "noise_multiplier", "delta", "accountant", "epochs", "batch", "lr"}
    | {"steps", "clip", "dropout", "init", "backend", "adversary", "canaries", "guesses"}
)
"""Settings of dpaudit's own training, which other mechanisms may do without."""

ASKED = TRAINING | {"outputs", "samples"}
"""Settings that have an effect only on a mechanism that asks for them."""

OWN = "own-function"
"""The name by which `dpaudit explain` tells of a user's own function."""

LARGEST = 1 << 20
"""Bytes of a configuration file; one that is written here has some hundred."""

BACKENDS = ("auto", "native", "torch", "opacus")
"""What `--backend` takes: the fastest that can train the network, or one by name."""


@dataclass(frozen=True)
class Config:
    """Everything that changes a number of a run, and nothing else."""

    data: str = "digits"
    data_root: str | None = None
    size: int | None = None
    label: str | None = None
    bounds: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fingerprint: str | None = None
    canary: str = "adv-maxloss"
    clip_canary: bool = False
    mechanism: str = "dpsgd"
    set: tuple[str, ...] = ()
    adversary: str = OBSERVER.name
    code: str | None = None
    outputs: str = "logits"
    network: str = "cnn-small"
    epsilon: float | None = 8.0
    noise_multiplier: float | None = None
    delta: float = 1e-5
    accountant: str = "pld"
    epochs: int = 60
    steps: int | None = None
    batch: int | str = 256
    lr: float = 1.0
    clip: float = 1.0
    dropout: float = 0.5
    init: str = "random"
    samples: int = 1000
    models: int = 1000
    canaries: int = 1
    guesses: int | None = None
    until_decided: bool = False
    attacks: tuple[str, ...] = ("loss", "mean+std", "min+max", "all-four", "learned", "released")
    primary: str = "auto"
    defence: str = "none"
    estimator: str = "auto"
    raw_scores: bool = False
    claim: tuple[float, float] | None = None
    confidence: float = 0.95
    seed: int = 0
    backend: str = "auto"

    def __post_init__(self) -> None:
        # Both worlds have a choosing and a judging half, so models come in fours.
        if isinstance(self.models, int) and self.models > 0:
            object.__setattr__(self, "models", -(-self.models // 4) * 4)

    def check(self) -> Config:
        """Itself, or one error that names everything that is wrong with it."""
        epsilon, delta = self.claim or (1.0, 0.0)
        checks.refuse(
            [
                self._noise(),
                *(
                    checks.positive(name, value)
                    for name in ("epsilon", "noise_multiplier", "lr", "clip")
                    if (value := getattr(self, name)) is not None
                ),
                checks.in_range("delta", self.delta, 0, 1, ends="()"),
                checks.in_range("dropout", self.dropout, 0, 1, ends="[)"),
                checks.in_range("confidence", self.confidence, 0.5, 1, ends="()"),
                checks.at_least("epochs", self.epochs, 1),
                None if self.steps is None else checks.at_least("steps", self.steps, 1),
                checks.at_least("samples", self.samples, 1),
                checks.at_least("models", self.models, 4),
                checks.at_least("seed", self.seed, 0),
                None if self.batch == "full" else checks.at_least("batch", self.batch, 1),
                checks.one_of("accountant", self.accountant, NUMERICAL),
                checks.one_of("init", self.init, ("random", "fixed")),
                checks.one_of("backend", self.backend, BACKENDS),
                checks.one_of("adversary", self.adversary, tuple(ADVERSARIES)),
                checks.one_of("outputs", self.outputs, ("logits", "probabilities")),
                None if self.size is None else checks.at_least("size", self.size, 1),
                checks.of("claim", checks.positive("the claimed epsilon", epsilon)),
                checks.of("claim", checks.in_range("the claimed delta", delta, 0, 1, ends="[)")),
                None
                if self.attacks
                else BadInput("name at least one attack", "missing-options", option="attacks"),
                *self._until_decided(),
                *self._one_run(),
            ]
        )
        return self

    @property
    def one_run(self) -> bool:
        """Whether it is one training that holds many canaries, each of them by a coin."""
        return self.canaries > 1

    def _noise(self) -> BadInput | None:
        """What is wrong with how the noise is given: by an epsilon, or by its scale."""
        said = "give either epsilon or noise_multiplier"
        if self.epsilon is None and self.noise_multiplier is None:
            return BadInput(said, "missing-options", option="epsilon")
        if self.epsilon is None or self.noise_multiplier is None:
            return None
        return _excluded(said, "noise_multiplier", by="epsilon")

    def _until_decided(self) -> Iterator[BadInput]:
        """What is wrong with what else is said of a run that stops as soon as it is decided."""
        if not self.until_decided:
            return
        for name in ("primary", "estimator"):
            if getattr(self, name) != "auto":
                yield _excluded(
                    f"until decided, all attacks bet together, which leaves no {name} to choose",
                    name,
                    by="until_decided",
                )
        if self.adversary == PER_STEP.name:
            yield _excluded(
                "trials by step are all steps of two trainings, and cannot stop early; leave "
                "until-decided out",
                "until_decided",
                by="adversary",
            )
        if self.raw_scores:
            yield _excluded(
                "what decides when to stop is rounded; give either raw_scores or until_decided",
                "raw_scores",
                by="until_decided",
            )

    def _one_run(self) -> Iterator[BadInput | None]:
        """What is wrong with the number of canaries, and with what else is said of one run."""
        if (wrong := checks.at_least("canaries", self.canaries, 1)) or not self.one_run:
            few = "guesses are of one training with many canaries; say how many: --canaries"
            needs = BadInput(few, "needs-option", option="guesses", value="canaries")
            yield wrong or (None if self.guesses is None else needs)
            return
        if self.guesses is not None:
            wrong = checks.at_least("guesses", self.guesses, 1)
            if not wrong and self.guesses > self.canaries:
                wrong = BadInput(
                    f"{self.guesses:,} guesses are more than one for each of {self.canaries:,}",
                    "too-large",
                    option="guesses",
                    value=self.guesses,
                )
            yield wrong
        if self.adversary != WHITE_BOX.name:
            yield _excluded(
                "many canaries are gradients that are put into one training and looked for in its "
                f"updates; they take --adversary {WHITE_BOX.name}",
                "adversary",
                by="canaries",
            )
        if self.models != Config.models:
            yield _excluded(
                "canaries are of one training, and models of many; give either",
                "models",
                by="canaries",
            )
        if self.until_decided:
            yield _excluded(
                "one training with many canaries cannot stop early; leave until-decided out",
                "until_decided",
                by="canaries",
            )
        for name in ("primary", "estimator", "defence", "raw_scores"):
            if getattr(self, name) != getattr(Config, name):
                yield _excluded(
                    f"guesses on many canaries leave no {name} to choose", name, by="canaries"
                )

    def to_dict(self) -> dict[str, Any]:
        """As plain values; what is None, not asked for or idle at the mechanism is left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        # What a model gives back is told of every mechanism: by this the folders of runs are named.
        left_out = unasked(self.mechanism) - {"outputs"}
        if not self.set:
            left_out |= {"set"}
        left_out |= {n for n in ("until_decided", "raw_scores") if not getattr(self, n)}
        if self.adversary == OBSERVER.name:
            left_out |= {"adversary"}
        if self.steps is not None:
            left_out |= {"epochs"}
        left_out |= {"models"} if self.one_run else {"canaries"}
        return {k: v for k, v in plain.items() if v is not None and k not in left_out}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """The configuration of plain values; unknown or ill-typed ones are refused together."""
        given: dict[str, Any] = {}
        problems: list[BadInput] = []
        for name, value in values.items():
            if name not in _TYPES:
                said = f"there is no setting {checks.shown(name)}"
                problems.append(BadInput(said, "unknown-name", option=name))
            elif (usable := _as(_TYPES[name], value)) is None:
                said = f"{name} cannot be {checks.shown(value)}"
                problems.append(BadInput(said, "wrong-type", option=name, value=value))
            else:
                given[name] = usable
        checks.refuse(problems)
        if "noise_multiplier" in given:
            given.setdefault("epsilon", None)
        return cls(**{**brought(given), **given})

    def to_toml(self) -> str:
        """As a TOML file that plays the run again."""
        return tomli_w.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, path: Path) -> Config:
        """The configuration that a TOML file holds."""
        values = read_toml(path)
        try:
            return cls.from_dict(values)
        except BadInput as error:
            raise error.retold(f"{path} is not a usable configuration: {error}") from error

    def digest(self) -> str:
        """The hash that names the run's folder."""
        # Through `from_dict`, so that 8 and 8.0 are the same epsilon.
        return digest(Config.from_dict(self.to_dict()).to_dict())


def read_toml(path: Path) -> dict[str, Any]:
    """The plain values of a TOML file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise _unusable(path, f"it has more than {LARGEST:,} bytes", "file-too-large")
        return tomllib.loads(content.decode())
    except BadInput:
        raise
    except FileNotFoundError as error:
        raise _unusable(path, error.strerror, "file-missing") from error
    except OSError as error:
        raise _unusable(path, error.strerror or error, "file-unreadable") from error
    except RecursionError as error:
        raise _unusable(path, "its values are nested too deeply", "wrong-format") from error
    except ValueError as error:
        raise _unusable(path, error, "wrong-format") from error


def _unusable(path: Path, why: object, code: str) -> BadInput:
    return BadInput(f"{path} is not a usable configuration: {why}", code, value=str(path))


def _excluded(sentence: str, option: str, by: str) -> BadInput:
    """The problem of an option that goes not together with another one, which is its value."""
    return BadInput(sentence, "excluded-options", option=option, value=by)


def brought(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the mechanism and the adversary that are given bring along, unless it is given too.

    A mechanism says so by its `sets`.
    """
    sets: dict[str, Any] = {}
    if given.get("mechanism") in registry.names("mechanisms"):
        sets |= getattr(registry.load("mechanisms", given["mechanism"]), "sets", {})
    named = given.get("adversary", OBSERVER.name)
    sets |= ADVERSARIES[named].sets if named in ADVERSARIES else {}
    if "epochs" in given:
        sets.pop("steps", None)
    return sets


def unasked(mechanism: str) -> frozenset[str]:
    """The settings that have no effect on a mechanism, because it does not ask for them."""
    name = OWN if ":" in mechanism else mechanism
    if name not in registry.names("mechanisms"):
        return frozenset({"outputs"})  # refused where it is made
    asked = {*registry.asked(registry.load("mechanisms", name))}
    if "canaries" in asked:
        asked.add("guesses")  # which is asked for where they are judged
    return ASKED - asked


def digest(settings: Mapping[str, Any]) -> str:
    """A short hash of all settings that change a number."""
    hashed = {k: v for k, v in settings.items() if k not in UNHASHED}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:12]


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What differs between the settings of two runs, one phrase a setting."""

    def shown(settings: Mapping[str, Any], key: str) -> str:
        text = str(settings.get(key, "none"))
        return text[:12] if key == "fingerprint" else text

    return [
        f"{key}: {shown(there, key)} there, {shown(here, key)} here"
        for key in sorted(there.keys() | here.keys())
        if key not in UNHASHED and there.get(key) != here.get(key)
    ]


_TYPES: dict[str, str] = {f.name: str(f.type).removesuffix(" | None") for f in fields(Config)}


def _as(wanted: str, value: Any) -> Any:
    """A plain value as the type that a setting is annotated with, or None if it is not one."""
    if wanted == "tuple[str, ...]":
        usable = isinstance(value, list) and all(isinstance(v, str) for v in value)
        return tuple(value) if usable else None
    if wanted == "tuple[float, float]":
        numbers = [_as("float", v) for v in value] if isinstance(value, list) else []
        return tuple(numbers) if len(numbers) == 2 and None not in numbers else None
    if wanted == "float":
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if number and abs(value) <= sys.float_info.max else None
    kinds = tuple({"int": int, "str": str, "bool": bool}[kind] for kind in wanted.split(" | "))
    return (
        value if isinstance(value, kinds) and (bool in kinds) == isinstance(value, bool) else None
    )
