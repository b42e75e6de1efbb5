"""The adversaries of DP-SGD: their powers, their view, and the meaning of a bound against each.

Differential privacy promises protection against all of them. A bound against a stronger one can
come nearer to the claim, and says less of an attack from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Adversary:
    """An adversary; its `default_settings` hold unless the user gives others."""

    name: str
    summary: str
    chose: str
    sees: str

    short: str
    """Its powers and its view in a line."""

    guesses_from: str
    """The observation of a trial that its attacks are given."""

    follows: str
    """The meaning of a bound against it for usual trainings, in whole sentences."""

    stronger: tuple[str, ...]
    """The names of adversaries with more power or a better view."""

    paper: str
    default_settings: Mapping[str, Any] = field(default_factory=dict)

    asks: bool = True
    """True if it queries the trained model on the canary, as an outsider can."""

    crafts: bool = True
    """True if it chooses the parameters that all trainings start from."""

    puts_in: str = "a gradient of its own beside the records'"
    """Its part in training, if the canary is a gradient."""

    def describe(self, gradients: int) -> str:
        """Return its powers and view in words, for a number of gradient canaries (0: a record)."""
        put_in = ""
        if gradients == 1:
            put_in = f", and put {self.puts_in}"
        elif gradients > 1:
            put_in = ", and put gradients of its own beside the records', each by a fair coin"
        return f"{self.name}: chose {self.chose}{put_in}; sees {self.sees}"


LINEAR: Mapping[str, Any] = {"steps": 10, "lr": 0.03, "dropout": 0.0, "samples": 1}
"""A few steps so small that the network stays a linear function of its parameters.

The canary's parts in all steps then add up, as in the worst case that accountants assume: 98 to
99.7 % of it on digits at this rate, 91 to 97 % at ten times the rate. On a pool of 1,000 records
and full batches the rate is 0.00003 on the summed gradient.
"""

CRAFTED = "the canary and the initial parameters, trained beforehand on disjoint data"
TIGHT = "Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023)"

OBSERVER = Adversary(
    "observer",
    summary="An outsider who chooses the canary and queries the trained model on it.",
    chose="the canary",
    sees="the trained model's answers on the canary, and nothing else",
    short="chose the canary; sees the trained model's answers on it",
    guesses_from="a model",
    follows="This tests one outsider with one canary. Stronger attackers were not tested.",
    stronger=("worst-case", "white-box"),
    paper="Jagielski, Ullman and Oprea, Auditing Differentially Private Machine Learning: How "
    "Private is Private SGD? (2020)",
    crafts=False,
)

WORST_CASE = Adversary(
    "worst-case",
    summary="An outsider who also chooses the initial parameters; queries the trained model.",
    chose=CRAFTED,
    sees="the trained model's answers on the canary, and nothing else",
    short="also chose the initial parameters; sees the answers on the canary",
    guesses_from="a model's answers on the canary",
    follows="The claim must hold for this adversary too. A usual training, longer and from random "
    "initial parameters, usually shows outsiders less.",
    stronger=("final-weights", "white-box"),
    paper="Annamalai and De Cristofaro, Nearly Tight Black-Box Auditing of Differentially "
    "Private Machine Learning (2024)",
    default_settings={"canary": "blank", "attacks": ("loss",), **LINEAR},
)

FINAL_WEIGHTS = Adversary(
    "final-weights",
    summary="Chooses the initial parameters and sees the trained parameters.",
    chose=CRAFTED,
    sees="the trained parameters, but no updates",
    short="also chose the initial parameters; sees the trained parameters",
    guesses_from="a model's parameters",
    follows="The claim must hold for anyone who chooses the initial parameters and the canary and "
    "sees the trained parameters. Queries alone show less.",
    stronger=("white-box",),
    paper="Nasr et al., Adversary Instantiation: Lower Bounds for Differentially Private Machine "
    "Learning (2021)",
    default_settings={"canary": "blank", "attacks": ("weights",), **LINEAR},
    asks=False,
)

WHITE_BOX = Adversary(
    "white-box",
    summary="Chooses the initial parameters, adds a gradient of its own and sees every update.",
    chose=CRAFTED,
    sees="every noisy update",
    short="adds a gradient of its own; sees every noisy update",
    guesses_from="the noisy updates of a training",
    follows="The claim must hold for anyone who starts the training, takes part in it and sees its "
    "updates, such as a server and a participant of federated learning together. Others see less.",
    stronger=(),
    paper=TIGHT,
    default_settings={"canary": "dirac", "attacks": ("updates",), **LINEAR},
    asks=False,
)

PER_STEP = Adversary(
    "per-step",
    summary="White box on single steps of two trainings; tests the noise of each step.",
    chose=CRAFTED,
    sees="every noisy update of two trainings, and the records' part in it",
    short="adds a gradient of its own; sees single steps of two trainings",
    guesses_from="a step",
    follows="This tests the noise of each step. The composition of steps and the sampling rate are "
    "taken as claimed.",
    stronger=(),
    paper=TIGHT,
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
