"""A plan, as a document and as JSON: what an audit could show before it is run."""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import groupby
from typing import Any

from dpaudit.accounting.curves import DPSGDFamily, parse_family
from dpaudit.accounting.sampled import Sampled
from dpaudit.config.adversaries import OBSERVER
from dpaudit.estimators.bets import LOOK
from dpaudit.estimators.power.stopped import LONGEST
from dpaudit.judging import plan as planning
from dpaudit.judging.plan import ModelsUntilDecided, Plan
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.report import document as parts
from dpaudit.report import machine
from dpaudit.report.document import Column, Document, Facts, Table, Text
from dpaudit.report.formats import NOTHING, duration, nearest, percent, power
from dpaudit.results import Assumption
from dpaudit.versions import versions

ASSUMING: dict[Assumption, str] = {
    "none": "assuming nothing",
    "gaussian": "assuming the claimed Gaussian curve",
    "accountant": "assuming DP-SGD's sample rate and steps, as claimed",
    "prior": "assuming a prior",
}


def document(plan: Plan) -> Document:
    """Build the document: the request, the table, how to read it and what to do."""
    q = plan.request
    claim = f"epsilon {_epsilon(q.claim)}, delta {power(q.delta)}, {_curve(q.curve)}"
    facts = Facts(
        [
            ("Claim", [claim]),
            (q.unit.capitalize(), _number(plan)),
            ("Supposed", _supposed(q)),
            ("Time", [_pace(plan)] if plan.pace else []),
        ]
    )
    return Document([facts, _table(plan), Text([reading(q)]), Text(steps(plan), mark="-")])


def _curve(name: str) -> str:
    curves = parse_family(name)
    if curves is None:
        return "no curve stated"
    if isinstance(curves, DPSGDFamily):
        return f"DP-SGD with sample rate {curves.sample_rate:g} and {curves.rounds:,} steps"
    return "a Gaussian curve"


def _supposed(q: PlanRequest) -> list[str]:
    origin = "" if q.leak.true is not None else ", twice the claim (--true-epsilon)"
    leaks = f"a true epsilon of {_epsilon(q.truth.true)}{origin}"
    attack = "the best attack there can be"
    by = "" if q.leak.true_curve is not None else " (--true-curve)"
    if q.leaking == "pure":
        most = f"randomized response, the most leaking mechanism of that epsilon{by}"
        return [leaks, most, attack]
    if q.leaking == q.curve:
        return [leaks, f"a mechanism of the claimed kind, and {attack}"]
    kind = _curve(q.leaking) if ":" in q.leaking else mechanism(q)
    return [leaks, f"{kind}{by}, and {attack}"]


def mechanism(q: PlanRequest) -> str:
    """Return the name of what is supposed to leak."""
    if q.leaking == "pure":
        return "randomized response"
    return "DP-SGD" if isinstance(parse_family(q.leaking), DPSGDFamily) else "a Gaussian mechanism"


def _number(plan: Plan) -> list[str]:
    q = plan.request
    if q.size.canaries is not None:
        best = ", ".join(f"{row.judging:,} by {row.estimator}" for row in plan.rows)
        guessed = f"guessed: {best}" if q.size.guesses is None else f"{q.size.guesses:,} guessed"
        return [f"{q.size.canaries:,} in one training, each put in by a coin; {guessed}"]
    lines = [f"{q.number:,}, half of them with the canary"]
    if q.fixed_score:
        lines.append("all of them judge a score that was fixed beforehand; of counted errors half")
    else:
        lines.append("half of them choose the rule, the others judge it")
    return lines


def _pace(plan: Plan) -> str:
    pace, q = plan.pace, plan.request
    assert pace is not None
    by = f" by {pace.backend}" if pace.backend else ""
    one = f"{duration(pace.seconds)} a model{by}, measured on {pace.probed}"
    processes = "1 process" if pace.workers == 1 else f"{pace.workers} processes"
    if q.size.canaries is not None:
        return one
    return f"{one}; {q.number:,} take about {duration(pace.time(q.number))} in {processes}"


def _table(plan: Plan) -> Table:
    q = plan.request
    columns = [
        Column("estimator", words=True),
        Column("ceiling"),
        Column("typical\nbound"),
        Column("chance\nto refute"),
        Column(f"{q.unit} for\na ceiling\n> {_epsilon(q.claim)}"),
        Column(f"for {percent(q.goal.power)}\nchance"),
    ]
    if q.goal.reach:
        columns.append(Column(f"{percent(q.goal.power)} for\n> {_epsilon(q.goal.reach)}"))
    rows = []
    for assumption, group in groupby(plan.rows, key=lambda row: row.assumption):
        rows.append(parts.Row([f"{ASSUMING[assumption]}:"]))
        rows += [parts.Row(_cells(row, q)) for row in group]
    return Table(columns, rows)


def _cells(row: planning.PlanRow, q: PlanRequest) -> list[str]:
    return [
        row.estimator,
        nearest(row.ceiling),
        nearest(row.typical),
        chance(row.chance),
        _needed(row.for_claim, row),
        _needed(row.for_power, row),
        *([_needed(row.for_reach, row)] if q.goal.reach else []),
    ]


def chance(share: float) -> str:
    """Write a probability in per cent, never 0 or 1 by rounding."""
    if math.isnan(share):
        return NOTHING
    if share <= 0.005:
        return "< 1 %"
    return "> 99 %" if share >= 0.995 else f"{100 * share:.0f} %"


