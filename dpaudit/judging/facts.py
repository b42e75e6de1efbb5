"""Facts that are settled before the first trial. A resumed run and every judgement use them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from dpaudit.errors import BadInput
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


@dataclass(frozen=True, kw_only=True)
class Settled(About):
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
    def from_dict(cls, values: Mapping[str, Any]) -> Settled:
        """Read what `to_dict` wrote; older runs lack what has a default."""
        made = {
            "claim": Claim.from_dict(values["claim"]),
            "canary": CanaryFacts(**values["canary"]),
            "pairing": Pairing(**values.get("pairing", {})),
            "backend": Backend(**values["backend"]),
        }
        return cls(**{**values, **made})


def settle(
    journal: Journal, mechanism: Mechanism, claim: Claim, pair: Pair, equal_pairs: int = 0
) -> None:
    """Write down the claim, the canary, the sizes and what else a report tells.

    `equal_pairs` is the number of seeds that released the same in both worlds, if all did.
    """
    c = pair.canary
    about = vars(mechanism.about(pair))
    data = about["data"] or {**pair.about, "out": len(pair.out), "in": len(pair.inn)}
    settled = Settled(
        **{**about, "data": data},
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
    journal.settle(settled.to_dict(), {**known, **chosen})


def given(journal: Journal) -> Known:
    """What the adversary had chosen beside the canary."""
    there = journal.known.items()
    return {n.removeprefix(GIVEN): a for n, a in there if n.startswith(GIVEN)}


def refuse_other_versions(journal: Journal) -> None:
    """Refuse to go on by other code than the run was begun with: its trials would not be alike."""
    begun = Settled.from_dict(journal.facts or {}).versions
    if other := version_differences(begun, versions()):
        raise BadInput(
            f"{journal.path.parent} was begun with other versions ({other}); "
            "go on with those, or choose another --out",
            "other-versions",
            value=other,
        )


def canary(journal: Journal) -> Canary | None:
    """The canary that was settled, or None where nothing is settled yet."""
    if journal.facts is None:
        return None
    settled, known = Settled.from_dict(journal.facts), journal.known
    pairing = settled.pairing
    kind: Literal["record", "gradient", "nothing"] = "record"
    if not pairing.inserted:
        kind = "nothing" if pairing.record else "gradient"
    return Canary(
        x=known.get("canary", np.zeros(0, np.float32)),
        y=settled.canary.label or 0,
        name=settled.canary.name,
        made=settled.canary.made,
        original=known.get("original"),
        removed=pairing.removed,
        kind=kind,
        replaces=pairing.replaces,
    )
