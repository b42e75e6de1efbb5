"""Defences: post-processing of what is released, before anybody sees it.

`text.py` is how a defence is named and found, `named.py` holds it to its contract, `chain.py` puts
several one after the other, `sweep.py` one with several numbers; `outputs.py` is what a
classifier's defences share. Each other file is one defence.
"""

from dpaudit.defences.chain import Chain, NamedDefence, NoDefence
from dpaudit.defences.numbers import Noise, Quantize
from dpaudit.defences.predictions import ClipConfidence, LabelOnly, Temperature, TopK
from dpaudit.defences.samples import FewerSamples, MeanOnly, MeanStd
from dpaudit.defences.text import make, named_defence, sweep

__all__ = [
    "Chain",
    "ClipConfidence",
    "FewerSamples",
    "LabelOnly",
    "MeanOnly",
    "MeanStd",
    "NamedDefence",
    "NoDefence",
    "Noise",
    "Quantize",
    "Temperature",
    "TopK",
    "make",
    "named_defence",
    "sweep",
]
