"""A ladder of adversaries: one claim, a shared error, and runs that go on."""

from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator
from refusals import refuses

from dpaudit.audit.ladder import RUNGS, prepare_ladder, run_ladder
from dpaudit.executors import SerialExecutor
from dpaudit.judging.ladder import Ladder
from dpaudit.judging.outcome import strength
from dpaudit.report import ladder as shown
from dpaudit.report import load_schema, to_terminal
from dpaudit.report.document import Table
from dpaudit.report.wording import LABELS

TINY = {"network": "logreg", "size": 200, "batch": "full", "models": 16, "steps": 4}
"""Full batches, whose accounting takes no time."""


class Stopped(Exception):
    """As Ctrl-C would."""


def journals(folder):
    """The trials of each run of a ladder."""
    return {path.parent.name: path.read_bytes() for path in folder.glob("*/journal.sqlite")}


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """The folder of a ladder that was stopped once, what it had by then, and the ladder."""

    def stop(name, claim):
        if name == "white box":
            raise Stopped

    folder = tmp_path_factory.mktemp("ladder") / "out"
    prepared = prepare_ladder(TINY)
    with pytest.raises(Stopped):
        run_ladder(prepared, folder, SerialExecutor(), begin=stop)
    begun = journals(folder)
    return folder, begun, run_ladder(prepared, folder, SerialExecutor())


@pytest.fixture(scope="module")
def ladder(resumed):
    """Every adversary against logistic regression."""
    return resumed[-1]


def test_all_deciding_bounds_share_one_error_that_is_fixed_beforehand():
    for confidence in (0.95, 0.8):
        prepared = prepare_ladder(TINY, confidence)
        levels = {config.judging.confidence for config in prepared.configs.values()}
        assert len(prepared.configs) == len(RUNGS) == 6
        assert levels == {1 - (1 - confidence) / 6}


def test_every_bound_that_decides_is_at_the_shared_confidence(ladder):
    assert [rung.name for rung, *_ in ladder.played] == [plan.name for plan in RUNGS]
    errors = [1 - deciding.confidence for *_, deciding in ladder.played]
    assert sum(errors) == pytest.approx(0.05)
    for rung, report, deciding in ladder.played:
        assert report.looks == 1
        others = [b for b in (rung.by_curve, rung.without_assumptions) if b]
        assert deciding in others
        assert {b.confidence for b in others} == {deciding.confidence}


def test_all_adversaries_test_the_same_claim_also_where_the_noise_is_given():
    prepared = prepare_ladder({**TINY, "noise_multiplier": 1.5, "steps": 8})
    observer, *others = prepared.configs.values()
    assert observer.privacy.noise_multiplier == 1.5
    assert {config.privacy.epsilon for config in others} == {prepared.claim.epsilon}


def test_a_ladder_that_was_stopped_goes_on_and_trains_nothing_twice(resumed):
    folder, begun, ladder = resumed
    assert set(begun) == {"observer", "worst-case-start", "final-weights"}
    assert len(ladder.played) == len(journals(folder)) == 6
    assert {name: journals(folder)[name] for name in begun} == begun


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "journal.sqlite").write_bytes(b"")
    with refuses("folder-not-empty", "out", "journal.sqlite"):
        run_ladder(prepare_ladder(TINY), tmp_path, SerialExecutor())
    assert [path.name for path in tmp_path.iterdir()] == ["journal.sqlite"]


def test_adversaries_that_a_mechanism_has_not_are_named_with_the_reason(ladder, npz):
    prepared = prepare_ladder({"mechanism": "randomized-response", "data": str(npz)})
    assert list(prepared.configs) == ["observer"]
    assert prepared.configs["observer"].judging.confidence == pytest.approx(0.95)
    left_out = [rung.name for rung in prepared.rungs.values() if rung.left_out]
    assert left_out == [plan.name for plan in RUNGS[1:]]
    observer = ladder.rungs[0]
    rungs = [observer, *(rung for rung in prepared.rungs.values() if rung.left_out)]
    (line,) = shown.left_out(Ladder(prepared.claim, 0.95, rungs))
    assert all(name in line for name in left_out)
    assert "randomized-response" in line


