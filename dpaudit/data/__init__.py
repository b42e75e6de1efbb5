"""Data sets, each split into a pool for D, a disjoint pool for shadow models and a test set."""

from dpaudit.data.source import absolute, fingerprint, load

__all__ = ["absolute", "fingerprint", "load"]
