"""What a shell offers, on TAB, for a value that is being typed.

Names come from the entry points alone, so that nothing heavy is imported; and whatever goes
wrong, the terminal that someone is typing at stays silent.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem, get_completion_class

from dpaudit import registry
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.errors import BadInput

# ----------------------------------------------------------------
# What a shell offers, on TAB, for a value that is being typed.
#
# Names come from the entry points alone, so that nothing heavy is imported; and whatever goes
# wrong, the terminal that someone is typing at stays silent.


Offer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

LISTED_ONLY = frozenset({"npz", "csv", "folder", "own-function"})
"""Known by a name, for `dpaudit list` and `explain`, but used by a path."""


def _silent(offer: Offer) -> Offer:
    @wraps(offer)
    def offered(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
        hidden = io.StringIO()
        try:
            with contextlib.redirect_stdout(hidden), contextlib.redirect_stderr(hidden):
                return offer(ctx, param, typed)
        except Exception:
            return []

    return offered


def plugins(kind: str, files: bool = False) -> Offer:
    """Completes to a plug-in of a kind; beside files, if they may be meant.

    Bash asks for files only where no name fits, other shells show both.
    """

    @_silent
    def offer(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
        usable = [name for name in registry.names(kind) if name not in LISTED_ONLY]
        beside = [CompletionItem(typed, type="file")] if files else []
        return [*beside, *_starting(typed, usable)]

    return offer


@_silent
def defences(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completes to a defence, with a colon where its number follows."""
    return _starting(typed, ["none", *map(_with_colon, registry.names("defences"))])


@_silent
def deciding(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completes to an attack that takes part."""
    from dpaudit.config.settings import Judging

    return _starting(typed, ["auto", *(ctx.params.get("attack") or Judging.attacks)])


@_silent
def networks(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completes to a network."""
    return _starting(typed, _networks())


@_silent
def curves(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completes to a kind of curve, with a colon where its numbers follow."""
    return _starting(typed, ["gaussian", "none", "dpsgd:"])


@_silent
def true_curves(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completes to a kind of curve that something may truly have."""
    return _starting(typed, ["gaussian", "pure", "dpsgd:"])


@_silent
def explained(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completes to anything that can be explained."""
    known = {name for kind in registry.KINDS for name in registry.names(kind)}
    return _starting(typed, sorted({*known, *ADVERSARIES, *_networks()}))


@_silent
def runs(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completes to a run in its usual place, the latest first, or to any folder."""
    journals = sorted(Path().glob("runs/*/journal.sqlite"), key=_age)
    folders = _starting(typed, [str(journal.parent) for journal in journals])
    return [CompletionItem(typed, type="dir"), *folders]


def _starting(typed: str, words: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(typed)]


def _networks() -> Sequence[str]:
    from dpaudit.training.networks import NETWORKS

    return list(NETWORKS)


def _with_colon(name: str) -> str:
    try:
        taken: Iterable[Any] = inspect.signature(registry.load("defences", name)).parameters
    except Exception:
        taken = ()  # it is still there, and its user will be told what is wrong with it
    return f"{name}:" if any(taken) else name


def _age(journal: Path) -> float:
    return -journal.stat().st_mtime


# ----------------------------------------------------------------
# `dpaudit completion SHELL`: the script that completes commands, options and names on TAB.


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
