"""Canary kits: records to train with, each put in by a fair coin that stays sealed."""

from dpaudit.kits.kit import Kit, read, writable
from dpaudit.kits.making import make

__all__ = ["Kit", "make", "read", "writable"]
