"""`dpaudit estimate`: the statistics alone, from counts, scores or the guesses of one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit import checks
from dpaudit.cli import Misuse, completion
from dpaudit.cli.command import Command, Group, RenamedOption
from dpaudit.cli.options import (
    CONFIDENCE,
    DELTA,
    DETAIL,
    FILE,
    SEED,
    claim,
    claim_with_delta,
    curve,
    given_only,
    option,
)
from dpaudit.cli.output import Progress, deliver, places
from dpaudit.errors import BadInput

if TYPE_CHECKING:
    from dpaudit.judging.estimates import StatedOutcome
    from dpaudit.report.to_terminal import Detail

COUNTS = ("--fp", "--out-trials", "--fn", "--in-trials")
GUESSES = ("--canaries", "--guesses", "--correct")
FORMS = f"counts ({' '.join(COUNTS)}), --scores FILE, or one run ({' '.join(GUESSES)})"

SLOW = 2000
"""The number of scores from which on progress is shown."""


COUNTED = Group(
    "Counts",
    (
        option("--fp", type=int, metavar="N", help="Out-trials called in (false positives)."),
        RenamedOption(
            ["--out-trials"],
            old="--out",
            type=int,
            metavar="N",
            help="Out-trials in all (without the canary).",
        ),
        option("--fn", type=int, metavar="N", help="In-trials called out (false negatives)."),
        RenamedOption(
            ["--in-trials"],
            old="--in",
            type=int,
            metavar="N",
            help="In-trials in all (with the canary).",
        ),
    ),
)
SCORES = Group(
    "Scores",
    (
        option(
            "--scores",
            type=FILE,
            help="Scores, larger meaning in: a .csv with columns world,score (0/1 or out/in) or "
            "out,in; or a .npz with arrays out, inn.",
        ),
    ),
)
GUESSED = Group(
    "Guesses of one run",
    (
        option("--canaries", type=int, metavar="M", help="Canaries, each put in by a fair coin."),
        option("--guesses", type=int, metavar="R", help="How many of them were guessed."),
        option("--correct", type=int, metavar="V", help="How many guesses were right."),
    ),
)
JUDGING = Group(
    "Judging",
    (
        claim("Judge this claim with the bounds."),
        curve("not stated"),
        option(
            "--estimator",
            multiple=True,
            metavar="NAME",
            shell_complete=completion.plugins("estimators"),
            help="A name of dpaudit list; may be repeated.  [default: all that fit]",
        ),
        DELTA,
        CONFIDENCE,
        SEED,
    ),
)
OUTPUT = Group(
    "Output", [*DETAIL, option("--json", type=FILE, help="Also write the result as JSON.")]
)

GROUPS = (COUNTED, SCORES, GUESSED, JUDGING, OUTPUT)


@click.command("estimate", cls=Command, groups=GROUPS)
def command(
    scores: Path | None,
    estimator: tuple[str, ...],
    json: Path | None,
    detail: Detail | None,
    **given: Any,
) -> None:
    """Bound epsilon from counts, scores or guesses.

    Only the statistics, for the attack of another tool: the bounds that assume nothing and, with
    --curve, those that assume this curve.

    \b
        dpaudit estimate --fp 5 --out-trials 500 --fn 60 --in-trials 500
        dpaudit estimate --scores scores.csv --curve gaussian
        dpaudit estimate --canaries 1000 --guesses 200 --correct 180

    Counts are of decisions by a rule that was fixed beforehand. With --claim each bound is
    compared with the claim; only one that assumes nothing, or the stated curve, can refute it.
    """
    from dpaudit.judging.estimates import EstimateRequest, estimate
    from dpaudit.report import estimates, machine
    from dpaudit.results import Scores

    named = ("delta", "confidence", "curve", "claim", "seed")
    stated = given_only({name: given.pop(name) for name in named})
    if "claim" in stated:
        stated["claim"], stated["delta"] = claim_with_delta(stated["claim"], stated.get("delta"))
    numbers = {f"--{name.replace('_', '-')}": n for name, n in given_only(given).items()}
    outcome = _outcome(numbers, scores)
    question = EstimateRequest(outcome, estimators=estimator, **stated)
    many = isinstance(outcome, Scores) and len(outcome.out) + len(outcome.inn) >= SLOW
    with Progress() as progress:
        found = estimate(
            question, progress.say if many or ":" in question.curve else lambda text: None
        )
    document = estimates.document(found, places(json))
    deliver(document, detail, (json, lambda path: machine.write(estimates.to_dict(found), path)))


def _outcome(given: Mapping[str, int], scores: Path | None) -> StatedOutcome:
    """Return the outcome of the one kind that is given; reject none, several or half of one."""
    from dpaudit.data import score_files as files
    from dpaudit.results import Counts, Guesses

    counts, guesses = ([n for n in given if n in kind] for kind in (COUNTS, GUESSES))
    found = [kind for kind in (counts, ["--scores"] if scores else [], guesses) if kind]
    if not found:
        raise Misuse(f"there is nothing to estimate from; give {FORMS}", "missing-options")
    if len(found) > 1:
        both = " and ".join(kind[0] for kind in found)
        raise Misuse(f"{both} are of different kinds; give either {FORMS}", "excluded-options")
    if scores:
        return files.read(scores)
    wanted = COUNTS if counts else GUESSES
    if missing := [name for name in wanted if name not in given]:
        beside = ", ".join(found[0])
        raise Misuse(f"{', '.join(missing)} must be given beside {beside}", "missing-options")
    one, two, *rest = (given[name] for name in wanted)
    if wanted is COUNTS:
        _refuse(given, [("--fp", "--out-trials"), ("--fn", "--in-trials")], COUNTS[1::2])
        return Counts(one, two, *rest)
    _refuse(given, [("--guesses", "--canaries"), ("--correct", "--guesses")], ("--guesses",))
    return Guesses(one, two, rest[0])


def _refuse(given: Mapping[str, int], parts: list[tuple[str, str]], least: tuple[str, ...]) -> None:
    """Reject numbers that cannot be counts of trials."""
    problems = [
        checks.of(name.lstrip("-"), checks.at_least(name, n, 1 if name in least else 0))
        for name, n in given.items()
    ]
    for part, whole in parts:
        few, many = given[part], given[whole]
        if checks.MANY >= few > many >= 0:
            sentence = f"{part} must be at most {whole}, not {few:,} of {many:,}"
            problems.append(BadInput(sentence, "too-large", option=part.lstrip("-"), value=few))
    checks.refuse(problems)
