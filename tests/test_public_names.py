"""The public names of the package: all of them are shown, and none is imported for that."""

import subprocess
import sys

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
