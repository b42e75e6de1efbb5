"""The configuration of a run: complete, hashed, in and out of TOML."""

from __future__ import annotations

import hashlib
import inspect
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from dpaudit import checks, registry
from dpaudit.config.adversaries import ADVERSARIES, OBSERVER, PER_STEP, WHITE_BOX
from dpaudit.config.settings import (
    Attacker,
    Judging,
    Planting,
    Privacy,
    Source,
    Target,
    Training,
    Volume,
)
from dpaudit.errors import BadInput, DpauditError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

UNHASHED = frozenset({"data", "data_root"})
"""Where the data lie changes no number: `fingerprint` says what they are."""

JUDGING = frozenset(field.name for field in fields(Judging))
"""Settings that change how trials are judged, not the trials."""

TRAINING = frozenset(
    field.name for group in (Privacy, Training, Attacker) for field in fields(group)
) - {"samples"}
"""Settings of dpaudit's own training, which other mechanisms may do without."""

ASKED = TRAINING | {"outputs", "samples"}
"""Settings that have an effect only on a mechanism that asks for them."""

OWN = "own-function"
"""The name by which `dpaudit explain` tells of a user's own function."""

LARGEST = 1 << 20
"""Bytes of a configuration file; one that is written here has some hundred."""

GROUPS: Mapping[str, type] = {
    "source": Source,
    "planting": Planting,
    "target": Target,
    "attacker": Attacker,
    "privacy": Privacy,
    "training": Training,
    "volume": Volume,
    "judging": Judging,
}
"""The groups that make up a configuration. No two of them have a setting of the same name."""


@dataclass(frozen=True)
class Config:
    """Everything that changes a number of a run, and nothing else, in groups."""

    source: Source = Source()
    planting: Planting = Planting()
    target: Target = Target()
    attacker: Attacker = Attacker()
    privacy: Privacy = Privacy()
    training: Training = Training()
    volume: Volume = Volume()
    judging: Judging = Judging()

    def __post_init__(self) -> None:
        checks.refuse([*self._until_decided(), *self._one_run()])

    @classmethod
    def of(cls, **values: Any) -> Config:
        """Return the configuration of settings by name; refuse all that is wrong with them."""
        return cls(**_grouped(values, lambda name: {}))

    def changed(self, **values: Any) -> Config:
        """Return the same configuration with other values of some settings.

        Noise takes the place of an epsilon, and an epsilon that of noise.
        """
        for one, other in (("noise_multiplier", "epsilon"), ("epsilon", "noise_multiplier")):
            if values.get(one) is not None:
                values.setdefault(other, None)
        return replace(self, **_grouped(values, lambda name: vars(getattr(self, name))))

    def flat(self) -> dict[str, Any]:
        """Return every setting by name."""
        return {
            field.name: getattr(getattr(self, name), field.name)
            for name, group in GROUPS.items()
            for field in fields(group)
        }

    @property
    def seed(self) -> int:
        """The root of every random number of the run."""
        return self.volume.seed

    def _until_decided(self) -> Iterator[BadInput]:
        """Find settings that conflict with --until-decided."""
        if not self.volume.until_decided:
            return
        yield from conflicts_until_decided(self.judging)
        if self.attacker.adversary == PER_STEP.name:
            yield _excluded(
                "trials by step are all steps of two trainings, and cannot stop early; leave "
                "until-decided out",
                "until_decided",
                by="adversary",
            )

    def _one_run(self) -> Iterator[BadInput]:
        """Find settings that conflict with --canaries."""
        if not self.attacker.one_run:
            return
        if self.attacker.adversary != WHITE_BOX.name:
            yield _excluded(
                "many canaries are gradients that are put into one training and looked for in its "
                f"updates; they take --adversary {WHITE_BOX.name}",
                "adversary",
                by="canaries",
            )
        if self.volume.models != Volume.models:
            yield _excluded(
                "canaries are of one training, and models of many; give either",
                "models",
                by="canaries",
            )
        if self.volume.until_decided:
            yield _excluded(
                "one training with many canaries cannot stop early; leave until-decided out",
                "until_decided",
                by="canaries",
            )
        for name in ("primary", "estimator", "defence", "raw_scores"):
            if getattr(self.judging, name) != getattr(Judging, name):
                yield _excluded(
                    f"guesses on many canaries leave no {name} to choose", name, by="canaries"
                )

    def to_dict(self) -> dict[str, Any]:
        """As plain values; what is None, not asked for or idle at the mechanism is left out."""
        values = self.flat()
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        # What a model gives back is told of every mechanism: by this the folders of runs are named.
        left_out = unused_settings(self.target.mechanism) - {"outputs"}
        if not self.target.set:
            left_out |= {"set"}
        left_out |= {n for n in ("until_decided", "raw_scores") if not values[n]}
        if self.attacker.adversary == OBSERVER.name:
            left_out |= {"adversary"}
        if self.training.steps is not None:
            left_out |= {"epochs"}
        left_out |= {"models"} if self.attacker.one_run else {"canaries"}
        return {k: v for k, v in plain.items() if v is not None and k not in left_out}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """The configuration of plain values; unknown or ill-typed ones are refused together."""
        given = _typed(values)
        return cls.of(**{**plugin_defaults(given), **given})

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
            raise error.with_sentence(f"{path} is not a usable configuration: {error}") from error

    def digest(self) -> str:
        """The hash that names the run's folder."""
        # As their types, so that 8 and 8.0 are the same epsilon.
        return digest(_typed(self.to_dict()))


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values as the types of their settings; refuse all that are of another type."""
    given: dict[str, Any] = {}
    problems: list[BadInput] = []
    for name, value in values.items():
        if name not in _TYPES:
            problems.append(_unknown(name))
        elif (usable := _as(_TYPES[name], value)) is None:
            said = f"{name} cannot be {checks.format_value(value)}"
            problems.append(BadInput(said, "wrong-type", option=name, value=value))
        else:
            given[name] = usable
    checks.refuse(problems)
    return given


def _grouped(
    values: Mapping[str, Any], start: Callable[[str], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the groups that have some of these settings, beside what each starts with."""
    made: dict[str, Any] = {}
    problems: list[DpauditError] = [_unknown(name) for name in values if name not in _TYPES]
    for name, group in GROUPS.items():
        mine = {f.name: values[f.name] for f in fields(group) if f.name in values}
        try:
            made |= {name: group(**{**start(name), **mine})} if mine else {}
        except BadInput as error:
            problems += error.problems or [error]
    checks.refuse(problems)
    return made


