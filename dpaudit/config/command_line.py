"""The command that plays a configuration: for a reader who wants to see it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from dpaudit.config import DEFAULT, Config


def command_line(config: Config) -> str:
    """`dpaudit run` with every setting that is not the default."""
    words = ["dpaudit", "run"]
    for name, value in config.flat().items():
        # What is None gives way to another setting, which brings that about.
        if value not in (None, DEFAULT[name]):
            words += _words(name, value)
    return shlex.join(words)


def _words(name: str, value: Any) -> Iterator[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield flag if value else flag.replace("--", "--no-", 1)
    elif name == "claim":
        yield from (flag, ",".join(repr(number) for number in value))
    elif isinstance(value, tuple):
        # Of settings that may be repeated the command line has the singular.
        for one in value:
            yield from (flag.removesuffix("s") if name == "attacks" else flag, one)
    else:
        yield from (flag, str(value))
