"""The configuration of a run: settings in groups, the adversaries, and the TOML file."""

from dpaudit.config.run import DEFAULT as DEFAULT
from dpaudit.config.run import JUDGING as JUDGING
from dpaudit.config.run import OWN as OWN
from dpaudit.config.run import Config as Config
from dpaudit.config.run import conflicts_until_decided as conflicts_until_decided
from dpaudit.config.run import differences as differences
from dpaudit.config.run import digest as digest
from dpaudit.config.run import plugin_defaults as plugin_defaults
from dpaudit.config.run import read_toml as read_toml
from dpaudit.config.run import unused_settings as unused_settings
