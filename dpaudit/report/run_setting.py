"""How a run was made, in labelled lines, and what its page gives away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpaudit.report import formats
from dpaudit.report.document import Facts
from dpaudit.report.run_attacks import judged_on_all
from dpaudit.report.wording import (
    claim_lines,
    claim_unit,
    is_null,
    is_record,
    kind,
    right_guesses,
    unit,
    worlds,
)
from dpaudit.results import Growth, Report

DATA = {
    "pool": "{} records in the training pool",
    "out": "{} records without the canary",
    "in": "{} with it",
    "shadow": "{} for shadow models",
    "test": "{} for testing",
    "classes": "{} classes",
}
START = {
    "random": "starting from random parameters, drawn anew for each model",
    "fixed": "starting from random parameters, the same for all models",
    "taught": "starting from parameters that were pretrained without records",
    "crafted": "starting from parameters that the attacker had trained beforehand",
}


def setting(report: Report, digits: int) -> list[Facts]:
    """Tell the claim, what was trained on what, and what the attacks could see of it."""
    records = report.data
    if is_null(report.canary) or not is_record(report):
        # Both worlds have the same records.
        records = {key: x for key, x in records.items() if key not in ("in", "out")}
    trials = "Training" if report.guesses is not None else claim_unit(report.claim).capitalize()
    rows: list[tuple[str, str | Sequence[str]]] = [
        ("Claim", claim_lines(report.claim, digits)),
        ("Data", _free(records, DATA)),
        ("Canary", _free(report.canary, {})),
        ("Recipe", recipe(report.training) if report.training else []),
        (trials, [*_trials(report), _utility(report)]),
    ]
    if not is_null(report.canary):
        rows += [("Attacker", report.adversary), ("Meaning", report.deployment)]
        if report.heuristic is not None:
            most = f"about {formats.nearest(report.heuristic)} at most"
            seen = "can be found by who sees only the final model (last-iterate heuristic)"
            rows.append(("Heuristic", f"{most} {seen}; this is no bound and decides nothing"))
    if report.defence != "none":
        seen = f"the outputs were defended by {report.defence} before the attacks saw them"
        rows.append(("Defence", seen))
    return [Facts(rows)]


def recipe(training: Mapping[str, Any]) -> list[str]:
    """Tell how a model was trained, and from where."""
    shown = {name: formats.value(x) for name, x in training.items()}
    batches = f"batches of {shown['batch']} on average (sample rate {shown['sample_rate']})"
    if training["sample_rate"] == 1:
        batches = f"full batches of {shown['batch']}"
    dropout = f"dropout {shown['dropout']}" if training["dropout"] else "no dropout"
    return [
        f"{shown['network']}, {shown['steps']} steps on {batches}, learning rate {shown['lr']}, "
        f"clip norm {shown['clip']}, noise multiplier {shown['noise_multiplier']}, {dropout}",
        START[training["start"]],
    ]


def _trials(report: Report) -> list[str]:
    guesses = report.guesses
    if guesses is not None:
        out, inn = report.bounds[report.primary].trials or (0, 0)
        canaries = f"1 model with {guesses.canaries:,} canaries"
        return [f"{canaries}: coins put {inn:,} in and left {out:,} out", right_guesses(guesses)]
    made = kind(report.claim).made
    if report.growth is not None:
        first, *_ = trial_lines(report.models, report.canary, made=made)
        return [first, *_until_decided(report, report.growth)]
    return trial_lines(report.models, report.canary, *judged_on_all(report), made)


def trial_lines(
    models: Mapping[str, int],
    canary: Mapping[str, Any],
    some_by_all: bool = False,
    every_by_all: bool = False,
    made: str = "trained",
) -> list[str]:
    """Tell how many trials there are, and whether some or every bound used all of them."""
    total, named = models["in"] + models["out"], worlds(canary)
    first = f"{total:,} {made}: {models['in']:,} {named.inn}, {models['out']:,} {named.then_out}"
    if not models["choosing"]:
        return [first, f"{models['judging']:,} to judge the attacks; no rule had to be chosen"]
    if every_by_all:
        return [first, f"all {total:,} judge a score that was fixed beforehand"]
    both = "; all judge a score that leaves nothing to choose" if some_by_all else ""
    return [
        first,
        f"{models['choosing']:,} to choose each attack's rule, "
        f"{models['judging']:,} others to judge it{both}",
    ]


def _until_decided(report: Report, growth: Growth) -> list[str]:
    """Tell when a run that was to stop once decided has stopped, and why."""
    number, units = report.models["in"] + report.models["out"], unit(report)
    if report.verdict == "VIOLATION":
        why = f"after {number:,} {units}, because the claim was refuted"
    elif number == growth.most:
        why = f"after all {number:,} {units}; the claim was not refuted"
    else:
        made = kind(report.claim).made
        why = f"after {number:,} {units}, before the claim was refuted or all were {made}"
    first = report.models["choosing"]
    return [
        f"It was to stop once decided, after at most {growth.most:,} {units}, and stopped {why}",
        f"The evidence has come to {max(growth.wealth):.3g} of the {growth.needed:.3g} that "
        f"refute; rules were fitted on earlier pairs of {units}, so that the first {first} judge "
        "nothing",
    ]


def _utility(report: Report) -> str:
    """Tell how good the models are, also in each world if these differ."""
    null, shown = is_null(report.canary), list[str]()
    for key, x in report.utility.items():
        if math.isfinite(x) and not (null and key.endswith(("_in", "_out"))):
            text = formats.percent(round(x, 3)) if "accuracy" in key else formats.value(x)
            shown.append(f"{key.replace('_', ' ')} {text}")
    return ", ".join(shown)


def machinery(report: Report, digits: int) -> list[Facts]:
    """Tell what it ran on, and what is needed to run it again."""
    work = "training" if kind(report.claim).trained else "running"
    names = {"training": f"{work} (all workers together)"}
    spent = ((names.get(what, what), formats.duration(s)) for what, s in report.seconds.items())
    reason = report.backend.get("reason")
    held = formats.percent(report.bounds[report.primary].confidence)
    facts = [
        ("Backend", report.backend["name"] + (f" ({reason})" if reason else "")),
        ("Time", ", ".join(f"{what} {duration}" for what, duration in spent)),
        ("Seed", str(report.seed)),
        ("Versions", formats.value(report.versions)),
        ("Looks", f"{report.looks:,}; this one is held to {held} confidence"),
    ]
    return [Facts(facts)]


def _free(fields: Mapping[str, Any], phrases: Mapping[str, str]) -> str:
    """Write a free-form field as `name: how it was made; the rest as it comes`."""
    rest = ", ".join(
        phrases[key].format(formats.value(x)) if key in phrases else formats.value({key: x})
        for key, x in fields.items()
        if key not in ("name", "made")
    )
    about = "; ".join(formats.value(x) for x in (fields.get("made", ""), rest) if x)
    return ": ".join(formats.value(x) for x in (fields.get("name", ""), about) if x)


def contents(report: Report) -> list[str]:
    """Tell what a page contains, and first whether it shows a training record."""
    evidence = report.evidence
    shown = "It shows no training record."
    if evidence is not None and evidence.canary is not None and is_record(report):
        original = "" if evidence.original is None else ", and the record that it was made from"
        record = "the canary, which may be a training record"
        if is_null(report.canary):
            record = "the training record that was asked about"
        shown = (
            f"It shows {record}{original}. Pass it on only to those who may see the data; "
            "--no-canary-image leaves it out."
        )
    return [
        shown,
        "It also has the numbers and scores of this audit, how the canary was made, and names of "
        "data, plug-ins and software.",
        "It is one file: it loads nothing from the network and runs no scripts.",
    ]
