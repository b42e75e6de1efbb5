"""A user's own function, found by the name that the user gives: the only code that is let in."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from dpaudit.errors import BadInput, blamed
from dpaudit.registry import unknown


@dataclass(frozen=True)
class Reference:
    """`my_module:train`, or `path/to/my_module.py:train`; found anew in every process.

    `code` is the hash of the module's text, by which another process, perhaps on another
    machine with the file elsewhere, knows that it has found the same.
    """

    text: str
    code: str | None = None

    @classmethod
    def read(cls, text: str) -> Reference:
        """The reference, with its code as it is now."""
        return cls(text, cls(text)._code())

    def find(self) -> Callable[..., Any]:
        """The function; what cannot be found or called is refused in one sentence."""
        module, name = self._module(), self._name
        if not hasattr(module, name):
            known = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
            raise BadInput(unknown(f"functions of {module.__name__}", name, known))
        function = getattr(module, name)
        if not callable(function):
            raise BadInput(f"{self.text} is not a function; it takes (dataset, seed)")
        try:
            inspect.signature(function).bind(None, 0)
        except (TypeError, ValueError) as error:
            raise BadInput(f"{self.text} cannot be called with (dataset, seed): {error}") from error
        if self.code not in (None, self._code()):
            raise BadInput(f"{self.text} has changed since the run began; start it again")
        found: Callable[..., Any] = function
        return found

    @property
    def file(self) -> Path | None:
        """Where its module's text is, if it has one."""
        path = getattr(self._module(), "__file__", None)
        return Path(path) if path and path.endswith(".py") else None

    def _code(self) -> str:
        file = self.file
        return hashlib.sha256(file.read_bytes() if file else b"").hexdigest()[:12]

    @property
    def _name(self) -> str:
        return self.text.rpartition(":")[2]

    def _module(self) -> ModuleType:
        where = self.text.rpartition(":")[0]
        if not where or not self._name:
            raise BadInput(f"'{self.text}' is not MODULE:FUNCTION, such as my_module:train")
        file = Path(where).expanduser() if where.endswith(".py") else None
        if file and not (self.code or file.is_file()):
            raise BadInput(f"there is no file {where}; --mechanism names FILE.py:FUNCTION")
        folder = str(file.resolve().parent if file else Path.cwd())
        if folder not in sys.path:
            # Worker processes on this machine are started with the same path.
            sys.path.insert(0, folder)
        found = _imported(file.stem if file else where, where, self._name)
        same = file is None or self.code or Path(found.__file__ or "").resolve() == file.resolve()
        if not same:
            raise BadInput(
                f"{where} has the name of a module that is there already; rename the file"
            )
        return found


def _imported(module: str, where: str, name: str) -> ModuleType:
    with blamed(where, "cannot be imported"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0]:
                raise
            raise BadInput(
                f"there is no module {module}; run dpaudit in its folder, or name the file: "
                f"path/to/{module}.py:{name}"
            ) from error
