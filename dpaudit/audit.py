"""An audit from its parts: play the game into a folder, and judge what lies there."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import data, game, registry, report
from dpaudit.config import Config
from dpaudit.errors import BadInput
from dpaudit.journal import Journal
from dpaudit.judge import Choice, judge
from dpaudit.seeds import trials
from dpaudit.types import Array, Canary, Claim, Data, Known, Mechanism, Pair, Report, neighbours

JOURNAL = "journal.sqlite"
