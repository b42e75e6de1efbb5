"""Checks of refusals by code, option and value: the sentences are free to change."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dpaudit.errors import BadInput, DpauditError

ANY = object()


def problems_of(error: DpauditError) -> list[tuple[str, str, object]]:
    """The code, option and value of every problem that an error tells of."""
    return [(found.code, found.option, found.value) for found in error.problems or [error]]


class Line(str):
    """The line that a refused command prints: a sentence, and a code at its end."""

    __slots__ = ()

    @property
    def code(self) -> str:
        found = re.search(r" \[([a-z0-9-]+)\]$", self)
        assert found, self
        return found[1]

    def tells(self, code: str, facts: str = "") -> None:
        """Check its code, and that it has these names and numbers."""
        assert code == self.code, self
        for fact in facts.split():
            assert re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", self), (fact, self)


@contextmanager
def refuses(
    code: str, option: str | None = None, value: object = ANY, kind: type[DpauditError] = BadInput
) -> Iterator[pytest.ExceptionInfo[DpauditError]]:
    """Expect an error of a kind with this code and, where they are given, this option and value."""
    with pytest.raises(kind) as caught:
        yield caught
    found = caught.value
    assert found.code == code, str(found)
    assert option is None or found.option == option, str(found)
    assert value is ANY or found.value == value, str(found)
