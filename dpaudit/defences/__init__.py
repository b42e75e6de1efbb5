"""Defences: post-processing of what is released, before anybody sees it.

`named.py` is how a defence is found and held to its contract; each other file is one defence.
"""

from dpaudit.defences.named import Named, Nothing, make, named
from dpaudit.defences.quantize import Quantize

__all__ = ["Named", "Nothing", "Quantize", "make", "named"]
