"""The house rules run with the tests: style, types, and the architecture as a contract."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["lint-imports"]],
    ids=" ".join,
)
def test_house_rules_hold(command):
    assert run(*command) == (0, "")


def run(program, *arguments):
    done = subprocess.run(
        [BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, (done.stdout + done.stderr) * bool(done.returncode)


def test_types_hold_in_the_package_and_in_the_plug_ins_that_a_page_shows(tmp_path):
    """One test for both: the second run takes what the first one has cached."""
    assert run("mypy") == (0, "")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = "\n\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    plugins, mypy = tmp_path / "my_package.py", ("mypy", "--strict", "--no-warn-return-any")
    plugins.write_text(shown, encoding="utf-8")
    assert run(*mypy, plugins) == (0, "")
    # What breaks a contract is found.
    plugins.write_text(shown.replace("def run(self, pair: Pair", "def run(self, pair: int"))
    code, told = run(*mypy, plugins)
    assert code == 1
    assert 'incompatible with supertype "dpaudit.protocols.Mechanism"' in told


FOREIGN = {"__file__", "__module__", "__name__", "__qualname__", "func", "detach", "tolist"}
FOREIGN |= {"inplace", "max_norm", "n_frames", "return_indices", "getuid", "sched_getaffinity"}
"""Members of functions, modules, layers, images and of `os`, which may lack them."""


def test_no_plug_in_is_asked_for_a_member_that_its_base_class_does_not_declare():
    asked = {
        call.args[1].value
        for folder in ("dpaudit", "attacks", "canaries")
        for file in (ROOT / folder).rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        if isinstance(call.func, ast.Name) and call.func.id in ("getattr", "hasattr")
        if isinstance(call.args[1], ast.Constant)
    }
    assert asked <= FOREIGN
