"""How the audit was played, in labelled lines: for the terminal, and for any page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpaudit.report import formats, local, one_run, releases, words
from dpaudit.report.attacker import is_record
from dpaudit.report.by_step import unit
from dpaudit.report.worlds import is_null
from dpaudit.results import Report

DATA = {
    "pool": "{} records in the training pool",
    "out": "{} records without the canary",
    "in": "{} with it",
    "shadow": "{} for shadow models",
    "test": "{} for testing",
    "classes": "{} classes",
}

Labelled = list[tuple[str, list[str]]]


def played(report: Report) -> Labelled:
    """What was trained on what, and what the attacks could see of it."""
    trained = unit(report.claim).capitalize()
    if report.guesses is not None:
        trained = "Training"
        models = one_run.training_lines(report.guesses, report.bounds[report.primary])
    elif report.growth is None:
        some, every = words.judged_on_all(report, report.bounds)
        halved = not every or not report.models["choosing"]
        models = words.models_lines(
            report.models, report.canary, some, words.made(report.claim), halved
        )
    else:
        models = words.stopped_lines(report, report.growth)
    if utility := words.utility_line(report):
        models.append(utility)
    lines = [
        ("Data", [_free(_records(report), DATA)]),
        ("Canary", [_free(report.canary, {})]),
        *([("Recipe", recipe(report.training))] if report.training else []),
        (trained, models),
        *_attacker(report),
    ]
    if defence := words.defence_line(report.defence):
        lines.append(("Defence", [defence]))
    return lines


def _attacker(report: Report) -> list[tuple[str, list[str]]]:
    """Return what the attacker controls and sees, and what follows; nothing without a canary."""
    if is_null(report.canary):
        return []
    meaning = [("Meaning", [report.deployment])] if report.deployment else []
    return [("Attacker", [report.adversary]), *meaning]


def _records(report: Report) -> Mapping[str, Any]:
    """Of the data; with gradients as canaries, or none, both worlds have the same records."""
    if is_record(report) and not is_null(report.canary):
        return report.data
    return {key: x for key, x in report.data.items() if key not in ("in", "out")}


START = {
    "random": "starting from random parameters, drawn anew for each model",
    "fixed": "starting from random parameters, the same for all models",
    "taught": "starting from a decoder that was taught to undo the projection, without records",
    "crafted": "starting from parameters that the attacker had trained beforehand",
}


def recipe(training: Mapping[str, Any]) -> list[str]:
    """How a model was trained, and from where."""
    told = {name: formats.value(x) for name, x in training.items()}
    batches = f"batches of {told['batch']} on average (sample rate {told['sample_rate']})"
    if training["sample_rate"] == 1:
        batches = f"full batches of {told['batch']}"
    dropout = f"dropout {told['dropout']}" if training["dropout"] else "no dropout"
    return [
        f"{told['network']}, {told['steps']} steps on {batches}, learning rate {told['lr']}, clip "
        f"norm {told['clip']}, noise multiplier {told['noise_multiplier']}, {dropout}",
        START[training["start"]],
    ]


def machinery(report: Report) -> Labelled:
    """What it ran on, and what is needed to run it again."""
    untrained = local.reported(report.claim) or releases.released(report.claim)
    done = "playing" if untrained else "training"
    names = {"training": f"{done} (all workers together)"}
    spent = ((names.get(what, what), formats.duration(s)) for what, s in report.seconds.items())
    reason = report.backend.get("reason")
    return [
        ("Backend", [report.backend["name"] + (f" ({reason})" if reason else "")]),
        ("Time", [", ".join(f"{what} {duration}" for what, duration in spent)]),
        ("Seed", [str(report.seed)]),
        ("Versions", [formats.value(report.versions)]),
    ]


def _free(fields: Mapping[str, Any], phrases: Mapping[str, str]) -> str:
    """A free-form field as `name: how it was made; the rest as it comes`."""
    rest = ", ".join(
        phrases[key].format(formats.value(x)) if key in phrases else formats.value({key: x})
        for key, x in fields.items()
        if key not in ("name", "made")
    )
    about = "; ".join(formats.value(x) for x in (fields.get("made", ""), rest) if x)
    return ": ".join(formats.value(x) for x in (fields.get("name", ""), about) if x)
