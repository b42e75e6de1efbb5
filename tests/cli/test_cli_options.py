"""Options agree between commands, and help shows them in groups."""

import re
from collections import defaultdict

import click
import pytest
from click.testing import CliRunner

from dpaudit.cli import COMMANDS, main
from dpaudit.cli.command import Command


def commands() -> dict[str, click.Command]:
    """Every command by its words."""
    found = {name: main.get_command(click.Context(main), name) for name in COMMANDS}
    kits = found.pop("canaries")
    return found | {f"canaries {name}": one for name, one in kits.commands.items()}


GROUPED = {words: one for words, one in commands().items() if isinstance(one, Command)}
GROUPS = [(words, group) for words, command in GROUPED.items() for group in command.groups]


def said(*words: str) -> str:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_the_first_line_of_each(name):
    command = main.get_command(click.Context(main), name)
    assert COMMANDS[name][1] == command.help.splitlines()[0]


def test_one_name_takes_one_kind_of_value_in_all_commands():
    """A network may be a function of the user's own only where no mechanism trains it."""
    kinds = defaultdict(set)
    for words, command in commands().items():
        ctx = click.Context(command, info_name=words)
        for option in command.params:
            if isinstance(option, click.Option):
                kinds[option.opts[0]].add(option.make_metavar(ctx))
    assert {name for name, kind in kinds.items() if len(kind) > 1} == {"--network"}


@pytest.mark.parametrize(("words", "group"), GROUPS, ids=lambda x: getattr(x, "name", x))
def test_a_group_fits_on_one_screen_and_is_part_of_the_whole_help(words, group):
    lines = said(*words.split(), "--help", group.name).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"{group.title}:"
    assert "\n".join(lines) in said(*words.split(), "--help")


@pytest.mark.parametrize("words", GROUPED)
def test_help_shows_every_option_in_one_group(words):
    ctx = click.Context(GROUPED[words])
    shown = re.findall(r"^  (--[\w-]+)", said(*words.split(), "--help"), re.MULTILINE)
    assert sorted(shown) == sorted(
        param.opts[0] for param in GROUPED[words].get_params(ctx) if isinstance(param, click.Option)
    )
    names = [group.name for group in GROUPED[words].groups]
    assert len({*names}) == len(names)


def test_an_unknown_group_is_refused_with_those_that_there_are(refused):
    refused("run", "--help", "claims").tells("no-group", "claims data mechanism machine")


def test_run_has_the_groups_that_the_documentation_names():
    assert [group.name for group in GROUPED["run"].groups] == [
        *("data", "canary", "mechanism", "adversary", "judging", "output", "machine")
    ]


# ---------------------------------------------------------------- claims

COUNTS = "estimate --fp 5 --out-trials 500 --fn 60 --in-trials 500"


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (f"{COUNTS} --claim 3", f"{COUNTS} --claim 3,1e-5"),
        (f"{COUNTS} --claim 3 --delta 1e-4", f"{COUNTS} --claim 3,1e-4"),
        (f"{COUNTS} --claim 3,1e-4 --delta 1e-4", f"{COUNTS} --claim 3,1e-4"),
        ("plan --claim 1 --models 40", "plan --claim 1,1e-5 --models 40"),
        ("plan --claim 1 --delta 1e-3 --models 40", "plan --claim 1,1e-3 --models 40"),
    ],
)
def test_a_claim_without_delta_has_that_of_the_option_or_the_default(words, other):
    assert said(*words.split()) == said(*other.split())


@pytest.mark.parametrize(
    "words",
    [
        COUNTS,
        "plan",
        "run --mechanism mine:train",
        "checkpoint --predictions p.csv --kit kit",
    ],
)
def test_two_deltas_and_other_texts_are_refused(refused, words):
    both = refused(*words.split(), "--claim", "3,1e-5", "--delta", "1e-4")
    both.tells("excluded-options", "--claim 1e-05 --delta 0.0001")
    refused(*words.split(), "--claim", "3,").tells("no-claim", "'3,' 8,1e-5")
