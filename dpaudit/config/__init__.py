"""The configuration of a run: settings in groups, in and out of TOML, as a command line."""

from dpaudit.config.run import (
    DEFAULT,
    JUDGING,
    OWN,
    TRAINING,
    Config,
    conflicts_until_decided,
    differences,
    digest,
    plugin_defaults,
    read_toml,
    unused_settings,
)

__all__ = [
    "DEFAULT",
    "JUDGING",
    "OWN",
    "TRAINING",
    "Config",
    "conflicts_until_decided",
    "differences",
    "digest",
    "plugin_defaults",
    "read_toml",
    "unused_settings",
]
