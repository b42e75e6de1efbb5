"""What the tests of data share: real files, where DPAUDIT_DATA says in which folder they are."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def real():
    """The path of a real file; the test skips where there is none."""

    def path(name):
        folder = os.environ.get("DPAUDIT_DATA")
        if not folder:
            pytest.skip("DPAUDIT_DATA is not set to a folder of real files")
        path = Path(folder) / name
        if not path.exists():
            pytest.skip(f"DPAUDIT_DATA has no {name}")
        return str(path)

    return path
