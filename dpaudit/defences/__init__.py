"""Defences: post-processing of what is released, before anybody sees it.

`text.py` is how a defence is named and found, `named.py` holds it to its contract, `chain.py` puts
several one after the other, `sweep.py` one with several numbers; `outputs.py` is what a
classifier's defences share. Each other file is one defence.
"""

from dpaudit.defences.chain import Chain
from dpaudit.defences.clip_confidence import ClipConfidence
from dpaudit.defences.fewer_samples import FewerSamples
from dpaudit.defences.label_only import LabelOnly
from dpaudit.defences.mean_only import MeanOnly
from dpaudit.defences.mean_std import MeanStd
from dpaudit.defences.named import Named, Nothing
from dpaudit.defences.noise import Noise
from dpaudit.defences.quantize import Quantize
from dpaudit.defences.sweep import sweep
from dpaudit.defences.temperature import Temperature
from dpaudit.defences.text import make, named
from dpaudit.defences.top_k import TopK

__all__ = [
    "Chain",
    "ClipConfidence",
    "FewerSamples",
    "LabelOnly",
    "MeanOnly",
    "MeanStd",
    "Named",
    "Noise",
    "Nothing",
    "Quantize",
    "Temperature",
    "TopK",
    "make",
    "named",
    "sweep",
]
