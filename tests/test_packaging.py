"""An unlisted sub-package is silently left out of a wheel, so the list is held to the folders."""

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOP = {"dpaudit": "dpaudit", "attacks": "dpaudit.attacks", "canaries": "dpaudit.canaries"}


def options():
    read = ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")
    return read["options"]


def test_every_package_is_listed_and_every_listed_one_is_there():
    found = set()
    for folder, package in TOP.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            below = path.parent.relative_to(ROOT / folder).parts
            found.add(".".join([package, *below]))
    assert options()["packages"].split() == sorted(found)


def test_the_top_folders_are_installed_inside_the_package():
    listed = dict(line.split(" = ") for line in options()["package_dir"].split("\n") if line)
    assert listed == {package: folder for folder, package in TOP.items()}
    for folder in ("attacks", "canaries"):
        assert (ROOT / "dpaudit" / folder).resolve() == ROOT / folder
