"""`dpaudit estimate`: the statistics alone, from counts, scores or the guesses of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from dpaudit import checks
from dpaudit.cli import Misuse, options
from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import claim_with_delta, given_only, option
from dpaudit.cli.output import Progress, deliver_result
from dpaudit.errors import BadInput

if TYPE_CHECKING:
    from dpaudit.judging.estimates import StatedOutcome

COUNTS = ("--fp", "--out-trials", "--fn", "--in-trials")
GUESSES = ("--canaries", "--guesses", "--correct")
FORMS = f"counts ({' '.join(COUNTS)}), --scores FILE, or one run ({' '.join(GUESSES)})"
POSITIVE = ("--out-trials", "--in-trials", "--guesses")
WHOLES = {
    "--fp": "--out-trials",
    "--fn": "--in-trials",
    "--guesses": "--canaries",
    "--correct": "--guesses",
}
"""The number that each one is a part of."""

SLOW = 2000
"""The number of scores from which on progress is shown."""

COUNTED = Group(
    "Counts",
    option("--fp N  Out-trials called in (false positives)."),
    option("--out-trials N  Out-trials in all (without the canary).", old="--out"),
    option("--fn N  In-trials called out (false negatives)."),
    option("--in-trials N  In-trials in all (with the canary).", old="--in"),
)
SCORES = Group(
    "Scores",
    option(
        "--scores PATH  Scores, larger meaning in: a .csv with columns world,score (0/1 or out/in) "
        "or out,in; or a .npz with arrays out, inn."
    ),
)
GUESSED = Group(
    "Guesses of one run",
    option("--canaries M  Canaries, each put in by a fair coin."),
    option("--guesses R  How many of them were guessed."),
    option("--correct V  How many guesses were right."),
)
JUDGING = Group(
    "Judging",
    option("--claim EPS[,DELTA]  Judge this claim with the bounds."),
    options.curve("not stated"),
    option(
        "--estimator NAME  A name of dpaudit list; may be repeated.  [default: all that fit]",
        multiple=True,
    ),
    options.DELTA,
    options.CONFIDENCE,
    options.SEED,
)
OUTPUT = options.WRITTEN.without("figure")


@click.command("estimate", cls=Command, groups=(COUNTED, SCORES, GUESSED, JUDGING, OUTPUT))
def command(estimator: tuple[str, ...], **given: Any) -> None:
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
    from dpaudit.report import estimates
    from dpaudit.results import Scores

    output = OUTPUT.take(given)
    stated = given_only(JUDGING.without("estimator").take(given))
    if "claim" in stated:
        stated["claim"], stated["delta"] = claim_with_delta(stated["claim"], stated.get("delta"))
    outcome = _outcome({f"--{k.replace('_', '-')}": n for k, n in given_only(given).items()})
    request = EstimateRequest(outcome, estimators=estimator, **stated)
    many = isinstance(outcome, Scores) and len(outcome.out) + len(outcome.inn) >= SLOW
    slow = many or ":" in request.curve
    with Progress() as progress:
        found = estimate(request, progress.say if slow else lambda text: None)
    deliver_result(estimates, found, output)


def _outcome(given: Mapping[str, Any]) -> StatedOutcome:
    """Return the outcome of the one kind that is given; reject none, several or half of one."""
    from dpaudit.data import score_files
    from dpaudit.results import Counts, Guesses

    found = [kind for kind in (COUNTS, ("--scores",), GUESSES) if given.keys() & {*kind}]
    if not found:
        raise Misuse(f"there is nothing to estimate from; give {FORMS}", "missing-options")
    if len(found) > 1:
        both = " and ".join(next(name for name in kind if name in given) for kind in found)
        raise Misuse(f"{both} are of different kinds; give either {FORMS}", "excluded-options")
    if missing := [name for name in found[0] if name not in given]:
        sentence = f"{', '.join(missing)} must be given beside {', '.join(given)}"
        raise Misuse(sentence, "missing-options")
    if "--scores" in given:
        return score_files.read(given["--scores"])
    checks.refuse(_problems(given))
    kind = Counts if found[0] == COUNTS else Guesses
    return kind(*(given[name] for name in found[0]))


def _problems(given: Mapping[str, int]) -> Iterator[BadInput | None]:
    """Find numbers that cannot be counts of trials."""
    for name, n in given.items():
        yield checks.of(name.lstrip("-"), checks.at_least(name, n, int(name in POSITIVE)))
    for part, whole in ((name, WHOLES[name]) for name in given if name in WHOLES):
        few, many = given[part], given[whole]
        if checks.MANY >= few > many >= 0:
            sentence = f"{part} must be at most {whole}, not {few:,} of {many:,}"
            yield BadInput(sentence, "too-large", option=part.lstrip("-"), value=few)
