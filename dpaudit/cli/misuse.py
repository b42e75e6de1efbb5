"""Options that cannot be used as they were given; like every error, with a code."""

from __future__ import annotations

from typing import Any

import click


class Misuse(click.UsageError):
    """Options that do not go together, or of which one is missing."""

    def __init__(self, sentence: str, code: str) -> None:
        super().__init__(sentence)
        self.code = code


class BadValue(click.BadParameter):
    """The value of one option, which cannot be what it says."""

    def __init__(self, sentence: str, code: str, param: Any = None, ctx: Any = None) -> None:
        super().__init__(sentence, ctx=ctx, param=param)
        self.code = code


def code_of(error: click.UsageError) -> str:
    """The code of an error; those of click itself share one."""
    return error.code if isinstance(error, (Misuse, BadValue)) else "usage"
