"""The configuration of a run: settings in groups, in and out of TOML, as a command line."""

from dpaudit.config.run import (
    DEFAULT,
    JUDGING,
    OWN,
    TRAINING,
    Config,
    brought,
    conflicts_until_decided,
    differences,
    digest,
    read_toml,
    unasked,
)

__all__ = [
    "DEFAULT",
    "JUDGING",
    "OWN",
    "TRAINING",
    "Config",
    "brought",
    "conflicts_until_decided",
    "differences",
    "digest",
    "read_toml",
    "unasked",
]