def conflicts_until_decided(judging: Judging) -> Iterator[BadInput]:
    """Find choices of how to judge that conflict with --until-decided."""
    for name in ("primary", "estimator"):
        if getattr(judging, name) != "auto":
            yield _excluded(
                f"until decided, all attacks bet together, which leaves no {name} to choose",
                name,
                by="until_decided",
            )
    if judging.raw_scores:
        yield _excluded(
            "what decides when to stop is rounded; give either raw_scores or until_decided",
            "raw_scores",
            by="until_decided",
        )


def _unknown(name: str) -> BadInput:
    return BadInput(f"there is no setting {checks.format_value(name)}", "unknown-name", option=name)


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
        code = "is-folder" if isinstance(error, IsADirectoryError) else "file-unreadable"
        raise _unusable(path, error.strerror or error, code) from error
    except RecursionError as error:
        raise _unusable(path, "its values are nested too deeply", "wrong-format") from error
    except ValueError as error:
        raise _unusable(path, error, "wrong-format") from error


def _unusable(path: Path, why: object, code: str) -> BadInput:
    return BadInput(f"{path} is not a usable configuration: {why}", code, value=str(path))


def _excluded(sentence: str, option: str, by: str) -> BadInput:
    """Return the problem of an option that excludes another one, which is its value."""
    return BadInput(sentence, "excluded-options", option=option, value=by)


def plugin_defaults(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults that the given mechanism and adversary change.

    Those of a mechanism are its constructor's, and its `default_settings`.
    """
    sets: dict[str, Any] = {}
    if given.get("mechanism") in registry.names("mechanisms"):
        plugin = registry.load("mechanisms", given["mechanism"])
        asked = registry.parameters(plugin).items()
        own = {n: p.default for n, p in asked if n in _TYPES and n != "data"}
        unsaid = (None, inspect.Parameter.empty)
        sets |= {n: v for n, v in own.items() if v not in unsaid and v != DEFAULT[n]}
        sets |= plugin.default_settings
    named = given.get("adversary", OBSERVER.name)
    sets |= ADVERSARIES[named].default_settings if named in ADVERSARIES else {}
    if "epochs" in given:
        sets.pop("steps", None)
    if given.get("noise_multiplier") is not None:
        sets.pop("epsilon", None)
    return sets


def unused_settings(mechanism: str) -> frozenset[str]:
    """The settings that have no effect on a mechanism, because it does not ask for them."""
    name = OWN if ":" in mechanism else mechanism
    if name not in registry.names("mechanisms"):
        return frozenset({"outputs"})  # refused where it is made
    asked = {*registry.parameters(registry.load("mechanisms", name))}
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


_TYPES: dict[str, str] = {
    field.name: str(field.type).removesuffix(" | None")
    for group in GROUPS.values()
    for field in fields(group)
}


def _as(wanted: str, value: Any) -> Any:
    """A plain value as the type that a setting is annotated with, or None if it is not one."""
    if wanted in ("tuple[str, ...]", "Sequence[str]"):
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


DEFAULT: Mapping[str, Any] = Config().flat()
"""Every setting as it is where nothing is said."""

# ----------------------------------------------------------------
# The command that plays a configuration: for a reader who wants to see it again.


def command_line(config: Config) -> str:
    """`dpaudit run` with every setting that is not the default."""
    words = ["dpaudit", "run"]
    for name, value in config.flat().items():
        # What is None gives way to another setting, which brings that about.
        if value not in (None, DEFAULT[name]):
            words += _words(name, value)
    return shlex.join(words)


def _words(name: str, value: Any) -> Iterator[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield flag if value else flag.replace("--", "--no-", 1)
    elif name == "claim":
        yield from (flag, ",".join(repr(number) for number in value))
    elif isinstance(value, tuple):
        # Of settings that may be repeated the command line has the singular.
        for one in value:
            yield from (flag.removesuffix("s") if name == "attacks" else flag, one)
    else:
        yield from (flag, str(value))
