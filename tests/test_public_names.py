"""The public names of the package: all of them are shown, and none is imported for that."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from typing import Protocol

import dpaudit

LAZY = """
import sys, dpaudit
names = set(dir(dpaudit))
assert not {"torch", "numpy", "matplotlib"} & sys.modules.keys()
print(*sorted(name for name in names if not name.startswith("_")))
"""


def test_dir_shows_every_public_name_and_imports_none():
    run = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    shown = run.stdout.split()
    assert shown == sorted(dpaudit.__all__)
    assert {"Run", "canaries", "data", "defences", "estimators", "mechanisms", "play"} <= {*shown}


def test_every_public_name_leads_to_something():
    for name in dpaudit.__all__:
        assert getattr(dpaudit, name).__name__.rpartition(".")[2] == name


RECORDS = {
    "dpaudit.config.adversaries.Adversary",
    "dpaudit.checkpoint.audit.CheckpointReport",
    "dpaudit.checkpoint.kits.kit.About",
    "dpaudit.judging.plan.Row",
    "dpaudit.judging.facts.Settled",
    "dpaudit.training.recipe.Descent",
    "dpaudit.training.native.plan.Conv",
    "dpaudit.results.Bound",
    "dpaudit.results.Report",
}
"""Records with a field for each fact, which dpaudit fills by name and nobody configures."""


def constructors():
    """Every public class of the package that has parameters of its own."""
    for module in pkgutil.walk_packages(dpaudit.__path__, "dpaudit."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        for name, found in vars(loaded).items():
            here = (
                inspect.isclass(found)
                and found.__module__ == loaded.__name__
                and "__init__" in vars(found)
            )
            if here and not name.startswith("_") and not issubclass(found, (Protocol, Exception)):
                yield name, found


def test_no_constructor_takes_more_than_eight_parameters():
    many = {
        f"{found.__module__}.{name}"
        for name, found in constructors()
        if len(inspect.signature(found).parameters) > 8
    }
    assert many == RECORDS
