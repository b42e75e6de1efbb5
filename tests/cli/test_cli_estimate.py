"""`dpaudit estimate`: known answers in table and file, and what is refused in one sentence."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from dpaudit import registry
from dpaudit.cli import estimate as module
from dpaudit.cli import main
from dpaudit.estimators import ExactScan, PairedAUC, RankTest
from dpaudit.protocols import Estimator
from dpaudit.report import load_schema
from dpaudit.report.wording import LABELS
from dpaudit.results import Bound, Scores

COUNTS = ("--fp", "5", "--out-trials", "500", "--fn", "60", "--in-trials", "500")
GUESSES = ("--canaries", "1000", "--guesses", "200", "--correct", "180")
PRIORS = ("--estimator", "jeffreys", "--estimator", "joint-beta", "--estimator", "gdp")


@pytest.fixture
def estimate(cli):
    """The estimates as they were printed, and as they were written."""

    def check(*words):
        done = cli("estimate", *words, "--verbose", "--json", "e.json")
        assert done.exit_code == 0, done.output
        assert max(map(len, done.stdout.splitlines())) <= 80
        written = json.loads(Path("e.json").read_text())
        assert list(Draft202012Validator(load_schema("estimates")).iter_errors(written)) == []
        return done.stdout, written

    return check


def rows(printed) -> list[list[str]]:
    """Of the table: name, bound, and what is between it and what it assumes, and that."""
    lines = printed.partition("\n---")[2].partition("\n\n")[0].splitlines()[1:]
    return [re.split(r"\s{2,}", line.strip()) for line in lines if line[2:3].strip()]


def assumed(told: str) -> str:
    """What the last column says, without its small words."""
    return told.removeprefix("a ").split()[0].strip(":")


def epsilons(written) -> dict[str, float]:
    return {b["estimator"]: b["epsilon"] for b in written["bounds"]}


def draw(n=200, shift=2.0, seed=0, n1=None):
    g = np.random.default_rng(seed)
    return g.normal(size=n), g.normal(shift, size=n1 or n)


# ---------------------------------------------------------------- known answers


def test_counts_give_the_known_answers(estimate):
    printed, written = estimate(*COUNTS)
    found = epsilons(written)
    assert list(found) == ["clopper-pearson", "gdp", "jeffreys", "joint-beta"]
    assert found["clopper-pearson"] == pytest.approx(3.599811, abs=1e-6)
    assert found["gdp"] == pytest.approx(16.826971, abs=1e-5)
    assert found["jeffreys"] == pytest.approx(3.663516, abs=1e-6)
    assert found["joint-beta"] == pytest.approx(3.804297, abs=1e-4)
    assert written["point"] == pytest.approx(4.477325, abs=1e-6)
    assert written["bounds"][0]["interval"] == pytest.approx([3.505522, 5.815558], abs=1e-6)
    assert "Left out: pld needs DP-SGD's sample rate and steps" in printed
    printed, _ = estimate(*COUNTS, *PRIORS)
    assert [[*row, assumed(told)] for *row, told in rows(printed)] == [
        ["clopper-pearson", "3.599", "3.505 … 5.816", "4.906", "nothing"],
        ["gdp", "16.826", "16.413 … 25.418", "31.997", "Gaussian"],
        ["jeffreys", "3.663", "3.566 … 5.642", "5.292", "prior"],
        ["joint-beta", "3.804", "3.697 … 5.438", "6.514", "prior"],
    ]
    assert "Point estimate 4.477" in printed


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        ((), ["clopper-pearson"], ["(--estimator): jeffreys, joint-beta", "curve: gdp"]),
        (("--curve", "gaussian"), ["clopper-pearson", "gdp"], ["jeffreys, joint-beta"]),
        (("--curve", "none"), ["clopper-pearson"], ["jeffreys, joint-beta"]),
        (PRIORS, ["clopper-pearson", "gdp", "jeffreys", "joint-beta"], []),
    ],
    ids=["", "gaussian", "none", "named"],
)
def test_a_bound_that_assumes_is_shown_where_its_assumption_is_named(
    estimate, words, shown, hidden
):
    printed, _ = estimate(*COUNTS, *words)
    assert [row[0] for row in rows(printed)] == shown
    told = [line for line in printed.splitlines() if "Not shown" in line]
    assert len(told) == len(hidden)
    for line, part in zip(told, hidden, strict=True):
        assert line.endswith(f"{part}.")


@pytest.mark.parametrize(
    ("guesses", "correct", "steinke", "gaussian"),
    [(1000, 700, 0.731741, 1.37198), (200, 180, 1.796285, 2.901243)],
)
def test_one_run_gives_the_known_answers(estimate, guesses, correct, steinke, gaussian):
    words = ("--canaries", 1000, "--guesses", guesses, "--correct", correct)
    printed, written = estimate(*words)
    assert epsilons(written) == pytest.approx(
        {"one-run": steinke, "one-run-fdp": gaussian}, abs=1e-5
    )
    assert [assumed(row[-1]) for row in rows(printed)] == ["nothing"]
    printed, _ = estimate(*words, "--curve", "gaussian")
    assert [assumed(row[-1]) for row in rows(printed)] == ["nothing", "Gaussian"]
    assert "two-sided" not in printed


def test_scores_are_judged_by_what_allows_for_thresholds(estimate):
    out, inn = draw()
    np.savez("s.npz", out=out, inn=inn)
    printed, written = estimate("--scores", "s.npz", "--seed", 7)
    given = Scores(out, inn)
    wanted = [
        ExactScan(seed=7).bound(given, 1e-5),
        PairedAUC("pure").bound(given, 1e-5),
        PairedAUC("gaussian").bound(given, 1e-5),
        RankTest("gaussian", seed=7).bound(given, 1e-5),
    ]
    for found, bound in zip(written["bounds"], wanted, strict=True):
        assert (found["estimator"], found["assumption"]) == (bound.estimator, bound.assumption)
        assert found["epsilon"] == bound.epsilon > 0
        assert found["ceiling"] == bound.ceiling
        shown = found["sentence"] in " ".join(printed.split())
        assert shown == (bound.assumption == "none")


def test_confidence_and_delta_are_those_that_were_asked_for(estimate):
    _, at_95 = estimate(*COUNTS)
    printed, at_99 = estimate(*COUNTS, "--confidence", 0.99, "--delta", 0.001)
    assert {b["confidence"] for b in at_99["bounds"]} == {0.99}
    assert at_99["delta"] == 0.001
    assert epsilons(at_99)["clopper-pearson"] < epsilons(at_95)["clopper-pearson"]
    assert "delta 0.001, 99 % confidence" in printed


@pytest.mark.parametrize("words", [COUNTS, GUESSES], ids=["counts", "guesses"])
def test_nothing_is_printed_above_its_value(estimate, words):
    for confidence in (0.8, 0.9, 0.95, 0.97, 0.99):
        more = ("--curve", "gaussian", "--confidence", confidence)
        printed, written = estimate(*words, *more)
        assert len(rows(printed)) == 2
        for name, bound, *_ in rows(printed):
            assert 0 <= epsilons(written)[name] - float(bound) < 0.001


def test_without_any_error_no_upper_end_is_made_up(estimate):
    printed, written = estimate("--fp", 0, "--out-trials", 50, "--fn", 0, "--in-trials", 50)
    assert written["bounds"][0]["interval"][1] is None
    assert "… infinity" in printed
    assert written["point"] is None
    assert "Point estimate infinity" in printed
    assert epsilons(written)["clopper-pearson"] == pytest.approx(2.570, abs=1e-3)


def test_no_leak_is_said_to_be_no_finding(estimate):
    printed, written = estimate("--fp", 50, "--out-trials", 100, "--fn", 50, "--in-trials", 100)
    assert set(epsilons(written).values()) == {0.0}
    assert "no leak was shown at delta 1e-5" in printed


# ---------------------------------------------------------------- reading scores


def test_every_form_of_a_file_gives_the_same_scores(estimate):
    out, inn = draw(20)
    pairs = list(zip(out.tolist(), inn.tolist(), strict=True))
    Path("long.csv").write_text("world,score\n" + "".join(f"0,{o}\n1,{i}\n" for o, i in pairs))
    Path("words.csv").write_text("Score;World\n" + "".join(f"{o};out\n{i};IN\n" for o, i in pairs))
    Path("wide.csv").write_text("in,out\n" + "".join(f"{i},{o}\n" for o, i in pairs))
    np.savez("s.npz", out=out, inn=inn, other=out)
    np.savez("named.npz", **{"out": out, "in": inn})
    forms = ("long.csv", "words.csv", "wide.csv", "s.npz", "named.npz")
    written = [estimate("--scores", form, "--estimator", "paired-auc")[1] for form in forms]
    assert all(w == written[0] for w in written)
    assert written[0]["outcome"] == {"kind": "scores", "out": 20, "in": 20}


def test_worlds_of_different_size_are_not_paired(estimate):
    out, inn = draw(30, n1=25)
    cells = [f"{o:.4f},{inn[k] if k < 25 else ''}\n" for k, o in enumerate(out)]
    Path("wide.csv").write_text("out,in\n" + "".join(cells))
    printed, written = estimate("--scores", "wide.csv")
    assert written["outcome"] == {"kind": "scores", "out": 30, "in": 25}
    assert list(epsilons(written)) == ["exact-scan", "rank-test"]
    assert [left["estimator"] for left in written["left_out"]] == ["paired-auc"]
    assert "not 30 out and 25 in" in printed


@pytest.mark.parametrize("down", [False, True])
def test_sorted_scores_are_not_paired(estimate, down):
    """Like with like: here, where nothing leaks, nearly every pair would be won."""
    out, inn = (np.sort(x)[:: -1 if down else 1] for x in draw(40, shift=0, seed=7))
    np.savez("s.npz", out=out, inn=inn)
    assert PairedAUC("pure").bound(Scores(out, inn), 1e-5).epsilon > 2.5
    printed, written = estimate("--scores", "s.npz")
    assert "paired-auc" not in epsilons(written)
    assert "sorted by" in " ".join(printed.split())


def test_infinite_scores_have_their_rank(estimate):
    np.savez("s.npz", out=[-np.inf] * 60, inn=[np.inf] * 60)
    _, written = estimate("--scores", "s.npz", "--estimator", "exact-scan")
    assert written["bounds"][0]["epsilon"] == pytest.approx(ExactScan().ceiling(60, 60, 1e-5), 0.03)


def test_many_scores_show_that_something_goes_on(cli, monkeypatch):
    out, inn = draw(30)
    np.savez("s.npz", out=out, inn=inn)
    assert cli("estimate", "--scores", "s.npz").stderr == ""
    monkeypatch.setattr(module, "SLOW", 60)
    done = cli("estimate", "--scores", "s.npz", "--estimator", "exact-scan")
    assert done.stderr == "exact-scan ...\n"


# ---------------------------------------------------------------- curve and claim


def numbers(text) -> set[str]:
    """The numbers in a text, without those per cent."""
    return set(re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.]*\d)(?! ?%)", text))


def concluded(printed) -> tuple[str, set[str]] | None:
    """The outcome that the summary begins with, and the numbers beside it, if there is one."""
    told = re.search(r"^([A-Z ]+): (.*?)\n\n", printed, re.MULTILINE | re.DOTALL)
    return told and (told[1], numbers(" ".join(told[2].split())))


def against(written) -> dict[tuple[str, str], tuple[bool, str]]:
    return {
        (b["estimator"], b["assumption"]): (b["may_refute"], b["against_claim"])
        for b in written["bounds"]
    }


def test_no_bound_is_stated_because_it_is_the_largest(estimate):
    out, inn = draw(80, shift=0.7)
    np.savez("s.npz", out=out, inn=inn)
    printed, written = estimate("--scores", "s.npz", "--curve", "none")
    first, *others = epsilons(written).values()
    assert first < max(others)
    (stated,) = re.findall(r"epsilon ([\d.]+) \(([\w-]+),", printed)
    assert stated[1] == "exact-scan"
    assert 0 <= first - float(stated[0]) < 0.001


def test_a_bare_claim_is_refuted_only_without_assumptions(estimate):
    printed, written = estimate(*COUNTS, "--claim", 3)
    assert against(written) == {
        ("clopper-pearson", "none"): (True, "above"),
        ("gdp", "gaussian"): (False, "above"),
        ("jeffreys", "prior"): (False, "above"),
        ("joint-beta", "prior"): (False, "above"),
    }
    assert written["deciding"] == 0
    assert concluded(printed) == ("REFUTED", {"3", "3.599"})
    printed, written = estimate(*COUNTS, "--claim", 3, *PRIORS)
    assert written["deciding"] is None, "clopper-pearson was not named"
    assert concluded(printed) is None


def test_a_claim_of_a_curve_is_refuted_by_its_bounds_and_one_decides(estimate):
    printed, written = estimate(*COUNTS, "--claim", 10, "--curve", "gaussian")
    assert against(written)["gdp", "gaussian"] == (True, "above")
    assert against(written)["clopper-pearson", "none"] == (True, "out_of_reach")
    assert written["deciding"] is None
    assert concluded(printed) is None
    printed, written = estimate(*COUNTS, "--claim", 10, "--curve", "gaussian", "--estimator", "gdp")
    assert written["bounds"][written["deciding"]]["estimator"] == "gdp"
    assert concluded(printed) == ("REFUTED", {"10", "16.826"})
    assert "selection" not in printed


@pytest.mark.parametrize(
    ("named", "beside"), [("gdp", "clopper-pearson"), ("jeffreys", "clopper-pearson")]
)
def test_a_bound_that_assumes_nothing_always_stands_beside(estimate, named, beside):
    printed, written = estimate(*COUNTS, "--estimator", named, "--claim", 1)
    assert list(epsilons(written)) == [beside, named]
    assert {row[0] for row in rows(printed)} == {beside, named}
    assert written["deciding"] is None, "what was not named cannot decide"
    assert concluded(printed) is None


def test_a_claim_between_bound_and_ceiling_is_not_refuted_and_beyond_it_undecided(estimate):
    name = ("--estimator", "clopper-pearson")
    printed, written = estimate(*COUNTS, *name, "--claim", 4)
    assert against(written)["clopper-pearson", "none"] == (True, "not_above")
    assert concluded(printed) == (LABELS["strong"], {"4", "3.599"})
    printed, written = estimate(*COUNTS, *name, "--claim", 8)
    assert against(written)["clopper-pearson", "none"] == (True, "out_of_reach")
    assert concluded(printed) == ("WEAK TEST", {"8", "3.599", "4.906"})


@pytest.mark.parametrize(("claim", "shown"), [("3.5998", "3.59981"), ("3.59982", "3.599")])
def test_a_bound_is_shown_on_its_own_side_of_the_claim(estimate, claim, shown):
    printed, _ = estimate(*COUNTS, "--estimator", "clopper-pearson", "--claim", claim)
    outcome = "REFUTED" if float(shown) > float(claim) else LABELS["strong"]
    assert concluded(printed) == (outcome, {claim, shown})
    assert re.search(rf"^certified +{re.escape(shown)} ", printed, re.MULTILINE)


def test_no_curve_leaves_only_what_assumes_none(estimate):
    _, written = estimate(*COUNTS, "--curve", "none")
    assert list(epsilons(written)) == ["clopper-pearson", "jeffreys", "joint-beta"]
    assert [left["estimator"] for left in written["left_out"]] == ["gdp", "pld"]
    _, written = estimate(*GUESSES, "--curve", "none")
    assert {b["assumption"] for b in written["bounds"]} == {"none"}
    assert list(epsilons(written)) == ["one-run", "one-run-fdp"]
    out, inn = draw(50)
    np.savez("s.npz", out=out, inn=inn)
    _, written = estimate("--scores", "s.npz", "--curve", "none", "--claim", 1)
    assert {b["assumption"] for b in written["bounds"]} == {"none"}
    assert list(epsilons(written)) == ["exact-scan", "paired-auc", "rank-test"]


def test_the_curve_of_dpsgd_is_judged_by_its_accountant_and_no_gaussian(estimate):
    printed, written = estimate(*COUNTS, "--curve", "dpsgd:0.1,100", "--claim", 5)
    assert against(written)["pld", "accountant"] == (True, "above")
    assert "gdp" not in epsilons(written)
    assert [left["estimator"] for left in written["left_out"]] == ["gdp"]
    (pld,) = (b for b in written["bounds"] if b["estimator"] == "pld")
    assert pld["sentence"] in " ".join(printed.split())
    assert {"0.1", "100"} <= numbers(pld["sentence"])
    assert "record added" in pld["sentence"], "the neighbours it holds for"


def test_one_run_is_judged_by_the_curve_of_dpsgd(estimate):
    printed, written = estimate(*GUESSES, "--curve", "dpsgd:0.01,1000", "--claim", 1)
    assert list(against(written)) == [("one-run", "none"), ("one-run-fdp", "accountant")]
    assert epsilons(written)["one-run-fdp"] > epsilons(written)["one-run"] > 0
    assert "sample rate 0.01, 1,000 steps" in " ".join(printed.split())


def test_full_batches_are_a_gaussian_mechanism(estimate):
    _, written = estimate(*COUNTS, "--curve", "dpsgd:1,100", "--claim", 10)
    assert against(written)["gdp", "gaussian"] == (True, "above")


def test_without_a_delta_the_bounds_that_need_none_remain(estimate):
    out, inn = draw(50)
    np.savez("s.npz", out=out, inn=inn)
    printed, written = estimate("--scores", "s.npz", "--delta", 0)
    assert list(epsilons(written)) == ["exact-scan", "paired-auc"]
    assert "rank-test: a curve with Gaussian noise has no finite epsilon at delta 0" in " ".join(
        printed.split()
    )


def test_estimators_may_be_named_and_are_asked_once(estimate):
    named = ("--estimator", "jeffreys", "--estimator", "clopper-pearson", "--estimator", "jeffreys")
    _, written = estimate(*COUNTS, *named)
    assert list(epsilons(written)) == ["clopper-pearson", "jeffreys"]


# ---------------------------------------------------------------- what is refused


NO_OUTCOME = [
    ("", "missing-options", "--fp --out-trials --fn --in-trials"),
    ("--fp 5 --scores s.csv", "excluded-options", "--fp --scores"),
    ("--fp 5 --correct 3", "excluded-options", "--fp --correct"),
    ("--scores s.csv --guesses 3", "excluded-options", "--scores --guesses"),
    ("--fp 5 --out-trials 500", "missing-options", "--fn --in-trials --fp --out-trials"),
    ("--canaries 5", "missing-options", "--guesses --correct --canaries"),
    ("--fp x --out-trials 5 --fn 1 --in-trials 5", "usage", "'x'"),
    ("--fp 6 --out-trials 5 --fn 1 --in-trials 5", "too-large", "--fp --out-trials 6 5"),
    ("--fp -1 --out-trials 5 --fn 9 --in-trials 5", "several-problems", "--fp -1 --fn 9"),
    ("--fp 0 --out-trials 0 --fn 1 --in-trials 5", "too-small", "--out-trials 1 0"),
    (
        f"--fp 0 --out-trials {10**30} --fn 1 --in-trials 5",
        "too-large",
        "--out-trials 1,000,000,000 1,000",
    ),
    ("--canaries 5 --guesses 6 --correct 3", "too-large", "--guesses --canaries 6"),
    ("--canaries 5 --guesses 3 --correct 4", "too-large", "--correct --guesses 4 3"),
    ("--canaries 5 --guesses 0 --correct 0", "too-small", "--guesses 1"),
    ("--scores nowhere.csv", "file-missing", "nowhere.csv"),
    ("--scores nowhere.npz", "file-missing", "nowhere.npz"),
    ("--scores .", "is-folder", ".csv"),
]


def test_what_is_no_outcome_is_refused(refused):
    for words, code, facts in NO_OUTCOME:
        refused("estimate", *words.split()).tells(code, facts)


BAD_CHOICES = [
    ("--delta 1", "out-of-range", "delta 0 1 1.0"),
    ("--delta nan", "out-of-range", "delta 0 1 nan"),
    ("--confidence 95", "out-of-range", "confidence 0.5 1 95.0"),
    ("--claim -1", "not-positive", "claim 0 -1.0"),
    ("--claim inf", "not-positive", "claim 0 inf"),
    ("--seed -1", "too-small", "seed 0 -1"),
    ("--curve laplace", "unknown-choice", "curve 'laplace'"),
    ("--curve dpsgd:0.1", "unknown-choice", "curve 'dpsgd:0.1'"),
    ("--curve dpsgd:a,b", "unknown-choice", "curve 'dpsgd:a,b'"),
    ("--curve rdp:0.1,100", "unknown-choice", "curve 'rdp:0.1,100'"),
    ("--curve dpsgd:2,100", "out-of-range", "rate 0 1 2.0"),
    ("--curve dpsgd:0.1,0", "too-small", "steps 1 0"),
    ("--curve dpsgd:1e-9,5", "too-costly", "0.0001 'dpsgd:1e-9,5'"),
    ("--curve dpsgd:0.1,99999999", "too-costly", "1,000,000 'dpsgd:0.1,99999999'"),
    ("--estimator clopper", "unknown-name", "'clopper'"),
    ("--estimator rank-test", "wrong-outcome", "rank-test --scores"),
    ("--estimator one-run", "wrong-outcome", "one-run --canaries --guesses"),
    ("--estimator e-process", "wrong-outcome", "e-process"),
    ("--estimator pld", "needs-curve", "pld --curve dpsgd:Q,T"),
    ("--estimator gdp --delta 0", "needs-delta", "delta 0"),
    ("--estimator gdp --curve none", "other-curve", "gdp"),
]


def test_a_bad_choice_is_refused(refused):
    for words, code, facts in BAD_CHOICES:
        refused("estimate", *COUNTS, *words.split()).tells(code, facts)


TABLES = [
    ("", "file-empty", "s.csv"),
    ("a,b\n1,2\n", "wrong-columns", "'a' 'b'"),
    ("world,score,attack\n0,1,x\n", "wrong-columns", "'attack'"),
    ("score\n1\n", "wrong-columns", "'score'"),
    ("out,out\n1,2\n", "wrong-columns", "'out'"),
    ("world,score\n", "no-scores", "out-trial"),
    ("world,score\n0,1\n0,2\n", "no-scores", "in-trial"),
    ("world,score\n0,1\n2,2\n", "unknown-choice", "3 world '2'"),
    ("world,score\n0,1\n1,high\n", "not-a-number", "3 'high' score"),
    ("world,score\n0,1\n1,\n", "not-a-number", "3 score"),
    ("world,score\n0,1\n1,nan\n", "not-a-number", "1 in-trials NaN"),
    ("world,score\n0,1\n1\n", "ragged-rows", "2 3 1"),
    ("out,in\n1,2\n,3\n4,5\n", "not-a-number", "3 out"),
    ("out,in\n1,\n2,\n", "no-scores", "in-trial"),
    ("world,score\n0,'1\n\"1,2\n", "wrong-format", "s.csv 3"),
]
"""Tables that hold no scores."""


def test_a_table_that_holds_no_scores_is_refused(refused):
    for text, code, facts in TABLES:
        Path("s.csv").write_text(text)
        line = refused("estimate", "--scores", "s.csv")
        assert line.startswith("Error: s.csv: ")
        line.tells(code, facts)


ARRAYS = [
    ({"x": [1.0]}, "missing-arrays", "out inn 'x' np.savez"),
    ({"out": [1.0]}, "missing-arrays", "inn 'out'"),
    ({"out": [1.0, np.nan], "inn": [1.0]}, "not-a-number", "2 out-trials NaN"),
    ({"out": [], "inn": [1.0]}, "no-scores", "out-trial"),
    ({"out": [[1.0]], "inn": [1.0]}, "wrong-shape", "out float64"),
    ({"out": ["a"], "inn": [1.0]}, "wrong-type", "out"),
    ({"out": np.array([None]), "inn": [1.0]}, "holds-objects", "out"),
]
"""Arrays that are no scores."""


def test_arrays_that_are_no_scores_are_refused(refused):
    for arrays, code, facts in ARRAYS:
        np.savez("s.npz", **arrays)
        refused("estimate", "--scores", "s.npz").tells(code, facts)


def test_a_damaged_file_is_refused(refused):
    Path("s.npz").write_bytes(b"PK\x03\x04 and no more")
    refused("estimate", "--scores", "s.npz").tells("file-damaged", "s.npz")
    with Path("one.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    refused("estimate", "--scores", "one.npz").tells("single-array", "one.npz")
    Path("s.csv").write_bytes(b"\0\1\2")
    refused("estimate", "--scores", "s.csv").tells("not-text", "s.csv")


def test_named_pairs_that_cannot_be_are_refused(refused):
    out, inn = draw(30, n1=25)
    np.savez("s.npz", out=out, inn=inn)
    said = refused("estimate", "--scores", "s.npz", "--estimator", "paired-auc")
    said.tells("not-paired", "paired-auc 30 out 25 in")


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_estimated(refused):
    refused("estimate", *COUNTS, "--json", "nowhere/e.json").tells("folder-missing", "nowhere")


# ---------------------------------------------------------------- somebody's estimator


class Plain(Estimator):
    """A third party's estimator, without words of its own."""

    def bound(self, outcome, delta):
        return Bound(0.1, delta, 0.95, "plain", "none", "as given", 9.0, counts=outcome)


