"""The house rules run with the tests: style, types, and the architecture as a contract."""

import ast
import os
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


def run(program, *arguments, **environment):
    done = subprocess.run(
        [BIN / program, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr) * bool(done.returncode)


def test_types_hold_in_the_package_and_in_the_plug_ins_that_a_page_shows(tmp_path):
    """One run of mypy for both, and for a plug-in that breaks a contract, which must be found."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = "\n\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    shown = f"# mypy: no-warn-return-any\n{shown}"
    broken = shown.replace("def run(self, pair: Pair", "def run(self, pair: int")
    (tmp_path / "my_package.py").write_text(shown, encoding="utf-8")
    (tmp_path / "broken_package.py").write_text(broken, encoding="utf-8")
    modules = ("-p", "dpaudit", "-m", "my_package", "-m", "broken_package")
    code, told = run("mypy", "--no-pretty", *modules, MYPYPATH=str(tmp_path))
    *errors, summary = told.splitlines()
    assert code == 1
    assert 'incompatible with supertype "dpaudit.protocols.Mechanism"' in errors[0]
    assert all("/broken_package.py:" in line for line in errors), told
    assert "in 1 file" in summary


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
