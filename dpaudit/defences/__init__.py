"""Defences: post-processing of what is released, before anybody sees it.

`text` finds a defence by its name and number; `chain` runs it, alone or after another one;
`predictions` and `numbers` have the built-in ones.
"""

from dpaudit.defences.chain import Chain, NamedDefence, NoDefence
from dpaudit.defences.numbers import Noise, Quantize
from dpaudit.defences.predictions import (
    ClipConfidence,
    FewerSamples,
    LabelOnly,
    MeanOnly,
    MeanStd,
    Temperature,
    TopK,
)
from dpaudit.defences.text import make, named_defence, sweep

__all__ = ["Chain", "ClipConfidence", "FewerSamples", "LabelOnly", "MeanOnly", "MeanStd", "Noise"]
__all__ += ["NamedDefence", "NoDefence", "Quantize", "Temperature", "TopK"]
__all__ += ["make", "named_defence", "sweep"]
