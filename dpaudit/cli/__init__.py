"""The command line, one file per command."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from dpaudit.checks import printable
from dpaudit.errors import DpauditError

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
        try:
            return super().make_context(*args, **kwargs)
        except click.NoSuchOption as error:
            raise Refused(f"{error.format_message()} (see dpaudit --help)") from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DpauditError as error:
            # One line, whatever the names in a user's files are.
            raise Refused(printable(str(error))) from error
        except click.UsageError as error:
            about = error.ctx.command_path if error.ctx else "dpaudit"
            raise Refused(f"{error.format_message()} (see {about} --help)") from error
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(130)
        except BrokenPipeError:
            # Whoever read the report has left; not 1, which would mean that a claim is refuted.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            ctx.exit(141)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except OSError as error:
            raise Refused(f"the output cannot be written: {error.strerror or error}") from error
        except Exception:
            # Not 1, which would mean that a claim is refuted.
            traceback.print_exc()
            click.echo("This is a fault in dpaudit itself; please report it.", err=True)
            ctx.exit(3)


class Refused(click.ClickException):
    """What was asked for cannot be done: one line for a person at a terminal."""

    exit_code = 2


@click.group(cls=Commands)
@click.version_option(package_name="dpaudit")
def main() -> None:
    """How much does it provably leak? Audits anything that claims differential privacy."""
