"""The configuration of a run: all settings, their hash, and their TOML file."""

from __future__ import annotations

import hashlib
import json
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
    RecordSource,
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
"""The place of the data, which changes no number; `fingerprint` identifies their content."""

JUDGING = frozenset(field.name for field in fields(Judging))
"""Settings that change how trials are judged, not the trials."""

TRAINING = frozenset(
    field.name for group in (Privacy, Training, Attacker) for field in fields(group)
) - {"samples"}
"""Settings of dpaudit's own training."""

OWN = "own-function"
"""The name of a user's own function in `dpaudit explain`."""

LARGEST = 1 << 20
"""The largest size of a configuration file in bytes; dpaudit writes some hundred."""


@dataclass(frozen=True)
class Config:
    """Everything that changes a number of a run, in groups without a name in common."""

    source: RecordSource = RecordSource()
    planting: Planting = Planting()
    target: Target = Target()
    attacker: Attacker = Attacker()
    privacy: Privacy = Privacy()
    training: Training = Training()
    volume: Volume = Volume()
    judging: Judging = Judging()

    def __post_init__(self) -> None:
        checks.refuse(self._conflicts())

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

    def _conflicts(self) -> Iterator[BadInput]:
        """Find settings that exclude each other."""
        if self.volume.until_decided:
            yield from conflicts_until_decided(self.judging)
            if self.attacker.adversary == PER_STEP.name:
                sentence = "per-step scores all steps of two trainings; leave --until-decided out"
                yield _excluded(sentence, "until_decided", by="adversary")
        if not self.attacker.one_run:
            return
        if self.attacker.adversary != WHITE_BOX.name:
            sentence = f"many canaries are gradients; they take --adversary {WHITE_BOX.name}"
            yield _excluded(sentence, "adversary", by="canaries")
        if self.volume.models != Volume.models:
            sentence = "--canaries (one training) and --models (many trainings) exclude each other"
            yield _excluded(sentence, "models", by="canaries")
        if self.volume.until_decided:
            sentence = "one training with many canaries cannot stop; leave --until-decided out"
            yield _excluded(sentence, "until_decided", by="canaries")
        for name in ("primary", "estimator", "defence", "raw_scores"):
            if getattr(self.judging, name) != getattr(Judging, name):
                sentence = f"guesses on many canaries are judged without {name}; leave it out"
                yield _excluded(sentence, name, by="canaries")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without those that are None or have no effect."""
        values = self.flat()
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        # `outputs` stays for every mechanism, because the names of run folders depend on it.
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
        """Return the configuration of plain values; refuse all unknown or ill-typed ones."""
        given = _typed(values)
        return cls.of(**{**plugin_defaults(given), **given})

    def to_toml(self) -> str:
        """Return the TOML file that repeats the run."""
        return tomli_w.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, path: Path) -> Config:
        """Return the configuration of a TOML file."""
        values = read_toml(path)
        try:
            return cls.from_dict(values)
        except BadInput as error:
            raise error.with_sentence(f"{path} is not a usable configuration: {error}") from error

    def digest(self) -> str:
        """Return the hash that names the run's folder."""
        # Typed, so that 8 and 8.0 are the same epsilon.
        return digest(_typed(self.to_dict()))


