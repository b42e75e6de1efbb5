"""What defended outputs are still good for beyond a label: columns of numbers, and in words."""

from __future__ import annotations

from dpaudit.judging.utility import Utility
from dpaudit.report import formats
from dpaudit.report.words import NOTHING

TITLES = [
    ("calibration", "error"),
    ("negative log-", "likelihood"),
    ("correlation", "of the std"),
    ("mean change", "of the std"),
]
LEGEND = [
    (
        "Calibration error",
        "how far confidence is from accuracy (expected calibration error, 15 bins); 0 is best.",
    ),
    (
        "Negative log-likelihood",
        "of the right labels, in nats, each at least a millionth; outputs that do not add up to 1 "
        "are scaled, and such as hold nothing count as uniform. Less is better.",
    ),
    (
        "Std",
        "the MC-dropout uncertainty behind the defence against that without it, over records and "
        "classes: a correlation of 1 and no change are best.",
    ),
]
UNDEFINED = (
    NOTHING,
    "not released, or not defined: labels alone have no confidence, and a std that is the same "
    "everywhere has no correlation.",
)


def cells(utility: Utility | None) -> list[str]:
    """The numbers of a defence, one for each title."""
    if utility is None:
        return [NOTHING] * len(TITLES)
    error = utility.calibration_error
    numbers = (
        (utility.negative_log_likelihood, 3),
        (utility.std_correlation, 3),
        (utility.std_change, 4),
    )
    return [
        NOTHING if error is None else f"{100 * error:.1f} %",
        *(NOTHING if x is None else formats.nearest(x, digits) for x, digits in numbers),
    ]
