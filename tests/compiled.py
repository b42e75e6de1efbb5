"""What needs a C++ compiler, which a machine may do without."""

import os
import shutil

import pytest

from dpaudit.training.native.compiler import COMPILERS

compiled = pytest.mark.skipif(
    not (os.environ.get("CXX") or any(map(shutil.which, COMPILERS))),
    reason="there is no C++ compiler here",
)

EVERY = [pytest.param("native", marks=compiled), "torch", "opacus"]
"""Every backend that can be had."""
