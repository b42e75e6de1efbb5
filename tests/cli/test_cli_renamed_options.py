"""Old spellings of options: they work, with a notice, and nothing else shows them."""

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from dpaudit.cli import COMMANDS, main
from dpaudit.cli.command import RenamedOption

WORDS = {
    "run": "--time-limit 10m",
    "checkpoint": "--write-scores scores.csv",
    "plan": "--true-epsilon 6 --target-bound 0.5",
    "estimate": "--out-trials 50 --in-trials 50",
}
"""Uses of every renamed option."""


def found(words: str) -> click.Command:
    command: click.Command = main
    for name in words.split():
        command = command.get_command(click.Context(command), name)
    return command


def renamed(words: str) -> dict[str, str]:
    return {o.opts[0]: o.old for o in found(words).params if isinstance(o, RenamedOption)}


def test_every_renamed_option_is_tried_here():
    commands = {*COMMANDS, "canaries make", "canaries show"}
    assert {words for words in commands if renamed(words)} == {*WORDS}


@pytest.mark.parametrize("words", WORDS)
def test_an_old_spelling_works_with_a_notice(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    new, names = WORDS[words].split(), renamed(words)
    assert names.keys() <= {*new}
    meant = found(words).make_context(words, [*new]).params
    assert capsys.readouterr().err == ""
    old = [names.get(word, word) for word in new]
    assert found(words).make_context(words, old).params == meant
    notices = capsys.readouterr().err.splitlines()
    for line, (name, old) in zip(notices, names.items(), strict=True):
        assert line.startswith(f"Notice: {old} ")
        assert f" {name};" in line


@pytest.mark.parametrize("words", WORDS)
def test_both_spellings_together_are_refused(refused, words):
    name, old = next(iter(renamed(words).items()))
    refused(*words.split(), name, 5, old, 5).tells("excluded-options", f"{name} {old}")


@pytest.mark.parametrize("words", WORDS)
def test_help_completion_and_suggestions_show_the_new_spelling_only(words):
    complete = BashComplete(main, {}, "dpaudit", "_DPAUDIT_COMPLETE")
    offered = {item.value for item in complete.get_completions(words.split(), "--")}
    listed = CliRunner().invoke(main, [*words.split(), "--help"]).stdout.split()
    for name, old in renamed(words).items():
        assert name in offered & {*listed}
        assert old not in offered | {*listed}
        said = CliRunner().invoke(main, [*words.split(), f"{old}x"]).stderr
        assert f"'{name}'" in said
        assert f"'{old}'" not in said
