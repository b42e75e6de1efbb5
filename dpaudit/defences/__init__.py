"""Defences: post-processing of what is released, before anybody sees it.

`text` finds a defence by its name and number; `chain` runs it, alone or after another one;
`predictions` and `numbers` have the built-in ones.
"""

from dpaudit.defences.chain import NamedDefence, NoDefence
from dpaudit.defences.numbers import Quantize
from dpaudit.defences.predictions import MeanStd
from dpaudit.defences.text import make, named_defence, sweep

__all__ = ["MeanStd", "NamedDefence", "NoDefence", "Quantize", "make", "named_defence", "sweep"]
