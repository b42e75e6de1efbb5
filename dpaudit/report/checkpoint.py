"""The audit of a user's own model, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from dpaudit.accounting.curves import DPSGD
from dpaudit.checkpoint.audit import CheckpointReport
from dpaudit.checkpoint.scoring import needed
from dpaudit.report import one_run, promises, words
from dpaudit.report.consistent import check_bound
from dpaudit.report.formats import at_least, at_most, nearest, percent, power
from dpaudit.report.terminal import BOLD, RESET, bullets, verdict_lines
from dpaudit.report.wrapping import labelled, row, wrap
from dpaudit.results import Bound

WIDTH = 79

GAME = (
    "One model was trained with many planted records, the canaries, each of them put in or left "
    "out by a fair coin. A score then guesses from the model which of them were in: the better it "
    "guesses, the more a training gives away about one record. Epsilon measures this leak: 0 is "
    "none, more is worse."
)
MEMBERS = (
    "One model is asked about records that it was trained on, the members, and about others. A "
    "score guesses which are which: the better it guesses, the more the model gives away about "
    "one record."
)
UNLESS = (
    "THESE ARE BOUNDS ONLY IF A FAIR COIN, TOSSED FOR EACH RECORD, CHOSE WHAT WAS TRAINED ON. "
    "Nothing here shows that. Members that were chosen in any other way (an earlier month, another "
    "source, a split by hand) may differ from the others by themselves; what the score then tells "
    "apart is no leak, and the numbers below bound nothing. State --fair-coins if coins were "
    "tossed, or train with a kit (dpaudit canaries make)."
)
NO_COIN = (
    "NO BOUND: no fair coin chose these records, so that nothing can be said of epsilon. Train "
    "with a kit (dpaudit canaries make)."
)
TITLES = (
    ["", "epsilon", "", "right", ""],
    ["estimator", "at least", "ceiling", "guesses", "assumes"],
)


def render(found: CheckpointReport, color: bool = False) -> str:
    """Setting, risk, bounds, verdict and what to do, in lines of under 80 columns."""
    for bound in found.bounds:
        check_bound(bound)
    digits = digits_needed(found)
    blocks = [
        _headline(found, digits),
        _setting(found, digits),
        _risk(found),
        _bounds(found, digits, color),
        _verdict(found, digits, color),
        bullets("Warnings", found.warnings, "!", WIDTH),
        bullets("What to do next", found.next_steps, "-", WIDTH),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def digits_needed(found: CheckpointReport) -> int:
    """Decimals at which the first bound and its ceiling print on their own side of the claim."""
    return words.digits_needed(found) if found.claim.guarantees and found.bounds else 2


def _headline(found: CheckpointReport, digits: int) -> list[str]:
    asked = "how much does this model leak?"
    if found.claim.guarantees:
        asked = promises.question(found.claim, digits)
    title = f"dpaudit: {asked}"
    return [
        title,
        "=" * len(title),
        *wrap(GAME if found.candidates.coins == "kit" else MEMBERS, WIDTH),
    ]


def _setting(found: CheckpointReport, digits: int) -> list[str]:
    claim, candidates = found.claim, found.candidates
    inn = int(candidates.put_in.sum())
    out = len(candidates.put_in) - inn
    records = [candidates.about]
    if candidates.commitment is not None:
        records.append(f"coins put {inn:,} in and left {out:,} out")
        records.append(f"The coins are those that were sealed: {candidates.commitment}")
    elif candidates.coins == "stated":
        records.append("That a fair coin chose each of them is the user's statement.")
    score = [f"{found.score.name}: {found.score.words}; fixed before any coin was looked at"]
    if found.references:
        score.append(
            f"Reference models: {', '.join(found.references)}. They must not have been trained on "
            "these canaries, whose coins they would give away."
        )
    lines = [
        ("Claim", promises.lines(claim, digits) if claim.guarantees else []),
        ("Model", [found.model]),
        ("Canaries" if candidates.coins == "kit" else "Records", records),
        ("Score", score),
    ]
    return [line for label, texts in lines for line in labelled(label, texts, WIDTH)]


# ---------------------------------------------------------------- risk


def risk_lines(found: CheckpointReport) -> Iterator[tuple[str, str]]:
    """The figures of risk, each with its name."""
    risk = found.risk
    low, high = risk.interval
    yield (
        "AUC",
        f"{nearest(risk.auc, 3)} ({percent(risk.confidence)} interval {at_least(low, 3)} … "
        f"{at_most(high, 3)}, by Hoeffding's bound)",
    )
    others = int((~found.candidates.put_in).sum())
    what, which = ("canaries", "were left out")
    if found.candidates.coins != "kit":
        what, which = ("records", "are no members")
    for fpr, tpr in risk.tpr.items():
        said = f"needs more {what}: {needed(fpr):,} that {which}, not {others:,}"
        yield f"TPR at {percent(fpr)} FPR", said if tpr is None else percent(round(tpr, 3))


def _risk(found: CheckpointReport) -> list[str]:
    shown = list(risk_lines(found))
    width = max(len(name) for name, _ in shown)
    return [
        *wrap("Risk of this model by this score, which describes it and bounds no epsilon:", WIDTH),
        *(f"  {name:<{width}}  {text}" for name, text in shown),
    ]


# ---------------------------------------------------------------- bounds


def _bounds(found: CheckpointReport, digits: int, color: bool) -> list[str]:
    if not found.bounds:
        return wrap(NO_COIN, WIDTH)
    lines = []
    if found.candidates.coins == "supposed":
        warned = wrap(UNLESS, WIDTH)
        lines += [f"{BOLD}{line}{RESET}" if color else line for line in warned] + [""]
    rows = [
        [
            bound.estimator,
            at_least(bound.epsilon, digits),
            nearest(bound.ceiling, digits),
            f"{guesses.correct:,} of {guesses.guesses:,}",
            assumes(bound, found),
        ]
        for bound in found.bounds
        if (guesses := bound.guesses)
    ]
    widths = [max(map(len, column)) for column in zip(*TITLES, *rows, strict=True)]
    lines += [row(titles, widths) for titles in TITLES]
    lines.append("-" * (sum(widths) + 2 * len(widths)))
    first, *beside = (row(cells, widths) for cells in rows)
    first = f">{first[1:]}"
    lines += [f"{BOLD}{first}{RESET}" if color else first, *beside]
    lines.append("")
    for bound in found.bounds:
        lines += wrap(f"{bound.estimator}: {bound.sentence}", WIDTH, indent="  ")
    for text in reading(found):
        lines += wrap(text, WIDTH, indent="  ")
    return lines


def assumes(bound: Bound, found: CheckpointReport) -> str:
    """What a bound stands on, in a few words."""
    curves = found.request.family
    if bound.assumption == "accountant" and isinstance(curves, DPSGD):
        return f"DP-SGD's curve: rate {curves.sample_rate:g}, {curves.rounds:,} steps"
    return {"none": "nothing", "gaussian": "a Gaussian trade-off curve"}[bound.assumption]


def reading(found: CheckpointReport) -> list[str]:
    """Which bound decides, how it was selected, and what would make it none."""
    first = found.bounds[0]
    at = f"{percent(first.confidence)} confidence, delta {power(first.delta)}"
    decides = "> decides" if found.claim.guarantees else "> shows most surely"
    lines = [
        f"{decides}: {first.estimator}, {first.rule}; {at}; selection: {first.selection}.",
    ]
    for bound in found.bounds[1:]:
        why = "as no such curve is claimed" if bound.assumption != "none" else "beside it"
        lines.append(f"{bound.estimator} decides nothing, {why}.")
    return [*lines, _looked(found)]


def _looked(found: CheckpointReport) -> str:
    """What the bounds allow for of looking again, and what they do not."""
    if found.candidates.looks is None:
        return (
            "Another score that is tried because of what this one showed is a selection which no "
            "number here allows for: fix it beforehand (--score), or train with a kit."
        )
    if found.looks == 1:
        return (
            "This is the first look at the kit's coins. Any other (another model, score or number "
            "of guesses) is counted in the kit, and held to a higher confidence."
        )
    asked, held = percent(found.request.confidence), percent(found.bounds[0].confidence)
    return (
        f"This is look {found.looks:,} at the kit's coins, held to {held} confidence instead of "
        f"{asked}. That allows for the looks before it, not for a score that was made up because "
        "of what they told of single canaries: for that, train with a fresh kit."
    )


# ---------------------------------------------------------------- the verdict


def _verdict(found: CheckpointReport, digits: int, color: bool) -> list[str]:
    if not found.claim.guarantees:
        return []
    return verdict_lines(found.verdict, verdict_sentence(found, digits), WIDTH, color)


def verdict_sentence(found: CheckpointReport, digits: int) -> str:
    """What the verdict rests on, with its numbers, and what it does not say."""
    claim, guesses = found.claim, found.guesses
    claimed = nearest(claim.epsilon, digits)
    if guesses is None:
        return f"without a fair coin nothing can be said of the claim of {claimed}."
    bound = found.bounds[0]
    ceiling, shown = nearest(bound.ceiling, digits), words.certified(bound, claim, digits)
    if found.candidates.coins == "supposed":
        above = bound.epsilon > claim.epsilon
        would = "would refute" if above else "would not refute"
        return (
            f"if a fair coin chose each record, {shown}, which {would} the claim of {claimed}; "
            "nobody says that one did, so it decides nothing."
        )
    many = f"{len(found.scores):,} canaries"
    if found.verdict == "VIOLATION":
        return (
            f"{shown}, above the claim of {claimed}. The claim does not hold for the training of "
            f"this model. ({one_run.right(guesses)}; so many could certify at most {ceiling}.)"
        )
    if bound.ceiling < claim.epsilon:
        return (
            f"{many} could not have certified more than {ceiling} (by {bound.estimator}, "
            f"{percent(bound.confidence)} confidence), below the claim of {claimed}. This audit "
            f"can neither refute nor support the claim; {shown}."
        )
    return (
        f"{shown}, which does not refute the claim of {claimed}; {many} could have certified up to "
        f"{ceiling}. This is not a proof of privacy: other canaries or a stronger score may show "
        "more."
    )
