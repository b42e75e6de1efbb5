"""Canary kits: records to train with, each put in by a fair coin that stays sealed."""

from dpaudit.checkpoint.kits.kit import Kit, read, writable
from dpaudit.checkpoint.kits.making import make

__all__ = ["Kit", "make", "read", "writable"]
