"""The command of a configuration, which the command line reads as that configuration."""

import shlex

import pytest

from dpaudit.cli.options import REPORTED
from dpaudit.cli.run import command
from dpaudit.cli.settings import configured
from dpaudit.config import Config
from dpaudit.testing import command_line

OTHERS = {"download", "workers", "cluster", "time_limit", "out", "file"}
"""What the command takes beside settings."""


@pytest.mark.parametrize(
    "config",
    [
        Config(),
        Config.of(canary="static", size=200, models=300, until_decided=True, confidence=0.999999),
        Config.of(attacks=("loss", "mean & inv_std"), seed=3, clip_canary=True),
        Config.of(
            mechanism="my module:train", claim=(1.0, 1e-5), samples=100, outputs="probabilities"
        ),
        Config.of(epsilon=None, noise_multiplier=1.5, batch="full"),
    ],
    ids=command_line,
)
def test_the_command_line_reads_it_as_the_same_configuration(config):
    name, verb, *words = shlex.split(command_line(config))
    assert (name, verb) == ("dpaudit", "run")
    params = command.make_context("run", words).params
    REPORTED.take(params)
    assert configured(None, {k: v for k, v in params.items() if k not in OTHERS}) == config
