"""`dpaudit estimate`: the statistics alone, from counts, scores or the guesses of one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit import checks
from dpaudit.cli import Misuse, completion
from dpaudit.cli.output import Progress
from dpaudit.errors import BadInput

if TYPE_CHECKING:
    from dpaudit.judging.estimates import Given

COUNTS = ("--fp", "--out", "--fn", "--in")
GUESSES = ("--canaries", "--guesses", "--correct")
FORMS = f"counts ({' '.join(COUNTS)}), --scores FILE, or one run ({' '.join(GUESSES)})"

SLOW = 2000
"""Scores, or more, are not judged in a moment."""


@click.command("estimate")
@click.option("--fp", type=int, metavar="N", help="Counts: out-trials called in (canary guessed).")
@click.option("--out", type=int, metavar="N", help="Counts: out-trials in all (without canary).")
@click.option("--fn", type=int, metavar="N", help="Counts: in-trials called out (canary missed).")
@click.option("--in", "inn", type=int, metavar="N", help="Counts: in-trials in all (with canary).")
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    help="Scores, larger meaning in: a .csv with columns world,score (0/1 or out/in) or out,in; "
    "or a .npz with arrays out, inn.",
)
@click.option("--canaries", type=int, metavar="M", help="One run: canaries put in by a coin each.")
@click.option("--guesses", type=int, metavar="R", help="One run: how many of them were guessed.")
@click.option("--correct", type=int, metavar="V", help="One run: how many of these rightly.")
@click.option("--delta", type=float, default=1e-5, help="Of each bound.  [default: 1e-5]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of each bound.")
@click.option(
    "--curve",
    default="",
    metavar="gaussian|none|dpsgd:Q,T",
    shell_complete=completion.curves,
    help="The trade-off curve that the mechanism claims; dpsgd with its sample rate Q and steps "
    "T, one record added or removed.  [default: not stated]",
)
@click.option(
    "--estimator",
    multiple=True,
    shell_complete=completion.plugins("estimators"),
    help="A name from dpaudit list; may be repeated.  [default: all that fit]",
)
@click.option("--claim", type=float, metavar="EPS", help="Hold the bounds against this epsilon.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Of ties and draws; fix it first."
)
@click.option("--json", type=click.Path(path_type=Path), help="Also write it here, for a machine.")
def command(
    scores: Path | None,
    delta: float,
    confidence: float,
    curve: str,
    estimator: tuple[str, ...],
    claim: float | None,
    seed: int,
    json: Path | None,
    **numbers: int | None,
) -> None:
    """Bound epsilon from counts, scores or guesses.

    The statistics alone, of another tool's attack: every estimator that fits what is given,
    side by side, with what each assumes.

    \b
        dpaudit estimate --fp 5 --out 500 --fn 60 --in 500
        dpaudit estimate --scores scores.csv --curve gaussian
        dpaudit estimate --canaries 1000 --guesses 200 --correct 180

    Counts are of decisions by a rule that was fixed beforehand. With --claim each bound is held
    against it; only one that assumes nothing, or the stated curve, can refute it.
    """
    from dpaudit.judging.estimates import Question, estimate
    from dpaudit.report import estimates, machine, to_terminal
    from dpaudit.results import Scores

    options = {f"--{'in' if name == 'inn' else name}": n for name, n in numbers.items()}
    outcome = _outcome(options, scores)
    question = Question(outcome, delta, confidence, curve, estimator, claim, seed)
    many = isinstance(outcome, Scores) and len(outcome.out) + len(outcome.inn) >= SLOW
    progress = Progress()
    try:
        found = estimate(question, progress.say if many or ":" in curve else _silent)
    finally:
        progress.clear()
    try:
        if json is not None:
            machine.write(estimates.to_dict(found), json)
    finally:
        click.echo(to_terminal.write(estimates.document(found)))


def _silent(text: str) -> None:
    """Nothing is said of what takes no time."""


def _outcome(options: dict[str, int | None], scores: Path | None) -> Given:
    """Whichever of the three kinds is given, and no other."""
    from dpaudit.data import score_files as files
    from dpaudit.results import Counts, Guesses

    given: dict[str, Any] = {name: n for name, n in options.items() if n is not None}
    kinds = [set(COUNTS) & set(given), {"--scores"} if scores else set(), set(GUESSES) & set(given)]
    found = [sorted(kind, key=[*options, "--scores"].index) for kind in kinds if kind]
    if not found:
        raise Misuse(f"there is nothing to estimate from; give {FORMS}", "missing-options")
    if len(found) > 1:
        both = " and ".join(kind[0] for kind in found)
        raise Misuse(f"{both} are of different kinds; give either {FORMS}", "excluded-options")
    if scores:
        return files.read(scores)
    wanted = COUNTS if kinds[0] else GUESSES
    if missing := [name for name in wanted if name not in given]:
        beside = ", ".join(found[0])
        raise Misuse(f"{', '.join(missing)} must be given beside {beside}", "missing-options")
    values = [given[name] for name in wanted]
    if wanted is COUNTS:
        _refuse(given, [("--fp", "--out"), ("--fn", "--in")], least=("--out", "--in"))
        fp, out, fn, inn = values
        return Counts(fp=fp, out=out, fn=fn, inn=inn)
    _refuse(given, [("--guesses", "--canaries"), ("--correct", "--guesses")], least=("--guesses",))
    canaries, guesses, correct = values
    return Guesses(canaries=canaries, guesses=guesses, correct=correct)


def _refuse(given: dict[str, int], parts: list[tuple[str, str]], least: tuple[str, ...]) -> None:
    """Refuse numbers that no trials give."""
    problems = [
        checks.of(name.lstrip("-"), checks.at_least(name, n, 1 if name in least else 0))
        for name, n in given.items()
    ]
    problems += [
        BadInput(
            f"{part} must be at most {whole}, not {given[part]:,} of {given[whole]:,}",
            "too-large",
            option=part.lstrip("-"),
            value=given[part],
        )
        for part, whole in parts
        if checks.MANY >= given[part] > given[whole] >= 0
    ]
    checks.refuse(problems)
