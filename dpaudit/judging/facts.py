"""Facts that are stored before the first trial. A resumed run and every judgement use them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from dpaudit.errors import BadInput, wrap_errors
from dpaudit.journal import Journal
from dpaudit.judging.warnings import idle_canary
from dpaudit.protocols import Mechanism
from dpaudit.types import GIVEN, About, Backend, Canary, Claim, Known, Pair
from dpaudit.versions import version_differences, versions


@dataclass(frozen=True)
class CanaryFacts:
    """The facts of the canary for a report. Only a record has a label."""

    name: str
    made: str
    label: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a journal or a report."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Pairing:
    """The way in which the two worlds are made of a canary."""

    removed: int | None = None
    inserted: bool = True
    record: bool = True
    replaces: bool = False

    @property
    def kind(self) -> Literal["record", "gradient", "nothing"]:
        """The kind of the canary."""
        if self.inserted:
            return "record"
        return "nothing" if self.record else "gradient"


@dataclass(frozen=True, kw_only=True)
class RunFacts(About):
    """All facts that the journal stores before the first trial."""

    claim: Claim
    data: Mapping[str, Any]
    canary: CanaryFacts
    pairing: Pairing = Pairing()
    backend: Backend
    versions: Mapping[str, str]
    untested: str = ""
    """The reason why the canary cannot change what is released, if there is one."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a journal."""
        return {**asdict(self), "claim": self.claim.to_dict(), "canary": self.canary.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunFacts:
        """Read what `to_dict` wrote; older runs lack what has a default."""
        made = {
            "claim": Claim.from_dict(values["claim"]),
            "canary": CanaryFacts(**values["canary"]),
            "pairing": Pairing(**values.get("pairing", {})),
            "backend": Backend(**values["backend"]),
        }
        return cls(**{**values, **made})

    @classmethod
    def of(cls, journal: Journal) -> RunFacts:
        """Read the facts that a journal stores."""
        return cls.from_dict(journal.facts or {})


RESERVED = frozenset({"label", "canary", "original", "test_y"})
"""Names of arrays that every run stores; a mechanism or a canary cannot take them."""


def collect(
    mechanism: Mechanism, claim: Claim, pair: Pair, equal_pairs: int = 0
) -> tuple[RunFacts, Known]:
    """Return the facts of a run, and the arrays that the adversary knows.

    `equal_pairs` is the number of seeds that released the same in both worlds, if all did.
    """
    c, name = pair.canary, type(mechanism).__name__
    if taken := sorted(RESERVED & pair.given.keys()):
        text = f"{name}: known and craft cannot use the name {taken[0]}, which every run stores"
        raise BadInput(text, "plug-in-broken", option="mechanism", value=taken[0])
    with wrap_errors(f"{name}.about"):
        described = mechanism.about(pair)
        if not isinstance(described, About):
            raise TypeError(f"it gave back {type(described).__name__}, not About")
    about = dict(vars(described))
    about["data"] = about["data"] or {**pair.about, "out": len(pair.out), "in": len(pair.inn)}
    facts = RunFacts(
        **about,
        claim=claim,
        canary=CanaryFacts(c.name, c.made, c.y if c.record else None),
        pairing=Pairing(c.removed, c.inserted, c.record, c.replaces),
        backend=mechanism.backend,
        versions={"python": platform.python_version(), **versions()},
        untested=idle_canary(pair, equal_pairs),
    )
    known = {"test_y": pair.test.y}
    if c.record:
        known |= {"label": np.array(c.y), "canary": c.x}
    if c.original is not None:
        known["original"] = c.original
    chosen = {GIVEN + name: array for name, array in pair.given.items()}
    return facts, {**known, **chosen}


def stored_choices(journal: Journal) -> Known:
    """Return what the adversary had chosen beside the canary."""
    there = journal.known.items()
    return {n.removeprefix(GIVEN): a for n, a in there if n.startswith(GIVEN)}


def stored_canary(journal: Journal) -> Canary | None:
    """Return the canary of a run; None if no facts are stored yet."""
    if journal.facts is None:
        return None
    facts, known = RunFacts.of(journal), journal.known
    x, how = known.get("canary", np.zeros(0, np.float32)), facts.pairing
    name, made, label = facts.canary.name, facts.canary.made, facts.canary.label or 0
    original = known.get("original")
    return Canary(x, label, name, made, how.removed, original, how.kind, how.replaces)


def refuse_other_versions(journal: Journal) -> None:
    """Refuse to resume a run with other versions: its trials would not be alike."""
    if other := version_differences(RunFacts.of(journal).versions, versions()):
        raise BadInput(
            f"{journal.path.parent} was started with other versions ({other}); "
            "resume it with those, or choose another --out",
            "other-versions",
            value=other,
        )
