"""Every mutant with its recipe, the adversary and the score that suit it."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.attacks.white_box import Updates
from dpaudit.protocols import Attack
from mutants import bookkeeping, clipping, noise
from mutants.adversary import LoneNeuron
from mutants.scores import OnceAnEpoch, Quiet, Range
from mutants.trainer import Correct, Recipe

LONE = LoneNeuron()


@dataclass(frozen=True)
class Case:
    """What is audited, beside a correct twin: the same recipe, adversary and score."""

    name: str
    mutant: type[Correct]
    recipe: Recipe
    adversary: LoneNeuron = LONE
    attack: type[Attack] = Updates
    models: int = 640
    """The budget: how many are trained, half of them with the canary."""
    hidden: str = ""
    """The reason why it is not caught with no assumptions, if so."""

    @property
    def flaw(self) -> str:
        """What is wrong with it, in a sentence."""
        return (self.mutant.__doc__ or "").split("\n")[0]


FULL_1, FULL_4, FULL_8, FULL_12 = (Recipe(s) for s in (7.462, 2.163, 1.201, 0.8634))
"""Four steps of full batches, and an epsilon of so much by exact accounting."""

EQUAL_LAYERS = LoneNeuron(light=1e3, weight=1e3)
"""The canary's gradient is about as long in either layer."""

SHORT = "the leak is Gaussian, as claimed, with {} times the claimed mu"

CASES = [
    Case("no-clipping", clipping.NoClipping, FULL_1),
    Case("clipped-mean", clipping.ClippedMean, FULL_1),
    Case(
        "microbatches",
        clipping.Microbatches,
        FULL_4,
        # They fill the last microbatch but for the canary, which turns it round.
        LoneNeuron(against=3),
        hidden=SHORT.format(2),
    ),
    Case("per-layer", clipping.PerLayer, FULL_8, EQUAL_LAYERS, hidden=SHORT.format("1.41")),
    Case("without-biases", clipping.WithoutBiases, FULL_1),
    Case("noise-divided-twice", noise.DividedTwice, FULL_1),
    Case("noise-too-small", noise.TooSmall, FULL_12, models=1_280, hidden=SHORT.format("1.25")),
    Case(
        "noise-first-layer",
        noise.FirstLayerOnly,
        FULL_1,
        LoneNeuron(light=1e3, weight=1.0, second_layer_only=True),
    ),
    Case("noise-reused", noise.Reused, Recipe(6.179, sample_rate=0.5, steps=10), attack=Range),
    Case(
        "noise-once-per-epoch",
        noise.OncePerEpoch,
        Recipe(2.683, sample_rate=0.1, steps=40),
        attack=Quiet,
    ),
    Case(
        "shuffled",
        bookkeeping.Shuffled,
        Recipe(1.37, sample_rate=0.02, steps=200),
        LoneNeuron(against=99),
        OnceAnEpoch,
    ),
    Case(
        "rate-halved",
        bookkeeping.HalvedRate,
        Recipe(1.145, sample_rate=0.2, steps=50),
        hidden="the leak is nearly Gaussian, with about twice the claimed mu",
    ),
    Case("steps-undercounted", bookkeeping.LastEpoch, Recipe(3.732, steps=64)),
    Case("clip-forgotten", noise.ForgetsClip, Recipe(7.462, clip=10.0)),
    Case(
        "accumulated-sum",
        clipping.AccumulatedSum,
        FULL_4,
        LoneNeuron(against=3),
        hidden=SHORT.format(2),
    ),
    Case("raw-momentum", clipping.RawMomentum, FULL_1),
]