GROUPS: Mapping[str, type] = {group.name: type(group.default) for group in fields(Config)}


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values as the types of their settings; refuse all that are of another type."""
    given: dict[str, Any] = {}
    problems: list[BadInput] = []
    for name, value in values.items():
        if name not in _TYPES:
            problems.append(_unknown(name))
        elif (usable := _as(_TYPES[name], value)) is None:
            sentence = f"{name} cannot be {checks.format_value(value)}"
            problems.append(BadInput(sentence, "wrong-type", option=name, value=value))
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
    """Find choices of how to judge that exclude --until-decided."""
    for name in ("primary", "estimator"):
        if getattr(judging, name) != "auto":
            sentence = f"--until-decided combines all attacks; --{name} cannot be set"
            yield _excluded(sentence, name, by="until_decided")
    if judging.raw_scores:
        sentence = "--until-decided rounds scores; --raw-scores cannot be set"
        yield _excluded(sentence, "raw_scores", by="until_decided")


def _excluded(sentence: str, option: str, by: str) -> BadInput:
    """Return the problem of an option that excludes another one, which is its value."""
    return BadInput(sentence, "excluded-options", option=option, value=by)


def _unknown(name: str) -> BadInput:
    sentence = f"there is no setting {checks.format_value(name)}"
    return BadInput(sentence, "unknown-name", option=name)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the plain values of a TOML file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise _unusable(path, f"it has more than {LARGEST:,} bytes", "file-too-large")
        return tomllib.loads(content.decode())
    except BadInput:
        raise
    except OSError as error:
        codes = {FileNotFoundError: "file-missing", IsADirectoryError: "is-folder"}
        code = codes.get(type(error), "file-unreadable")
        raise _unusable(path, error.strerror or error, code) from error
    except RecursionError as error:
        raise _unusable(path, "its values are nested too deeply", "wrong-format") from error
    except ValueError as error:
        raise _unusable(path, error, "wrong-format") from error


def _unusable(path: Path, why: object, code: str) -> BadInput:
    return BadInput(f"{path} is not a usable configuration: {why}", code, value=str(path))


def plugin_defaults(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults that the given mechanism and adversary change.

    Those of a mechanism are its constructor's, and its `default_settings`.
    """
    changed: dict[str, Any] = {}
    if given.get("mechanism") in registry.names("mechanisms"):
        plugin = registry.load("mechanisms", given["mechanism"])
        for name, parameter in registry.parameters(plugin).items():
            value = parameter.default
            if name in DEFAULT and value not in (None, parameter.empty, DEFAULT[name]):
                changed[name] = value
        changed |= plugin.default_settings
    adversary = ADVERSARIES.get(given.get("adversary", OBSERVER.name))
    changed |= adversary.default_settings if adversary else {}
    if "epochs" in given:
        changed.pop("steps", None)
    if given.get("noise_multiplier") is not None:
        changed.pop("epsilon", None)
    return changed


def unused_settings(mechanism: str) -> frozenset[str]:
    """Return the settings that have no effect on a mechanism, which does not take them."""
    name = OWN if ":" in mechanism else mechanism
    if name not in registry.names("mechanisms"):
        return frozenset({"outputs"})  # the unknown name is refused later
    taken = registry.parameters(registry.load("mechanisms", name))
    return (TRAINING | {"outputs", "samples"}) - taken.keys()


def digest(settings: Mapping[str, Any]) -> str:
    """Return a short hash of all settings that change a number."""
    hashed = {k: v for k, v in settings.items() if k not in UNHASHED}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:12]


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return the differences between the settings of two runs, one phrase a setting."""

    def text_of(settings: Mapping[str, Any], key: str) -> str:
        text = str(settings.get(key, "none"))
        return text[:12] if key == "fingerprint" else text

    there, here = _with_current_names(there), _with_current_names(here)
    return [
        f"{key}: {text_of(there, key)} there, {text_of(here, key)} here"
        for key in sorted(there.keys() | here.keys())
        if key not in UNHASHED and there.get(key) != here.get(key)
    ]


def _with_current_names(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings with the names that attacks have now; an old run's may have been renamed."""
    if "attacks" not in settings:
        return settings
    now = [registry.current_name("attacks", name) for name in settings["attacks"]]
    return {**settings, "attacks": now}


_TYPES: dict[str, str] = {
    field.name: str(field.type).removesuffix(" | None")
    for group in GROUPS.values()
    for field in fields(group)
}


def _as(wanted: str, value: Any) -> Any:
    """Return a plain value as the type of a setting, or None if it is of another type."""
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
    fits = isinstance(value, kinds) and (bool in kinds) == isinstance(value, bool)
    return value if fits else None


DEFAULT: Mapping[str, Any] = Config().flat()
"""The default of every setting."""
