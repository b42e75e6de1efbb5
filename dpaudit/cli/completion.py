"""Completion of values on TAB, and `dpaudit completion SHELL`, which prints the shell's script.

Names come from the entry points, so that nothing heavy is imported. An error completes to nothing
and prints nothing, because someone is typing at that terminal.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem, get_completion_class

from dpaudit import registry
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.config.settings import Judging
from dpaudit.errors import BadInput

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

LISTED_ONLY = frozenset({"npz", "csv", "folder", "own-function"})
"""Names that `dpaudit list` and `explain` know, but that are used by a path."""


def _completer(words: Callable[[click.Context], Iterable[str]], beside: str = "") -> Completer:
    """Return a completer to the words that fit, beside files ('file') or folders ('dir')."""

    def complete(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
        hidden = io.StringIO()
        try:
            with contextlib.redirect_stdout(hidden), contextlib.redirect_stderr(hidden):
                fitting = [CompletionItem(w) for w in words(ctx) if w.startswith(typed)]
        except Exception:
            return []
        return [CompletionItem(typed, type=beside), *fitting] if beside else fitting

    return complete


def _plugins(kind: str, beside: str = "") -> Completer:
    return _completer(lambda ctx: [n for n in registry.names(kind) if n not in LISTED_ONLY], beside)


def _with_colon(name: str) -> str:
    """Return a defence's name, with a colon if its number follows."""
    with contextlib.suppress(Exception):  # the command itself reports what is wrong with it
        return f"{name}:" if registry.parameters(registry.load("defences", name)) else name
    return name


def _networks(ctx: click.Context) -> Iterable[str]:
    from dpaudit.training.networks import NETWORKS

    return NETWORKS


@_completer
def explained(ctx: click.Context) -> Iterable[str]:
    """Return every name that can be explained."""
    known = {name for kind in registry.KINDS for name in registry.names(kind)}
    return sorted({*known, *ADVERSARIES, *_networks(ctx)})


def _runs(ctx: click.Context) -> Iterable[str]:
    """Return the runs in their usual place, the latest first."""
    journals = sorted(Path().glob("runs/*/journal.sqlite"), key=lambda j: -j.stat().st_mtime)
    return [str(journal.parent) for journal in journals]


runs = _completer(_runs, "dir")
_defences = _completer(lambda ctx: ["none", *map(_with_colon, registry.names("defences"))])

COMPLETERS: Mapping[str, Completer] = {
    "data": _plugins("data", "file"),
    "canary": _plugins("canaries"),
    "mechanism": _plugins("mechanisms", "file"),
    "network": _completer(_networks),
    "attack": _plugins("attacks"),
    "primary": _completer(lambda ctx: ["auto", *(ctx.params.get("attack") or Judging.attacks)]),
    "estimator": _plugins("estimators"),
    "defence": _defences,
    "sweep": _defences,
    "curve": _completer(lambda ctx: ["gaussian", "none", "dpsgd:"]),
    "true_curve": _completer(lambda ctx: ["gaussian", "pure", "dpsgd:"]),
}
"""Completers to the values of options, by the names of the options."""

SHELLS = {
    "bash": ("~/.bashrc", 'eval "$(dpaudit completion bash)"'),
    "zsh": ("~/.zshrc, after compinit", 'eval "$(dpaudit completion zsh)"'),
    "fish": ("~/.config/fish/config.fish", "dpaudit completion fish | source"),
}
"""The file and the line in it that switch completion on."""


@click.command("completion")
@click.argument("shell", required=False, shell_complete=_completer(lambda ctx: SHELLS))
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
        problem = f"there is no completion for '{wanted}'" if wanted else "$SHELL names no shell"
        sentence = f"{problem}; say dpaudit completion bash, zsh or fish"
        raise BadInput(sentence, "unknown-shell", option="shell", value=wanted)
    file, line = SHELLS[wanted]
    script = completer(main, {}, "dpaudit", "_DPAUDIT_COMPLETE").source()
    # At the end: zsh wants its own first line to be the first.
    click.echo(f"{script}\n# To switch this on, put the next line into {file}:\n#   {line}")
