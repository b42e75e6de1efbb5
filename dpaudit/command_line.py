"""The command that plays a configuration: for a reader who wants to see it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from dpaudit.config import Config


def command_line(config: Config) -> str:
    """`dpaudit run` with every setting that is not the default."""
    given = ((f.name, getattr(config, f.name)) for f in fields(Config))
    named = ((name, value) for name, value in given if value != getattr(Config, name))
    return shlex.join(["dpaudit", "run", *(word for setting in named for word in _words(*setting))])


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
