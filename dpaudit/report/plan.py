"""A plan, as a document and as JSON: what an audit could show before it is run."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from dpaudit.accounting.curves import DPSGDFamily, parse_family
from dpaudit.accounting.sampled import Sampled
from dpaudit.config.adversaries import OBSERVER
from dpaudit.estimators.bets import LOOK
from dpaudit.estimators.power.stopped import LONGEST
from dpaudit.judging import plan as planning
from dpaudit.judging.plan import ModelsUntilDecided, Plan
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.report import machine
from dpaudit.report.document import Bar, Block, Column, Document, Facts, Row, Table, Text, words
from dpaudit.report.formats import NOTHING, duration, nearest, percent, power
from dpaudit.report.run_verdict import ending
from dpaudit.results import Assumption
from dpaudit.versions import versions

ASSUMES: dict[Assumption, str] = {
    "none": "nothing",
    "gaussian": "claimed curve",
    "accountant": "claimed curve",
    "prior": "a prior",
}


def document(plan: Plan, where: str = "") -> Document:
    """Build the document: the request, the table, how to read it and what to do."""
    q = plan.request
    facts = [
        ("Claim", [f"epsilon {_epsilon(q.claim)}, delta {power(q.delta)}, {_curve(q.curve)}"]),
        (q.unit.capitalize(), _number(plan)),
        ("Supposed", _supposed(q)),
        ("Time", [_pace(plan)]),
    ]
    advice = steps(plan)
    first, end = Text([sentence(plan)], strong=True), ending(advice, where)
    summary: list[Block] = [first, _bars(plan), _short_table(plan), end]
    reading = Text([f"{READING}{_interpolated(q)}"])
    return Document(summary, [Facts(facts), _ceilings(plan), reading, Text(advice, mark="-")])


def sentence(plan: Plan) -> str:
    """Say how likely the planned audit is to refute the claim, and what that supposes."""
    q, row = plan.request, max(plan.rows, key=lambda row: row.chance)
    return (
        f"{_many(q)} refute a claim of {_epsilon(q.claim)} with a chance "
        f"of {chance(row.chance)}, if {mechanism(q)} leaks {_epsilon(q.truth.true)} and the attack "
        "is the best possible."
    )


def _bars(plan: Plan) -> Bar:
    q, best = plan.request, max(plan.rows, key=lambda row: row.typical)
    marks = [("claimed", q.claim), ("supposed leak", q.truth.true), ("typical bound", best.typical)]
    return Bar([(name, _epsilon(x), x) for name, x in marks])


def _short_table(plan: Plan) -> Table:
    """Build the table of the summary, with five columns."""
    q = plan.request
    titles = ("typical bound", "chance", f"{q.unit} for {percent(q.goal.power)}")
    rows = []
    for row in plan.rows:
        numbers = nearest(row.typical), chance(row.chance), _needed(row.for_power, row)
        rows.append(Row([row.estimator, *numbers, ASSUMES[row.assumption]]))
    return Table([*words("estimator"), *map(Column, titles), *words("assumes")], rows)


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
    most = ", the most leaking mechanism of that epsilon" if q.leaking == "pure" else ""
    kind = f"{_curve(q.leaking) if ':' in q.leaking else mechanism(q)}{most}"
    kind += "" if q.leak.true_curve is not None else " (--true-curve)"
    kind = "a mechanism of the claimed kind" if q.leaking == q.curve else kind
    return [leaks, f"{kind}, and the best attack there can be"]


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
    judge = "half of them choose the rule, the others judge it"
    if q.fixed_score:
        judge = "all of them judge a score that was fixed beforehand; of counted errors half"
    return [f"{q.number:,}, half of them with the canary", judge]


def _pace(plan: Plan) -> str:
    pace, q = plan.pace, plan.request
    if pace is None:
        return ""
    by = f" by {pace.backend}" if pace.backend else ""
    one = f"{duration(pace.seconds)} a model{by}, measured on {pace.probed}"
    if q.size.canaries is not None:
        return one
    processes = "1 process" if pace.workers == 1 else f"{pace.workers} processes"
    return f"{one}; {q.number:,} take about {duration(pace.time(q.number))} in {processes}"


def _ceilings(plan: Plan) -> Table:
    """Build the table of the details: ceilings, and the models that they and a bound take."""
    q, reach = plan.request, plan.request.goal.reach
    titles = ["ceiling", f"{q.unit} for a ceiling > {_epsilon(q.claim)}"]
    titles += [f"{percent(q.goal.power)} for > {_epsilon(reach)}"] if reach else []
    rows = []
    for row in plan.rows:
        cells = [row.estimator, nearest(row.ceiling), _needed(row.for_claim, row)]
        rows.append(Row([*cells, *([_needed(row.for_reach, row)] if reach else [])]))
    return Table([*words("estimator"), *map(Column, titles)], rows)


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


READING = (
    "The typical bound, a median, and the chance are forecasts for the supposed leak and the best "
    "attack, to about 5 %. A real attack shows less, and another mechanism may show less or more "
    "(--true-curve). Power does not rise smoothly with size."
)


def _interpolated(q: PlanRequest) -> str:
    by_knots = any(isinstance(curves, Sampled) for curves in (q.claimed, q.truth.curves))
    return " DP-SGD's curves are interpolated, to 1 or 2 %." if by_knots else ""


def _many(q: PlanRequest) -> str:
    return f"{q.number:,} {q.unit}" + (
        "" if q.size.guesses is None else f" and {q.size.guesses:,} guesses"
    )


def steps(plan: Plan) -> list[str]:
    """Say what to do with the plan."""
    q, best, lines = plan.request, plan.best, list[str]()
    sure = f"a chance of {percent(q.goal.power)}"
    if best is None:
        lines.append(f"No estimator reaches {sure}; suppose a larger leak (--true-epsilon).")
    else:
        number = best.for_power or 0
        time = ""
        if plan.pace and q.size.canaries is None:
            time = f", about {duration(plan.pace.time(number))} here"
        lines.append(
            f"{sure[0].upper()}{sure[1:]} takes {number:,} {q.unit} {_how(q, best)}{time}."
        )
    if plan.until_decided is not None:
        lines.append(_stopping(plan.until_decided, plan))
    if short := [row.estimator for row in plan.rows if row.ceiling < q.claim]:
        lines.append(
            f"With {_many(q)}, {' and '.join(short)} can never refute the claim: the ceiling is "
            "below it."
        )
    if q.curve == "none" and q.leaking != "pure":
        lines.append(f"A claim with its curve takes fewer {q.unit}: --curve {q.leaking}.")
    if plan.pace is None and q.size.canaries is None:
        lines.append("--probe measures how long that takes on this machine.")
    return lines


def _stopping(decided: ModelsUntilDecided, plan: Plan) -> str:
    """Say how many models --until-decided takes, and what that supposes."""
    if decided.half is None:
        return f"With --until-decided, most audits take over {2 * LONGEST:,} models."

    def after(models: int) -> str:
        time = f" (about {duration(plan.pace.time(models))})" if plan.pace else ""
        return f"{models:,} models{time}"

    power = percent(plan.request.goal.power)
    often = f", {power} of them after {after(decided.power)}" if decided.power else ""
    best = "" if plan.request.curve != "none" else " and the best threshold"
    return (
        f"With --until-decided, half of audits stop after {after(decided.half)}{often}. This "
        f"supposes a look every {LOOK} models{best}."
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
