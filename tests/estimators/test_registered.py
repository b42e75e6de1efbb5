"""Every estimator that gives a bound can be named on the command line."""

from configparser import ConfigParser
from importlib import import_module
from pathlib import Path

from dpaudit import estimators

SETUP = Path(__file__).parents[2] / "setup.cfg"


def registered():
    read = ConfigParser()
    read.read(SETUP, encoding="utf-8")
    lines = read["options.entry_points"]["dpaudit.estimators"].strip().split("\n")
    return dict(line.split(" = ") for line in lines)


def test_every_estimator_with_a_bound_is_an_entry_point_and_no_other():
    exported = [getattr(estimators, name) for name in estimators.__all__]
    behind = set()
    for value in registered().values():
        module, _, made = value.partition(":")
        behind.add(getattr(import_module(module), made))
    assert behind == {e for e in exported if isinstance(e, type)}
