"""Old spellings of options: they work, with a notice, and nothing else shows them."""

import click
import pytest
from click.shell_completion import BashComplete

from dpaudit.cli import main
from dpaudit.cli.command import RenamedOption

WORDS = {
    "plan": "--claim 1,1e-5 --true-epsilon 6 --target-bound 0.5 --models 8",
    "estimate": "--fp 5 --out-trials 50 --fn 6 --in-trials 50",
}
"""Uses of every renamed option."""


def renamed(command):
    options = main.get_command(click.Context(main), command).params
    return {option.opts[0]: option.old for option in options if isinstance(option, RenamedOption)}


@pytest.mark.parametrize("command", WORDS)
def test_an_old_spelling_works_with_a_notice(cli, command):
    new = WORDS[command].split()
    names = renamed(command)
    assert names.keys() <= set(new)
    done, before = cli(command, *new), cli(command, *(names.get(word, word) for word in new))
    assert (before.exit_code, before.stdout) == (0, done.stdout)
    notices = [line for line in before.stderr.splitlines() if line.startswith("Notice: ")]
    assert len(notices) == len(names)
    for line, (name, old) in zip(notices, names.items(), strict=True):
        assert f" {old} " in line
        assert f" {name};" in line
    assert "Notice" not in done.stderr


@pytest.mark.parametrize("command", WORDS)
def test_both_spellings_together_are_refused(refused, command):
    name, old = next(iter(renamed(command).items()))
    refused(command, name, 5, old, 5).tells("excluded-options", f"{name} {old}")


@pytest.mark.parametrize("command", WORDS)
def test_help_and_completion_show_the_new_spelling_only(cli, command):
    complete = BashComplete(main, {}, "dpaudit", "_DPAUDIT_COMPLETE")
    offered = {item.value for item in complete.get_completions([command], "--")}
    listed = cli(command, "--help").stdout.split()
    for name, old in renamed(command).items():
        assert name in offered & {*listed}
        assert old not in offered | {*listed}
