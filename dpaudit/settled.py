"""What is settled before the first trial, so that a resumed run and every later judgement agree."""

from __future__ import annotations

import platform

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.journal import Journal
from dpaudit.protocols import Mechanism
from dpaudit.suspicions import idle_canary
from dpaudit.types import Canary, Claim, Known, Pair
from dpaudit.versions import differing, versions

GIVEN = "given "
"""Before the names of what an adversary has chosen, among all that it knows."""

PAIRING = ("removed", "inserted", "record", "replaces")
"""What of a canary says how the two worlds are made of it."""


def settle(
    journal: Journal, mechanism: Mechanism, claim: Claim, pair: Pair, equal_pairs: int = 0
) -> None:
    """Write down the claim, the canary, the sizes and what else a report tells.

    `equal_pairs` is the number of seeds that released the same in both worlds, if all did.
    """
    c = pair.canary
    about = dict(mechanism.about(pair)) if hasattr(mechanism, "about") else {}
    cautions = [*getattr(mechanism, "cautions", ()), *about.pop("warnings", ())]
    facts = {
        "claim": claim.to_dict(),
        "data": {**pair.about, "out": len(pair.out), "in": len(pair.inn)},
        "canary": {"name": c.name, "made": c.made, **({"label": c.y} if c.record else {})},
        "pairing": {name: getattr(c, name) for name in PAIRING},
        "adversary": getattr(mechanism, "adversary", "sees what the mechanism releases"),
        "deployment": getattr(mechanism, "deployment", ""),
        "breaks": getattr(mechanism, "breaks", ""),
        "backend": {
            "name": getattr(mechanism, "backend", "none"),
            "reason": getattr(mechanism, "backend_reason", "the mechanism's own"),
        },
        "versions": {"python": platform.python_version(), **versions()},
        "warnings": cautions,
        "untested": idle_canary(pair, equal_pairs),
        **about,
    }
    known = {"test_y": pair.test.y}
    if c.record:
        known |= {"label": np.array(c.y), "canary": c.x}
    if c.original is not None:
        known["original"] = c.original
    chosen = {GIVEN + name: array for name, array in pair.given.items()}
    journal.settle(facts, {**known, **chosen, **getattr(mechanism, "known", {})})


def given(journal: Journal) -> Known:
    """What the adversary had chosen beside the canary."""
    there = journal.known.items()
    return {n.removeprefix(GIVEN): a for n, a in there if n.startswith(GIVEN)}


def refuse_other_versions(journal: Journal) -> None:
    """Refuse to go on by other code than the run was begun with: its trials would not be alike."""
    begun = (journal.facts or {}).get("versions", {})
    if other := differing(begun, versions()):
        raise BadInput(
            f"{journal.path.parent} was begun with other versions ({other}); "
            "go on with those, or choose another --out",
            "other-versions",
            value=other,
        )


def canary(journal: Journal) -> Canary | None:
    """The canary that was settled, or None where nothing is settled yet."""
    facts, known = journal.facts, journal.known
    if facts is None:
        return None
    told = facts["canary"]
    return Canary(
        x=known.get("canary", np.zeros(0, np.float32)),
        y=told.get("label", 0),
        name=told["name"],
        made=told["made"],
        original=known.get("original"),
        **facts["pairing"],
    )