def _needed(number: int | None, row: planning.PlanRow) -> str:
    if number is not None:
        return f"{number:,}"
    return f"> {row.searched:,}" if row.searched < 10**6 else "> 1e6"


def reading(q: PlanRequest) -> str:
    """Explain the columns, and what they do not say."""
    by_knots = any(isinstance(curves, Sampled) for curves in (q.claimed, q.truth.curves))
    close = " DP-SGD's curves are interpolated, to a per cent or two." if by_knots else ""
    if q.size.guesses is not None:
        close += " Of more canaries the same share is guessed."
    others = "another mechanism of that epsilon may show far less, or more (--true-curve)"
    if q.leaking == "pure":
        others = "any other mechanism of that epsilon less, most of them far less (--true-curve)"
    return (
        f"How to read it. The ceiling is the most that {_many(q)}{_so_guessed(q)} could show "
        "without any error. Typical bound (the median outcome) and chance are computed or "
        "simulated (to 5 % or so) for what is supposed: a real attack shows less, and "
        f"{others}. They are a forecast, and no bound. Power does not rise smoothly with size, so "
        f"the numbers for a chance are approximate.{close}"
    )


def _many(q: PlanRequest) -> str:
    return f"{q.number:,} {q.unit}" + (
        "" if q.size.guesses is None else f" and {q.size.guesses:,} guesses"
    )


def steps(plan: Plan) -> list[str]:
    """Say what to do with the plan."""
    q, best = plan.request, plan.best
    lines = []
    if best is None:
        lines.append(
            f"No estimator here has a chance of {percent(q.goal.power)} to refute the claim, as "
            "far as the last column looks; suppose a larger true epsilon (--true-epsilon)."
        )
    else:
        number = best.for_power or 0
        takes = f"{number:,} {q.unit} by {best.estimator} {_how(q, best)}"
        if plan.pace and q.size.canaries is None:
            takes += f", about {duration(plan.pace.time(number))} here"
        lines.append(
            f"To refute the claim with a chance of {percent(q.goal.power)} if "
            f"{mechanism(q)} leaks {_epsilon(q.truth.true)} takes about {takes}, and more with a "
            "real attack."
        )
    if plan.until_decided is not None:
        lines.append(_stopping(plan.until_decided, plan))
    short = [r for r in plan.rows if r.ceiling < q.claim]
    if short:
        names = " and ".join(r.estimator for r in short)
        lines.append(
            f"With {_many(q)}{_so_guessed(q)} {names} cannot refute it whatever leaks: the ceiling "
            "is below the claim."
        )
    if q.curve == "none" and q.leaking != "pure":
        lines.append(
            f"Fewer refute the same leak if the claim states its curve: --curve {q.leaking}."
        )
    if plan.pace is None and q.size.canaries is None:
        lines.append("How long that takes on this machine: the same line with --probe.")
    return lines


def _so_guessed(q: PlanRequest) -> str:
    return ", so guessed," if q.size.canaries and q.size.guesses is None else ""


def _stopping(decided: ModelsUntilDecided, plan: Plan) -> str:
    """Say how many models --until-decided takes, and what that supposes."""
    until, q = "Until decided (--until-decided),", plan.request
    if decided.half is None:
        return f"{until} most audits would take over {2 * LONGEST:,} models."

    def after(models: int, unit: str = "") -> str:
        time = f" (about {duration(plan.pace.time(models))})" if plan.pace else ""
        return f"{models:,}{unit}{time}"

    often = (
        f", {percent(q.goal.power)} of them after {after(decided.power)}" if decided.power else ""
    )
    best = "" if q.curve != "none" else " and the best threshold known beforehand"
    return (
        f"{until} half of audits stop after {after(decided.half, ' models')}{often}; that supposes "
        f"a look every {LOOK} models{best}."
    )


def _epsilon(x: float) -> str:
    """Write an epsilon, with as many digits as a small one needs."""
    return nearest(x) if x >= 0.1 else f"{x:.2g}"


def _how(q: PlanRequest, best: planning.PlanRow) -> str:
    """Return the options that do it."""
    if q.size.canaries is not None:
        return f"in one training, {best.guesses:,} of them guessed"
    usual = "exact-scan" if q.curve == "none" else "rank-test"
    named = "" if best.estimator == usual else f" --estimator {best.estimator}"
    fixed = " --attack NAME" if q.fixed_score else ""
    if q.adversary != OBSERVER.name:
        fixed = f" --adversary {q.adversary}"
    return f"(--models {best.for_power}{named}{fixed})"


def to_dict(plan: Plan) -> dict[str, Any]:
    """Return all of it as plain values that JSON can hold."""
    q, pace = plan.request, plan.pace
    total = pace.time(q.number) if pace and q.size.canaries is None else None
    return machine.contract(
        "plan",
        {
            "claim": {"epsilon": q.claim, "delta": q.delta, "curve": q.curve},
            "models": q.number if q.size.canaries is None else None,
            "canaries": q.size.canaries,
            "fixed_score": q.fixed_score,
            "confidence": q.goal.confidence,
            "reach": q.goal.reach,
            "true_epsilon": q.truth.true,
            "true_curve": q.leaking,
            "power": q.goal.power,
            "estimators": [asdict(row) for row in plan.rows],
            "best": None if plan.best is None else plan.rows.index(plan.best),
            "until_decided": plan.until_decided and asdict(plan.until_decided),
            "pace": pace and {**asdict(pace), "total": total},
            "versions": versions(),
        },
    )
