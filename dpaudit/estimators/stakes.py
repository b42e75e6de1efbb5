"""The stakes of bets against a claim."""

from __future__ import annotations

import numpy as np

FRACTIONS = 0.95 / 2.0 ** np.arange(6)
"""Of the largest stake: all are played side by side, because the best is known only afterwards."""
