"""`dpaudit completion SHELL`: the script that completes commands, options and names on TAB."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from dpaudit.errors import BadInput

SHELLS = {
    "bash": ("~/.bashrc", 'eval "$(dpaudit completion bash)"'),
    "zsh": ("~/.zshrc, after compinit", 'eval "$(dpaudit completion zsh)"'),
    "fish": ("~/.config/fish/config.fish", "dpaudit completion fish | source"),
}
"""Where the line goes that switches it on, and the line."""


def _shells(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    return [CompletionItem(shell) for shell in SHELLS if shell.startswith(typed)]


@click.command("completion")
@click.argument("shell", required=False, shell_complete=_shells)
def command(shell: str | None) -> None:
    """Print a script that completes names on TAB.

    SHELL is bash, zsh or fish; left out, it is the one that $SHELL names. Commands, options,
    plug-ins, files and runs are completed. To switch it on, put this line

    \b
        eval "$(dpaudit completion bash)"     into ~/.bashrc
        eval "$(dpaudit completion zsh)"      into ~/.zshrc, after compinit
        dpaudit completion fish | source      into ~/.config/fish/config.fish
    """
    from dpaudit.cli import main

    wanted = shell or Path(os.environ.get("SHELL", "")).name
    completer = get_completion_class(wanted) if wanted in SHELLS else None
    if completer is None:
        asked = f"there is no completion for '{wanted}'" if wanted else "$SHELL names no shell"
        said = f"{asked}; say dpaudit completion bash, zsh or fish"
        raise BadInput(said, "unknown-shell", option="shell", value=wanted)
    file, line = SHELLS[wanted]
    script = completer(main, {}, "dpaudit", "_DPAUDIT_COMPLETE").source()
    # At the end: zsh wants its own first line to be the first.
    click.echo(f"{script}\n# To switch this on, put the next line into {file}:\n#   {line}")
