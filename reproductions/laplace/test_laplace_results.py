"""Benchmarks of Laplace networks: Adult as the paper has it, and the results that are kept."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from refusals import refuses

from reproductions.laplace import adult, audits, utility

RESULTS = Path(__file__).parent / "results"

HEADER = (
    "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,"
    "capital_gain,capital_loss,hours_per_week,native_country,income,split"
)


@pytest.fixture
def folder(tmp_path):
    """A table like Adult: 40 rows, of which every tenth lacks an occupation."""
    draw = np.random.default_rng(0)
    lines = [HEADER]
    for i in range(40):
        work, job = "ab"[i % 2], "" if i % 10 == 9 else "xyz"[i % 3]
        age, gain = int(draw.integers(17, 91)), int(draw.choice([0, 99_999]))
        pay = "<=50K" if i % 4 else ">50K"
        lines.append(f"{age},{work},9,B,13,m,{job},r,c,s,{gain},0,40,U,{pay},train")
    (tmp_path / "adult.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return tmp_path


@pytest.fixture
def table(folder, monkeypatch):
    monkeypatch.setattr(adult, "ROWS", 36)
    monkeypatch.setattr(adult, "POSITIVE", 10)
    return adult.load(folder)


def test_adult_is_read_without_rows_that_lack_something(table):
    x, y, width = table
    assert (len(x), int(y.sum())) == (36, 10)
    assert (x.min(), x.max()) == (0, 1)
    assert width == 6 + 2 * 8 + 2  # numbers, categories and the class


def test_another_table_is_refused(folder):
    with refuses("other-data", value=(36, 10)):
        adult.load(folder)
    with refuses("file-missing"):
        adult.load(folder / "none")


def test_folds_are_disjoint_and_have_each_class_alike(table):
    _, y, _ = table
    folds = list(adult.folds(y, number=5))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(36))
    assert all(not set(train) & set(test) for train, test in folds)
    assert [int(y[test].sum()) for _, test in folds] == [2] * 5


def test_every_method_is_measured_and_told(table, monkeypatch):
    monkeypatch.setattr(utility.Fold, "dpsgd", lambda self, epsilon, seed: (0.8, 0.7))
    x, y, width = table
    train, test = next(adult.folds(y, number=3))
    fold = utility.Fold(x, y, width, train, test)
    rows = [row for n in (0, 1) for row in utility.measured(fold, n, (1.0, 10.0))]
    assert all(0 <= row[name] <= 1 for row in rows for name in ("accuracy", "macro_f1"))
    found = utility.averaged(rows)
    assert len(found) == 2 + 2 * 6
    assert {row["folds"] for row in found} == {2}
    told = "\n".join(utility.lines(found))
    assert "DP-SGD, whole model                      0.800   0.800" in told
    assert "LearningFirst, each parameter" in told


def test_without_adult_nothing_is_begun(monkeypatch, tmp_path):
    monkeypatch.setenv("DPAUDIT_DATA", str(tmp_path))
    for module in (utility, audits):
        done = CliRunner().invoke(module.main, [])
        assert done.exit_code == 2
        assert "set DPAUDIT_DATA to the folder that has it" in done.output


@pytest.mark.parametrize("text", ["much", "", "0,1", "-1", "nan", "inf"])
def test_epsilons_that_are_none_are_refused(text):
    done = CliRunner().invoke(utility.main, ["--epsilons", text])
    assert done.exit_code == 2
    assert f"'{text}' is no list of numbers above 0" in done.output


def test_audits_tell_what_is_shown_beside_the_truth():
    row = audits.audited(audits.ONE_COLUMN[0], audits.one_column(), most=200, seed=0)
    assert (row["claim"], row["unit"], row["true"]) == (1.0, "whole model", 1.0)
    assert row["scan_200"] <= 1
    header, line = audits.lines([row])
    assert "scan 200" in header
    assert "AnonymizingFirst, one column" in line


# ---------------------------------------------------------------- what is kept


def kept(name):
    return json.loads((RESULTS / name).read_text())


@pytest.mark.parametrize("name", ["adult.json", "audits.json"])
def test_what_is_kept_says_how_it_was_made(name):
    about = kept(name)["about"]
    assert about["command"] == "make laplace"
    assert {"date", "dpaudit", "numpy"} <= about.keys()


def test_without_privacy_the_paper_s_figures_are_reproduced_within_a_hundredth():
    (plain,) = [r for r in kept("adult.json")["rows"] if r["method"] == "no privacy"]
    assert plain["folds"] == 10
    assert plain["accuracy"] == pytest.approx(0.85, abs=0.01)
    assert plain["macro_f1"] == pytest.approx(0.79, abs=0.01)


def test_every_variant_is_kept_from_epsilon_a_tenth_to_a_hundred():
    rows = kept("adult.json")["rows"]
    (majority,) = [r for r in rows if r["method"] == "majority class"]
    assert majority["accuracy"] == pytest.approx(0.752, abs=0.001)
    for method in ("AnonymizingFirst", "LearningFirst", "AnonymizedLearning", "DP-SGD"):
        at = sorted({r["epsilon"] for r in rows if r["method"] == method})
        assert (at[0], at[-1]) == (0.1, 100)
        assert all(r["folds"] == 10 for r in rows if r["method"] == method)


@pytest.mark.parametrize(
    ("case", "name", "low", "high"),
    [
        ("LearningFirst, 100 moved by 10%", "counts_1000", 0.3, 1.9),
        ("LearningFirst, 100 moved by 10%", "scan_1000", 1.01, 2.5),
        ("LearningFirst, 100 moved by 10%", "counts_20000", 1.7, 2.3),
        ("LearningFirst, 1 moved by 100%", "counts_20000", 0.85, 1.0),
        ("LearningFirst, 1 moved by 100%", "scan_20000", 0.85, 1.0),
        ("LearningFirst, 1 moved by 10%", "scan_20000", 0.0, 0.1),
        ("LearningFirst, 1 moved by 10%, raw scores", "scan_20000", 3.8, 6.5),
        ("LearningFirst, digits", "scan_1000", 1.01, 6.6),
        ("LearningFirst, Adult", "true", 1.01, 10.0),
        ("LearningFirst, Adult, trained longer", "scan_20000", 1.01, 9.6),
        ("LearningFirst, Adult, so, one parameter", "scan_20000", 0.0, 1.0),
        ("AnonymizingFirst, one column", "scan_20000", 0.3, 1.0),
        ("AnonymizingFirst, digits", "scan_20000", 0.0, 1.0),
        ("Theorem 4, 0 later batches", "scan_20000", 0.85, 1.0),
        ("Theorem 4, 1 later batches", "scan_20000", 1.6, 2.0),
        ("Theorem 4, 10 later batches", "scan_20000", 5.8, 7.4),
        ("Theorem 4, 10 later batches", "counts_20000", 5.2, 6.4),
        ("Theorem 4, 100 later batches", "counts_20000", 7.5, 7.95),
    ],
)
def test_audits_show_what_they_should(case, name, low, high):
    (row,) = [r for r in kept("audits.json")["rows"] if r["case"] == case]
    assert low <= row[name] <= high
