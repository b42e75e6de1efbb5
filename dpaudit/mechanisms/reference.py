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

from dpaudit.errors import BadInput, wrap_errors
from dpaudit.registry import unknown


@dataclass(frozen=True)
class Reference:
    """`my_module:train`, or `path/to/my_module.py:train`; found anew in every process.

    `code` is the hash of the module's text, by which another process, perhaps on another
    machine with the file elsewhere, knows that it has found the same.
    """

    text: str
    code: str | None = None
    takes: tuple[str, ...] = ("dataset", "seed")
    """What it is called with."""
    option: str = "mechanism"
    """By which the user names it."""

    @classmethod
    def read(cls, text: str) -> Reference:
        """The reference, with its code as it is now."""
        return cls(text, cls(text)._code())

    def find(self) -> Callable[..., Any]:
        """The function; what cannot be found or called is refused in one sentence."""
        module, name = self._module(), self._name
        if not hasattr(module, name):
            known = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
            raise BadInput(
                unknown(f"functions of {module.__name__}", name, known),
                "unknown-name",
                option=self.option,
                value=name,
            )
        function = getattr(module, name)
        refuse_uncallable(self.text, function, self.takes)
        if self.code not in (None, self._code()):
            raise BadInput(
                f"{self.text} has changed since the run began; start it again",
                "code-changed",
                option=self.option,
                value=self.text,
            )
        found: Callable[..., Any] = function
        return found

    def sources(self) -> list[Path]:
        """The texts of its module and of all that this one has imported from its own folder."""
        self._module()
        folder = self._folder()
        imported = {
            Path(getattr(module, "__file__", None) or "").resolve()
            for name, module in list(sys.modules.items())
            if name.split(".")[0] != "dpaudit"
        }
        near = (file for file in imported if folder in file.parents and file.suffix == ".py")
        return sorted(f for f in near if "site-packages" not in f.parts and f.is_file())

    def digest(self) -> str:
        """Changes with any of these texts: a run goes on by the same code only.

        And with that of the function, wherever it lies: installed, or on PYTHONPATH.
        """
        folder, sha, near = self._folder(), hashlib.sha256(), self.sources()
        for file in near:
            sha.update(f"{file.relative_to(folder)} ".encode() + file.read_bytes())
        for file in self._own():
            if file not in near:
                sha.update(f"{file.name} ".encode() + file.read_bytes())
        return sha.hexdigest()[:12]

    def _own(self) -> list[Path]:
        """The files of the module that is named, and of that which the function comes from."""
        named = self._module()
        defined = sys.modules.get(getattr(getattr(named, self._name, None), "__module__", ""))
        files = (Path(getattr(module, "__file__", None) or "") for module in (named, defined))
        return sorted({file.resolve() for file in files if file.is_file()})

    def _code(self) -> str:
        file = getattr(self._module(), "__file__", None) or ""
        content = Path(file).read_bytes() if file.endswith(".py") else b""
        return hashlib.sha256(content).hexdigest()[:12]

    @property
    def _name(self) -> str:
        return self.text.rpartition(":")[2]

    def _file(self) -> Path | None:
        where = self.text.rpartition(":")[0]
        return Path(where).expanduser() if where.endswith(".py") else None

    def _folder(self) -> Path:
        """Where its module is looked for."""
        file = self._file()
        return file.resolve().parent if file else Path.cwd().resolve()

    def _module(self) -> ModuleType:
        where = self.text.rpartition(":")[0]
        if not where or not self._name:
            raise BadInput(
                f"'{self.text}' is not MODULE:FUNCTION, such as my_module:train",
                "malformed",
                option=self.option,
                value=self.text,
            )
        file = self._file()
        if file and not (self.code or file.is_file()):
            raise BadInput(
                f"there is no file {where}; --{self.option} names FILE.py:FUNCTION",
                "file-missing",
                option=self.option,
                value=where,
            )
        folder = str(self._folder())
        if folder not in sys.path:
            # Worker processes on this machine are started with the same path.
            sys.path.insert(0, folder)
        found = _imported(file.stem if file else where, where, self._name)
        same = file is None or self.code or Path(found.__file__ or "").resolve() == file.resolve()
        if not same:
            raise BadInput(
                f"{where} has the name of a module that is there already; rename the file",
                "name-taken",
                option=self.option,
                value=where,
            )
        return found


def refuse_uncallable(
    name: str, function: Any, takes: tuple[str, ...] = ("dataset", "seed")
) -> None:
    """Refuse what cannot be called with so many; by default as a training function is."""
    taken = f"({', '.join(takes)})"
    if not callable(function):
        raise BadInput(f"{name} is not a function; it takes {taken}", "not-a-function", value=name)
    try:
        inspect.signature(function).bind(*takes)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"{name} cannot be called with {taken}: {error}", "wrong-signature", value=name
        ) from error


def _imported(module: str, where: str, name: str) -> ModuleType:
    with wrap_errors(where, "cannot be imported"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0]:
                raise
            raise BadInput(
                f"there is no module {module}; run dpaudit in its folder, or name the file: "
                f"path/to/{module}.py:{name}",
                "module-missing",
                value=module,
            ) from error