class Unlucky(Estimator):
    """A third party's estimator that fails."""

    def bound(self, outcome, delta):
        raise OSError("no luck\ntoday")


@pytest.fixture
def third_parties(plugins, tmp_path_factory, monkeypatch):
    installed = tmp_path_factory.mktemp("site") / "theirs-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    names = f"plain = {__name__}:Plain\nunlucky = {__name__}:Unlucky\n"
    (installed / "entry_points.txt").write_text(f"[dpaudit.estimators]\n{names}")
    monkeypatch.syspath_prepend(installed.parent)
    registry._entries.cache_clear()


def test_an_installed_estimator_stands_beside_the_others(third_parties, estimate, refused):
    printed, written = estimate(*COUNTS)
    assert epsilons(written)["plain"] == 0.1
    sentence = next(b["sentence"] for b in written["bounds"] if b["estimator"] == "plain")
    assert sentence.startswith("At 95 % confidence, epsilon is at least 0.100 at delta 1e-5, ")
    assert "Left out: the estimator unlucky failed: OSError: no luck today." in printed
    refused("estimate", *COUNTS, "--estimator", "unlucky").tells("code-failed", "unlucky OSError")
    said = refused("estimate", *COUNTS, "--estimator", "plain", "--confidence", "0.99")
    said.tells("code-failed", "1e-05 0.95")


# ---------------------------------------------------------------- light


def test_neither_help_nor_counts_import_what_trains():
    script = """
import sys
from click.testing import CliRunner
from dpaudit.cli import main
for words in ("estimate --help", "estimate --fp 1 --out-trials 9 --fn 1 --in-trials 9"):
    assert CliRunner().invoke(main, words.split()).exit_code == 0, words
print(sorted({"torch", "opacus", "sklearn", "matplotlib", "dp_accounting"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


def test_help_shows_the_three_kinds_of_outcome():
    told = CliRunner().invoke(main, ["estimate", "--help"]).stdout
    for line in ("--fp 5 --out-trials 500", "--scores scores.csv", "--canaries 1000"):
        assert f"dpaudit estimate {line}" in told
