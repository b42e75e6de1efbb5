"""Commands whose help shows their options in groups, and options that were renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dpaudit.cli import BadValue, Misuse

ALL = "all"
"""The value of --help that shows every group; it is meant if none is given."""

COLUMN = 26
"""The most characters of an option's spelling that help shows beside its text, not above."""


class Group:
    """Options that belong together, in the order in which help shows them."""

    def __init__(self, title: str, *options: click.Option) -> None:
        self.title, self.options = title, options
        self.name = title.split()[0].lower()
        """The word by which --help shows this group alone."""

    def plus(self, *options: click.Option) -> Group:
        """Return the group with more options."""
        return Group(self.title, *self.options, *options)

    def without(self, *names: str) -> Group:
        """Return the group without some options, by the names of their parameters."""
        return Group(self.title, *(o for o in self.options if o.name not in names))

    def take(self, given: dict[str, Any]) -> dict[str, Any]:
        """Remove the values of these options from all that are given, and return them."""
        names = {str(option.name) for option in self.options}
        return {name: given.pop(name) for name in names & given.keys()}


class RenamedOption(click.Option):
    """An option that also takes its `old` spelling, with a notice on standard error.

    Help and completion show the new one only.
    """

    def __init__(self, *args: Any, old: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.old = old

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parser.add_option(self, [self.old], dest=self.old, nargs=self.nargs)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        given = dict(opts)
        if self.old in given:
            if self.name in given:
                sentence = f"{self.old} is the old name of {self.opts[0]}; give only {self.opts[0]}"
                raise Misuse(sentence, "excluded-options")
            given[str(self.name)] = given.pop(self.old)
            if not ctx.resilient_parsing:
                notice = f"{self.old} is now {self.opts[0]}; the old name will be removed"
                click.echo(f"Notice: {notice}", err=True)
        return super().consume_value(ctx, given)


class Command(click.Command):
    """A command with options in groups; `--help GROUP` shows one of them."""

    def __init__(self, *, groups: Sequence[Group], params: Any = (), **kwargs: Any) -> None:
        options = [option for group in groups for option in group.options]
        super().__init__(params=[*params, *options], **kwargs)
        self.groups = groups
        names = ", ".join(group.name for group in groups)
        self._help = click.Option(
            ["--help"],
            is_flag=False,
            flag_value=ALL,
            metavar="[GROUP]",
            is_eager=True,
            expose_value=False,
            callback=self._show_help,
            shell_complete=lambda ctx, param, typed: [n for n in names.split(", ") if typed in n],
            help="Show this text" + (f", or one group of it: {names}." if groups[1:] else "."),
        )

    def get_help_option(self, ctx: click.Context) -> click.Option:
        return self._help

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            new = {p.old: p.opts[0] for p in self.params if isinstance(p, RenamedOption)}
            near = [new.get(option, option) for option in error.possibilities or ()]
            vars(error)["possibilities"] = [*dict.fromkeys(near)]  # click declares it final
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in self.groups:
            _write(group, ctx, formatter)
        _write(Group("Help", self._help), ctx, formatter)

    def _show_help(self, ctx: click.Context, param: click.Parameter, name: str | None) -> None:
        if name is None or ctx.resilient_parsing:
            return
        if name == ALL:
            click.echo(ctx.get_help())
            ctx.exit()
        groups = {group.name: group for group in self.groups}
        if name not in groups:
            sentence = f"there is no group '{name}'; there are: {', '.join(groups)}"
            raise BadValue(sentence, "no-group", param, ctx)
        formatter = ctx.make_formatter()
        _write(groups[name], ctx, formatter)
        click.echo(formatter.getvalue().strip())
        ctx.exit()


def _write(group: Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    with formatter.section(group.title):
        rows = [row for option in group.options if (row := option.get_help_record(ctx))]
        formatter.write_dl(rows, col_max=COLUMN)
