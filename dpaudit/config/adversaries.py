"""Who attacks DP-SGD: what each adversary controls and sees, and what a bound against it means.

Differential privacy promises protection against all of them. The stronger one is, the nearer a
bound can come to the claim, and the less it says of an attack from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Adversary:
    """`sets` are settings of a run that it brings along, where its user does not give them."""

    name: str
    summary: str
    chose: str
    sees: str

    guesses_from: str
    """What its attacks are shown of a trial."""

    follows: str
    """What a bound against it says of a model that is trained and released as usual."""

    beyond: str
    """Who, or what, may show more than it has shown."""

    stronger: tuple[str, ...]
    """Those of the others that may do, or see, more."""

    paper: str
    default_settings: Mapping[str, Any] = field(default_factory=dict)

    asks: bool = True
    """Whether it asks the trained model about the canary, as anybody might."""

    crafts: bool = True
    """Whether it chooses the parameters that all trainings start from."""

    puts_in: str = "a gradient of its own beside the records'"
    """What it takes part with, where the canary is a gradient."""

    def describe(self, gradients: int) -> str:
        """What it controls and sees, with so many gradients as canaries; 0: a record."""
        put_in = ""
        if gradients == 1:
            put_in = f", and put {self.puts_in}"
        elif gradients > 1:
            put_in = ", and put gradients of its own beside the records', each by a fair coin"
        return f"{self.name}: chose {self.chose}{put_in}; sees {self.sees}"


LINEAR: Mapping[str, Any] = {"steps": 10, "lr": 0.03, "dropout": 0.0, "samples": 1}
"""A few steps so small that the network stays a linear function of its parameters.

What every step adds of the canary then adds up, as in the worst case that accountants count
with: at this rate 98 to 99.7 % of it on digits, at ten times the rate 91 to 97 %. On a pool of
1,000 records and full batches it is 0.00003 on the summed gradient.
"""

CRAFTED = "the canary and the initial parameters, trained beforehand on disjoint data"

OBSERVER = Adversary(
    "observer",
    summary="An outsider: chooses the canary, and asks the trained model about it.",
    chose="the canary",
    sees="what the trained model says of the canary, and nothing else",
    guesses_from="a model",
    follows="an outsider with this canary and this attack could show as much; what stronger "
    "adversaries could show, it does not tell",
    beyond="a stronger attack or another canary may find more",
    stronger=("worst-case", "white-box"),
    paper="Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning: How "
    "Private is Private SGD? (2020)",
    crafts=False,
)

WORST_CASE = Adversary(
    "worst-case",
    summary="Also crafts the parameters that training starts from; asks the trained model.",
    chose=CRAFTED,
    sees="what the trained model says of the canary, and nothing else",
    guesses_from="what a model says of it",
    follows="the claim has to hold here, too, so that a violation is one; a model that starts "
    "from parameters which nobody crafted, and is trained longer, usually shows outsiders less",
    beyond="another canary, or an adversary that sees more than answers, may find more",
    stronger=("final-weights", "white-box"),
    paper="Annamalai and De Cristofaro, Nearly Tight Black-Box Auditing of Differentially "
    "Private Machine Learning (2024)",
    default_settings={"canary": "blank", "attacks": ("loss",), **LINEAR},
)

FINAL_WEIGHTS = Adversary(
    "final-weights",
    summary="Crafts where training starts, and has the trained parameters.",
    chose=CRAFTED,
    sees="the trained parameters, and no update on the way",
    guesses_from="a model's parameters",
    follows="whoever chooses what training starts from and one thing that is put into it, and is "
    "given the trained parameters, could show as much; who can only ask the model sees less",
    beyond="another canary, or an adversary that sees every update, may find more",
    stronger=("white-box",),
    paper="Nasr et al., Adversary Instantiation: Lower Bounds for Differentially Private Machine "
    "Learning (2021)",
    default_settings={"canary": "blank", "attacks": ("weights",), **LINEAR},
    asks=False,
)

WHITE_BOX = Adversary(
    "white-box",
    summary="Crafts where training starts, puts in a gradient of its own, sees every update.",
    chose=CRAFTED,
    sees="every noisy update",
    guesses_from="the noisy updates of a training",
    follows="whoever starts the training, takes part in it and gets its updates, as a server "
    "together with one participant of federated learning, could show as much; who has less of "
    "that sees less",
    beyond="no adversary here sees more, but more models or another canary may show more; of how "
    "records are clipped a gradient that is put in shows nothing",
    stronger=(),
    paper="Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023)",
    default_settings={"canary": "dirac", "attacks": ("updates",), **LINEAR},
    asks=False,
)

PER_STEP = Adversary(
    "per-step",
    summary="White box on single steps of two trainings: whether each has the noise claimed.",
    chose=CRAFTED,
    sees="every noisy update of two trainings, and what the records had put into it",
    guesses_from="a step",
    follows="it tells whether each step has the noise that is claimed for it; how steps add up, "
    "and at what rate records are sampled, is taken as claimed",
    beyond="more steps may show more; what is taken as claimed was not looked at, nor how records "
    "are clipped",
    stronger=(),
    paper="Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023)",
    default_settings={
        "canary": "dirac",
        "attacks": ("steps",),
        "lr": 0.3,
        "dropout": 0.0,
        "samples": 1,
    },
    asks=False,
    puts_in="a gradient of its own into every step of one training",
)

ADVERSARIES: Mapping[str, Adversary] = {
    adversary.name: adversary
    for adversary in (OBSERVER, WORST_CASE, FINAL_WEIGHTS, WHITE_BOX, PER_STEP)
}
