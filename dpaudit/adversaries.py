"""Who attacks DP-SGD: what each adversary controls and sees, and what a bound against it means.

Differential privacy promises protection against all of them. The stronger one is, the nearer a
bound can come to the claim, and the less it says of an attack from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Adversary:
    """`sets` are settings of a run that it brings along, where its user does not give them."""

    name: str
    controlled: str
    saw: str
    follows: str
    sets: Mapping[str, Any] = field(default_factory=dict)

    asks: bool = True
    """Whether it asks the trained model about the canary, as anybody might."""

    crafts: bool = True
    """Whether it chooses the parameters that all trainings start from."""

    def __str__(self) -> str:
        return f"{self.name}: {self.controlled}; {self.saw}"


LINEAR: Mapping[str, Any] = {"steps": 10, "lr": 0.03, "dropout": 0.0, "samples": 1}
"""A few steps so small that the network stays a linear function of its parameters.

What every step adds of the canary then adds up, as in the worst case that accountants count
with: at this rate 98 to 99.7 % of it on digits, at ten times the rate 91 to 97 %. On a pool of
1,000 records and full batches it is 0.00003 on the summed gradient.
"""

CRAFTED = "chose the canary and the initial parameters, trained beforehand on disjoint data"

OBSERVER = Adversary(
    "observer",
    controlled="chose the canary",
    saw="sees what the trained model says of the canary, and nothing else",
    follows="an outsider with this canary and this attack could show as much; what stronger "
    "adversaries could show, it does not tell",
    crafts=False,
)

WORST_CASE = Adversary(
    "worst-case",
    controlled=CRAFTED,
    saw="sees what the trained model says of the canary, and nothing else",
    follows="the claim has to hold here, too, so that a violation is one; a model that starts "
    "from parameters which nobody crafted, and is trained longer, usually shows outsiders less",
    sets={"canary": "blank", "attacks": ("loss",), **LINEAR},
)

WHITE_BOX = Adversary(
    "white-box",
    controlled=f"{CRAFTED}, and put a gradient of its own beside the records'",
    saw="sees every noisy update",
    follows="whoever starts the training, takes part in it and gets its updates, as a server "
    "together with one participant of federated learning, could show as much; who has less of "
    "that sees less",
    sets={"canary": "dirac", "attacks": ("updates",), **LINEAR},
    asks=False,
)

ONE_RUN = replace(
    WHITE_BOX,
    controlled=f"{CRAFTED}, and put gradients of its own beside the records', each by a fair coin",
)
"""The same, where one training holds many canaries: as it is told."""

PER_STEP = Adversary(
    "per-step",
    controlled=f"{CRAFTED}, and put a gradient of its own into every step of one training",
    saw="sees every noisy update of two trainings, and what the records had put into it",
    follows="it tells whether each step has the noise that is claimed for it; how steps add up, "
    "and at what rate records are sampled, is taken as claimed",
    sets={"canary": "dirac", "attacks": ("steps",), "lr": 0.3, "dropout": 0.0, "samples": 1},
    asks=False,
)

FINAL_WEIGHTS = Adversary(
    "final-weights",
    controlled=CRAFTED,
    saw="sees the trained parameters, and no update on the way",
    follows="whoever is given the trained parameters, and chose those that training started "
    "from, could show as much; who can only ask the model sees less",
    sets={"canary": "blank", "attacks": ("weights",), **LINEAR},
    asks=False,
)

ADVERSARIES: Mapping[str, Adversary] = {
    adversary.name: adversary
    for adversary in (OBSERVER, WORST_CASE, FINAL_WEIGHTS, WHITE_BOX, PER_STEP)
}
