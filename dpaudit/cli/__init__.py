"""The command line: the group of all commands, and how errors become one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from dpaudit.checks import printable
from dpaudit.errors import DiskFull, DpauditError, WorkersLost, is_full

COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("run:command", "Train models, attack them and judge the claim."),
    "ladder": ("ladder:command", "Test one claim against every adversary that fits."),
    "report": ("report:command", "Judge a run again, without training."),
    "compare": ("compare:command", "Show what defences stop and what they cost."),
    "checkpoint": ("checkpoint:command", "Audit your own trained model."),
    "canaries": ("canaries:command", "Make a canary kit to train with; show it."),
    "plan": ("plan:command", "Tell what an audit can show before it is run."),
    "calibrate": ("calibrate:command", "Show how often bounds are wrong."),
    "estimate": ("estimate:command", "Bound epsilon from counts, scores or guesses."),
    "list": ("catalogue:list_all", "Name every plug-in, adversary and network."),
    "explain": ("catalogue:explain", "Tell what a plug-in does."),
    "completion": ("completion:command", "Print a script that completes names on TAB."),
}
"""The module of this package, the function in it, and the first line of help of each command."""


class Misuse(click.UsageError):
    """Options that exclude each other, have no effect, or are missing."""

    def __init__(self, sentence: str, code: str) -> None:
        super().__init__(sentence)
        self.code = code


class BadValue(click.BadParameter):
    """A value that one option cannot have."""

    def __init__(self, sentence: str, code: str, param: Any = None, ctx: Any = None) -> None:
        super().__init__(sentence, ctx=ctx, param=param)
        self.code = code


class Refused(click.ClickException):
    """A request that cannot be carried out: one line for a person at a terminal."""

    def __init__(self, sentence: str, exit_code: int = 2) -> None:
        super().__init__(sentence)
        vars(self)["exit_code"] = exit_code  # click declares one for the whole class

    def show(self, file: Any = None) -> None:
        """Print the line; if that fails too, only the exit code reports the error."""
        try:
            super().show(file)
        except OSError:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115


class Commands(click.Group):
    """A group that imports a command on first use and prints errors as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, function = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(import_module(f"dpaudit.cli.{module}"), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first line of each command's help, without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_line():
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn errors into a line and an exit code; never 1, which means that a claim is refuted.

    2: the request is wrong; 4: the disk is full; 5: worker processes were lost; 3: a fault of
    dpaudit; 130 and 141: stopped by the user, or by the reader of the output.
    """
    try:
        yield
    except DpauditError as error:
        # Names from a user's files may contain control codes.
        raise _refusal(error, f"{printable(str(error))} [{error.code}]") from error
    except click.UsageError as error:
        about = error.ctx.command_path if error.ctx else "dpaudit"
        code = error.code if isinstance(error, (Misuse, BadValue)) else "usage"
        raise Refused(f"{error.format_message()} (see {about} --help) [{code}]") from error
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
        raise click.exceptions.Exit(130) from None
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        raise click.exceptions.Exit(141) from None
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except OSError as error:
        code = "disk-full" if is_full(error) else "unwritable"
        sentence = f"the output cannot be written: {error.strerror or error} [{code}]"
        raise _refusal(error, sentence) from error
    except Exception:
        traceback.print_exc()
        click.echo("This is a fault in dpaudit itself; please report it.", err=True)
        raise click.exceptions.Exit(3) from None


def _refusal(error: Exception, sentence: str) -> Refused:
    if isinstance(error, DiskFull) or is_full(error):
        return Refused(sentence, exit_code=4)
    return Refused(sentence, exit_code=5 if isinstance(error, WorkersLost) else 2)


@click.group(cls=Commands)
@click.version_option(package_name="dpaudit")
def main() -> None:
    """Measure how much anything that claims differential privacy provably leaks."""
