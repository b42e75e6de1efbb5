"""`dpaudit calibrate`: table, file and figure of one calibration, and what is refused."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from dpaudit.calibration import calibrate as module
from dpaudit.calibration.results import Calibration, CalibrationRow, Measurement, Setting
from dpaudit.report import calibration, figure_methods, load_schema, to_terminal

SMALL = ("calibrate", "--verbose", "--repetitions", 2, "--trials", 10, "--workers", 1)


def row(alarms, standing="bound", mechanism="no leak", mean=0.25, **more):
    epsilon = 0.0 if mechanism == "no leak" else 1.0
    given = {"trials": 50, "delta": 1e-5, "level": 0.05, "measured": Measurement(alarms, 400, mean)}
    named = {"attack": "loss", "judged": "some way", "standing": standing}
    return CalibrationRow(mechanism=mechanism, epsilon=epsilon, **{**given, **named, **more})


def valid(written):
    return list(Draft202012Validator(load_schema("calibration")).iter_errors(written)) == []


def printed(found):
    return " ".join(to_terminal.write(calibration.document(found)).split())


@pytest.mark.parametrize("name", ["c.png", "c.svg"])
def test_one_calibration_is_printed_written_and_drawn(cli, name):
    done = cli(*SMALL, "--json", "c.json", "--figure", name)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "2 audits of each, 10 or 200 trials a world" in done.stdout
    assert "\n\nTOO FEW" in done.stdout
    written = json.loads(Path("c.json").read_text())
    assert valid(written)
    start = b"\x89PNG" if name.endswith("png") else b"<svg"
    assert Path(name).read_bytes().startswith(start)
    for row in written["rows"]:
        assert f"{row['mechanism']}, epsilon {row['epsilon']:.2f}; {row['trials']}" in done.stdout
        assert f"{row['attack']:<8}  {row['judged']}" in done.stdout
    assert "8/8 parts" in done.stderr


def test_what_did_not_hold_is_said_plainly():
    first = Measurement(80, 400, 0.2)
    broken = row(0, measured=Measurement(350, 1600, 0.25), first=first)
    found = Calibration(Setting(), [broken, row(10), row(390, "no bound")])
    said = printed(found)
    assert "NOT EVERY BOUND HELD: 1 of 2 are above the truth more often than they state" in said
    assert "loss by some way on no leak with 50 trials, 21.9 %" in said
    assert "(1,600 fresh audits, 99.9 % interval; at first 80 of 400)" in said
    assert "HELD: each" not in said
    written = calibration.to_dict(found)
    assert valid(written)
    assert written["held"] is False
    assert [r["broken"] for r in written["rows"]] == [True, False, False]
    assert [r["repetitions"] for r in written["rows"]] == [1600, 400, 400]
    assert written["rows"][0]["first"] == {"repetitions": 400, "alarms": 80, "mean": 0.2}
    assert [r["interval_confidence"] for r in written["rows"]] == [0.999, 0.95, 0.95]


def test_what_held_says_what_would_have_been_found():
    cleared = row(0, measured=Measurement(90, 1600, 0.25), first=Measurement(30, 400, 0.2))
    found = Calibration(Setting(), [cleared, *[row(20)] * 80])
    said = printed(found)
    assert "each of 81 is above the truth no more often than it states, in 5 % of audits" in said
    assert "of its rate, 1 of them measured twice." in said
    assert "A bound that is wrong in 8.6 % of audits would have been found with 80 %" in said
    assert "flagging any is at most 0.1 %" in said
    written = calibration.to_dict(found)
    assert written["found"] == pytest.approx(0.0859, abs=1e-4)
    assert 0 < written["by_chance"] < 0.001


def test_too_few_repetitions_hold_nothing():
    found = Calibration(Setting(repetitions=1), [row(0, measured=Measurement(0, 1, 0.0))])
    assert "TOO FEW" in printed(found)
    assert "No rate of false alarms would have been found with 80 %" in printed(found)
    assert calibration.to_dict(found)["held"] is None
    assert valid(calibration.to_dict(found))


def test_what_is_infinite_or_without_a_truth_has_a_form():
    rows = [row(400, "no bound", "Laplace", float("inf")), row(0)]
    found = Calibration(Setting(), rows)
    written = calibration.to_dict(found)
    assert valid(written)
    assert [r["mean"] for r in written["rows"]] == [None, 0.25]
    assert [r["share"] for r in written["rows"]] == [None, None]
    assert "infinity" in to_terminal.write(calibration.document(found))


def test_bounds_and_others_are_told_apart_in_the_figure():
    found = Calibration(Setting(), [row(10), row(20, "credible"), row(390, "no bound")])
    figure = figure_methods.draw_calibration(found)
    (legend,) = figure.legends
    assert [" ".join(text.get_text().split()[-2:]) for text in legend.get_texts()] == [
        *("5 %", "bound", "a prior", "no bound"),
    ]
    colours = {line.get_color() for line in figure.axes[0].lines}
    assert len(colours) == 4


BAD_CHOICES = [
    ("--repetitions 0", "too-small", "repetitions 1 0"),
    ("--trials 5", "too-small", "trials 10 5"),
    ("--confidence 95", "out-of-range", "confidence 0.5 0.999 95.0"),
    ("--confidence 0.5", "out-of-range", "confidence 0.5 0.999"),
    ("--delta 0", "out-of-range", "delta 1e-12 0.1 0.0"),
    ("--delta nan", "out-of-range", "delta 1e-12 0.1 nan"),
    ("--seed -1", "too-small", "seed 0 -1"),
    ("--trials 20001", "too-large", "trials 20,000 20,001"),
    (f"--repetitions {10**26}", "too-large", "repetitions 100,000"),
    ("--workers 513", "usage", "'--workers' 512 513"),
    ("--json c.png --figure ./c.png", "same-file", "--json --figure c.png"),
    ("--workers 0", "usage", "'--workers' 1 0"),
    ("--repetitions many", "usage", "'many'"),
    ("--trials 5 --seed -1", "several-problems", "trials 5 seed -1"),
]


def test_a_bad_choice_is_refused(refused):
    for words, code, facts in BAD_CHOICES:
        refused("calibrate", *words.split()).tells(code, facts)


@pytest.mark.parametrize(("alarms", "code"), [(200, 3), (10, 0)])
def test_a_bound_that_does_not_hold_is_a_fault_of_dpaudit(cli, monkeypatch, alarms, code):
    first = Measurement(80, 400, 0.2)
    held = row(0, measured=Measurement(8 * alarms, 1600, 0.25), first=first)
    monkeypatch.setattr(module, "calibrate", lambda *_: Calibration(Setting(), [held]))
    done = cli(*SMALL)
    assert done.exit_code == code
    assert ("NOT EVERY" in done.stdout) == (code == 3)


def test_the_figure_says_how_much_of_the_truth_each_row_shows():
    found = Calibration(Setting(), [row(10), row(10, mechanism="Laplace", mean=0.25)])
    nothing, laplace = figure_methods.draw_calibration(found).axes
    assert [text.get_text() for text in nothing.texts] == []
    assert [text.get_text() for text in laplace.texts] == ["25 %"]


def test_ctrl_c_stops_it(cli, monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_run", interrupted)
    done = cli(*SMALL)
    assert done.exit_code == 130
    assert "Stopped." in done.stderr
    assert done.stdout == ""
