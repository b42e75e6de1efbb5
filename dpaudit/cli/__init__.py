"""Options that cannot be used as they were given; like every error, with a code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from dpaudit.checks import printable
from dpaudit.errors import DiskFull, DpauditError, WorkersLost, is_full


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


# ----------------------------------------------------------------
# The command line, one file per command.


COMMANDS = (
    *("run", "report", "compare", "checkpoint", "canaries", "plan", "calibrate", "estimate"),
    *("list", "explain", "completion"),
)


class Commands(click.Group):
    """Imports a command when it is asked for, and says an error in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # `list` is a module here, once that command is imported

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"dpaudit.cli.{name}").command
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_line():
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn errors into a line and an exit code; never 1, which means that a claim is refuted."""
    try:
        yield
    except DpauditError as error:
        # One line, whatever the names in a user's files are.
        raise _refusal(error, f"{printable(str(error))} [{error.code}]") from error
    except click.UsageError as error:
        about = error.ctx.command_path if error.ctx else "dpaudit"
        said = f"{error.format_message()} (see {about} --help) [{code_of(error)}]"
        raise Refused(said) from error
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
        raise click.exceptions.Exit(130) from None
    except BrokenPipeError:
        # Whoever read the report has left.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        raise click.exceptions.Exit(141) from None
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except OSError as error:
        code = "disk-full" if is_full(error) else "unwritable"
        said = f"the output cannot be written: {error.strerror or error} [{code}]"
        raise _refusal(error, said) from error
    except Exception:
        traceback.print_exc()
        click.echo("This is a fault in dpaudit itself; please report it.", err=True)
        raise click.exceptions.Exit(3) from None


class Refused(click.ClickException):
    """What was asked for cannot be done: one line for a person at a terminal."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line; if that fails too, the exit code alone tells what is wrong."""
        try:
            super().show(file)
        except OSError:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115


class NoRoom(Refused):
    """A disk is full: nothing is wrong with what was asked for."""

    exit_code = 4


class Lost(Refused):
    """Worker processes were lost: nothing is wrong with what was asked for."""

    exit_code = 5


def _refusal(error: Exception, said: str) -> Refused:
    if isinstance(error, DiskFull) or is_full(error):
        return NoRoom(said)
    return Lost(said) if isinstance(error, WorkersLost) else Refused(said)


@click.group(cls=Commands)
@click.version_option(package_name="dpaudit")
def main() -> None:
    """How much does it provably leak? Audits anything that claims differential privacy."""