def test_one_run_has_as_many_canaries_as_the_network_has_room_for(ladder):
    report = ladder.rungs[-1].report
    assert report.guesses.canaries == 500  # of logreg's 650 parameters


def changed(rung, epsilon, verdict="NO_VIOLATION_FOUND"):
    """The rung with another deciding bound, and the verdict on it."""
    bounds = list(rung.report.bounds)
    bounds[rung.report.primary] = replace(rung.deciding, epsilon=epsilon, ceiling=99.0)
    report = rung.report
    reached = strength(report.claim, verdict, bounds[report.primary], canary_is_null=False)
    return replace(rung, report=replace(report, bounds=bounds, verdict=verdict, strength=reached))


def summary(ladder):
    return to_terminal.write(shown.document(ladder), detail="summary")


@pytest.mark.parametrize(("share", "outcome"), [(0.0, "weak"), (0.49, "weak"), (0.5, "strong")])
def test_half_of_the_claim_makes_a_test_strong(ladder, share, outcome):
    rung = ladder.rungs[1]
    one = changed(rung, share * rung.report.claim.epsilon)
    assert replace(ladder, rungs=[one]).strength == outcome
    assert summary(replace(ladder, rungs=[one])).startswith(f"{LABELS[outcome]}: ")


def test_one_adversary_that_refutes_is_enough_however_much_others_certify(ladder):
    observer, worst, *_ = ladder.rungs
    others = [changed(observer, 7.9), changed(worst, 7.5, "VIOLATION")]
    both = replace(ladder, rungs=others)
    assert both.strongest[0] is others[1]
    assert (both.verdict, both.strength) == ("VIOLATION", "refuted")


def test_its_json_fulfils_the_schema_also_where_an_adversary_is_left_out(ladder):
    missing = replace(ladder.rungs[1], report=None, left_out="unfit")
    for one in (ladder, replace(ladder, rungs=[ladder.rungs[0], missing])):
        errors = Draft202012Validator(load_schema("ladder")).iter_errors(shown.to_dict(one))
        assert [error.message for error in errors] == []


def test_the_summary_fits_a_terminal_and_its_table_has_five_columns(ladder):
    lines = summary(ladder).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    (table,) = (b for b in shown.document(ladder).summary if isinstance(b, Table))
    assert len(table.columns) <= 5
    assert [row.cells[0] for row in table.rows] == [plan.name for plan in RUNGS]
    assert all("4 full batches" in row.cells for row in table.rows)


def test_the_summary_of_any_outcome_has_at_most_twenty_lines(ladder):
    first, *others = ladder.rungs
    reason = "x " * 45
    gone = [replace(rung, report=None, left_out=f"{rung.name}: {reason}") for rung in others]
    for epsilon, verdict in (
        (0.1, "INCONCLUSIVE"),
        (7.0, "NO_VIOLATION_FOUND"),
        (9.0, "VIOLATION"),
    ):
        for left in range(len(others) + 1):
            rungs = [changed(first, epsilon, verdict), *others[left:], *gone[:left]]
            lines = summary(replace(ladder, rungs=rungs)).splitlines()
            assert len(lines) <= 20, lines
            assert max(map(len, lines)) <= 80


def test_the_page_leads_to_the_report_of_every_adversary(resumed):
    folder, _, ladder = resumed
    shown.write_folder(ladder, folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    for rung in ladder.rungs:
        assert f'href="{rung.folder}/report.html"' in page
        assert (folder / rung.folder / "report.html").exists()
    assert (folder / "figures" / "ladder.png").read_bytes().startswith(b"\x89PNG")
