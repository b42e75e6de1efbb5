"""`dpaudit checkpoint`, from a kit to the verdict, and everything that is refused."""

import csv
import json
import shutil

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from dpaudit.checkpoint import kits
from dpaudit.report import load_schema
from dpaudit.report.run_verdict import NO_EVIDENCE

SCHEMA = Draft202012Validator(load_schema("checkpoint"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """120 canaries of four values in three classes, at which nobody has looked."""
    folder = tmp_path_factory.mktemp("kits")
    draw = np.random.default_rng(0)
    x = draw.uniform(size=(300, 4)).astype(np.float32)
    np.savez(folder / "own.npz", x=x, y=np.arange(300) % 3)
    return kits.make(str(folder / "own.npz"), folder / "kit", "random", 120, seed=5)


@pytest.fixture
def kit(untouched, tmp_path):
    return kits.read(shutil.copytree(untouched.path, tmp_path / "kit"))


def write(path, kit, mu=4.0, rows=None, seed=0):
    """Losses that are small for what was put in."""
    noise = np.random.default_rng(seed).normal(size=120)
    losses = np.exp(noise - mu * kit.open_coins())
    lines = [f"{i},{losses[i]}" for i in (range(120) if rows is None else rows)]
    path.write_text("\n".join(["canary,loss", *lines]) + "\n")
    return path


@pytest.fixture
def leaking(kit, tmp_path):
    return write(tmp_path / "leaking.csv", kit)


@pytest.fixture
def told(cli, kit, leaking, tmp_path):
    """What an audit of predictions says, writes and exits with."""

    def run(*words, predictions=leaking):
        given = ["--predictions", predictions, "--kit", kit.path, "--json", tmp_path / "a.json"]
        result = cli("checkpoint", *given, "--verbose", *words)
        assert result.exit_code in (0, 1), result.output
        report = json.loads((tmp_path / "a.json").read_text())
        assert list(SCHEMA.iter_errors(report)) == []
        assert max(map(len, result.stdout.splitlines())) <= 80
        return " ".join(result.stdout.split()), report, result

    return run


# ---------------------------------------------------------------- what is found


def test_predictions_of_any_framework_are_audited(told, kit):
    text, report, _ = told("--claim", "1,1e-5")
    assert report["verdict"] == "VIOLATION"
    first = report["bounds"][0]
    assert (first["estimator"], first["assumption"]) == ("one-run", "none")
    assert first["guesses"]["canaries"] == 120
    assert "REFUTED: the claim of epsilon 1.00 does not hold; the leak is at least" in text
    assert "TPR at 1 % FPR needs more canaries: 100 that were left out" in text
    assert "Hoeffding" in text
    assert f"sealed: {kit.about.commitment}" in text
    assert "one-run-fdp decides nothing, as no such curve is claimed." in text
    assert report["looks"] == 1
    assert "first look" in text


def test_every_score_is_written(told, kit, tmp_path):
    told()
    with (tmp_path / "empty" / "dpaudit-scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["canary"]) for row in rows] == list(range(120))
    assert [row["coin"] == "in" for row in rows] == kit.open_coins().tolist()
    assert [int(row["label"]) for row in rows] == kit.canaries.y.tolist()
    order = sorted(rows, key=lambda row: float(row["score"]))
    assert order[0]["guess"] == "out"
    assert order[-1]["guess"] == "in"


def test_no_leak_is_no_violation_and_no_proof(told, kit, tmp_path):
    quiet = write(tmp_path / "quiet.csv", kit, mu=0.0)
    text, report, _ = told("--claim", "1,1e-5", predictions=quiet)
    assert report["verdict"] == "NO_VIOLATION_FOUND"
    assert NO_EVIDENCE in text


def test_too_few_canaries_for_the_claim_are_inconclusive(told):
    text, report, _ = told("--claim", "8,1e-5")
    assert report["verdict"] == "INCONCLUSIVE"
    assert "this number of guesses can certify at most" in text


def test_a_stated_curve_decides(told):
    _, report, _ = told("--claim", "3,1e-5", "--curve", "gaussian")
    assert report["bounds"][0]["estimator"] == "one-run-fdp"
    assert report["claim"]["curve"]["kind"] == "gaussian"
    _, report, _ = told("--claim", "3,1e-5", "--curve", "none", "--guesses", 60)
    assert [bound["estimator"] for bound in report["bounds"]] == ["one-run"]
    assert report["bounds"][0]["selection"].endswith("fixed beforehand")


def test_without_a_claim_the_figures_stand_alone(told):
    text, report, _ = told()
    assert (report["claim"], report["verdict"]) == (None, None)
    assert "how much" in text
    assert "VIOLATION" not in text


def test_a_refuted_claim_is_exit_code_1_where_that_is_asked_for(told):
    assert told("--claim", "1,1e-5", "--fail-on-violation")[2].exit_code == 1
    assert told("--claim", "1,1e-5")[2].exit_code == 0
    assert told("--fail-on-weak")[2].exit_code == 1


def test_references_are_named_up_to_the_next_option(told, kit, tmp_path):
    others = [write(tmp_path / f"r{i}.csv", kit, mu=0.0, seed=i) for i in (1, 2)]
    text, report, _ = told("--reference", *others, "--claim", "1,1e-5")
    assert report["references"] == [str(path) for path in others]
    assert report["score"]["name"] == "calibrated"
    assert "LiRA, offline" in text
    assert "must not" in text
    again = told("--reference", others[0], "--reference", others[1], "--score", "rmia")[1]
    assert (again["references"], again["score"]["name"]) == (report["references"], "rmia")


def test_looking_again_is_counted_and_held_to_more(told, kit, tmp_path):
    _, first, _ = told("--claim", "1,1e-5")
    other = write(tmp_path / "other.csv", kit, seed=7)
    text, second, _ = told("--claim", "1,1e-5", predictions=other)
    assert [first["looks"], second["looks"]] == [1, 2]
    assert [bound["confidence"] for bound in second["bounds"]] == [1 - 0.05 / 4] * 2
    assert "This is look 2 at the kit's coins, held to 98.75 % confidence instead of 95 %" in text
    assert "(98.75 % confidence)" in text
    assert told("--claim", "1,1e-5")[1]["bounds"] == first["bounds"]
    assert len((kit.path / "looks.txt").read_text().splitlines()) == 2


def test_references_are_asked_with_dropout_like_the_model(cli, kit, tmp_path):
    import torch

    from dpaudit.training import networks

    for i in range(3):
        torch.manual_seed(i)
        torch.save(networks.build("mlp", (1, 1, 4), 3, 0.5).state_dict(), tmp_path / f"{i}.pt")
    given = ["checkpoint", tmp_path / "0.pt", "--network", "mlp", "--kit", kit.path]
    given += ["--reference", tmp_path / "1.pt", tmp_path / "2.pt"]
    assert "its passes" not in " ".join(cli(*given, "--verbose").stdout.split())
    result = cli(*given, "--samples", 9, "--verbose")
    text = " ".join(result.stdout.split())
    assert "asked once without dropout and 9 times with it" in text
    assert "its passes" in text
    assert "This is look 2" in text


# ---------------------------------------------------------------- without a kit


@pytest.fixture
def sides(tmp_path):
    """Members that a network has learned by heart, others, and its checkpoint."""
    import torch

    from dpaudit.training import networks

    draw = np.random.default_rng(1)
    x, y = draw.uniform(size=(200, 16)).astype(np.float32), draw.integers(0, 2, 200)
    torch.manual_seed(0)
    network = networks.build("mlp", (1, 1, 16), 2, 0.0)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(200):
        optimizer.zero_grad()
        said = network(torch.as_tensor(x[:100, None, None]))
        torch.nn.functional.cross_entropy(said, torch.as_tensor(y[:100])).backward()
        optimizer.step()
    torch.save(network.state_dict(), tmp_path / "model.pt")
    np.savez(tmp_path / "in.npz", x=x[:100], y=y[:100])
    np.savez(tmp_path / "out.npz", x=x[100:], y=y[100:])
    np.savez(tmp_path / "few.npz", x=x[150:], y=y[150:])
    given = ["checkpoint", tmp_path / "model.pt", "--network", "mlp", "--claim", "0.5,1e-5"]
    return [*given, "--members", tmp_path / "in.npz"], tmp_path


def test_without_a_coin_the_bound_is_conditional_in_words_that_cannot_be_missed(cli, sides):
    words, folder = sides
    text = " ".join(cli(*words, "--nonmembers", folder / "out.npz").stdout.split())
    assert "the leak is at least 0.87 only if a fair coin chose each record" in text
    assert text.startswith("WEAK TEST: ")
    assert "--fair-coins" in text
    assert "Next Train with a kit" in text


def test_a_stated_coin_decides(cli, sides):
    words, folder = sides
    result = cli(*words, "--nonmembers", folder / "out.npz", "--fair-coins", "--verbose")
    text = " ".join(result.stdout.split())
    assert "REFUTED: " in text
    assert "only if" not in text
    assert "user's statement" in text


def test_an_uneven_split_has_no_bound_but_figures(cli, sides):
    words, folder = sides
    text = " ".join(cli(*words, "--nonmembers", folder / "few.npz", "--verbose").stdout.split())
    assert "fair coin" in text
    assert "100 of 150 records" in text
    assert "AUC" in text
    assert "TPR at 1 % FPR needs more records: 100 that are no members, not 50" in text
    assert "50 records are among the members and among the others" not in text
    same = cli(*words, "--nonmembers", folder / "in.npz", "--verbose").stdout
    assert "100 records are among the members and among the others, too" in " ".join(same.split())


# ---------------------------------------------------------------- refusals


def test_missing_rows_are_named(refused, kit, tmp_path):
    some = write(tmp_path / "some.csv", kit, rows=range(3, 120))
    said = refused("checkpoint", "--predictions", some, "--kit", kit.path, "--claim", "1,1e-5")
    said.tells("missing-canaries", "3 120 (0, 1, 2)")


def test_an_altered_seal_is_named_by_its_hash(refused, kit, leaking):
    sealed = kit.path / "sealed.json"
    coins = json.loads(sealed.read_text())["coins"]
    sealed.write_text(sealed.read_text().replace(coins, coins[::-1]))
    said = refused("checkpoint", "--predictions", leaking, "--kit", kit.path)
    said.tells("kit-altered", "SHA-256")


def test_another_commitment_than_was_kept_is_refused(refused, kit, leaking):
    words = ["checkpoint", "--predictions", leaking, "--kit", kit.path, "--commitment", "0" * 64]
    refused(*words).tells("other-commitment")


def test_names_in_a_checkpoint_are_told_in_one_line_without_control_codes(refused, kit, tmp_path):
    import torch

    torch.save({"\x1b[31mred\nline": torch.zeros(1)}, tmp_path / "a.pt")
    said = refused("checkpoint", tmp_path / "a.pt", "--network", "mlp", "--kit", kit.path)
    said.tells("shape-mismatch", "mlp")
    assert "its  [31mred line 1 is not in the network" in said


def test_a_pickle_that_runs_code_does_not_run(refused, kit, tmp_path):
    import torch

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    torch.save(Evil(), tmp_path / "evil.pt")
    said = refused("checkpoint", tmp_path / "evil.pt", "--network", "mlp", "--kit", kit.path)
    said.tells("holds-code")
    assert not (tmp_path / "ran").exists()


CONFLICTS = [
    ("a.pt", "missing-options", "--kit --members --nonmembers"),
    ("a.pt --members a.npz", "missing-options", "--kit --members --nonmembers"),
    (
        "a.pt --kit k --members a.npz --nonmembers b.npz",
        "excluded-options",
        "--kit --members --nonmembers",
    ),
    ("--kit k", "missing-options", "MODEL --predictions"),
    ("a.pt --predictions p.csv --kit k", "excluded-options", "MODEL --predictions"),
    (
        "--predictions p.csv --members a.npz --nonmembers b.npz",
        "needs-kit",
        "--predictions --scores",
    ),
    ("--predictions p.csv --kit k --network mlp", "no-effect", "--network --predictions"),
    (
        "--predictions p.csv --kit k --outputs logits --dropout 0.1",
        "no-effect",
        "--outputs --dropout --predictions",
    ),
    ("a.pt --network a:b --kit k --dropout 0.1", "no-effect", "--dropout a network"),
    (
        "--predictions p.csv --kit k --fair-coins",
        "excluded-options",
        "--fair-coins --classes --members",
    ),
    (
        "a.pt --members a.npz --nonmembers b.npz --commitment 00",
        "needs-kit",
        "--commitment --kit",
    ),
    ("a.pt --kit k --claim 1,1e-5 --delta 1e-6", "excluded-options", "--claim --delta"),
    ("a.pt --kit k --claim one", "no-claim", "'one'"),
    ("a.pt --kit k --samples 1", "too-small", "samples 2 1"),
    ("a.pt --kit k --dropout 1", "out-of-range", "dropout 0 1"),
    ("a.pt --kit k --curve bell", "unknown-choice", "curve 'bell'"),
    ("a.pt --kit nowhere", "folder-missing", "nowhere"),
    ("a.pt --network mlp --kit KIT", "file-missing", "a.pt"),
    ("a.pt --kit KIT", "needs-network", "--network a.pt"),
    ("a.onnx --kit KIT", "file-missing", "a.onnx"),
    ("--predictions p.csv --kit KIT", "file-missing", "p.csv"),
    ("--predictions p.txt --kit KIT", "wrong-format", "p.txt .csv .npz"),
    ("a.pt --kit KIT --write-scores nowhere/a.csv", "folder-missing", "nowhere/a.csv"),
]


def test_what_cannot_be_audited_is_one_sentence(refused, kit):
    for words, code, facts in CONFLICTS:
        given = [kit.path if word == "KIT" else word for word in words.split()]
        refused("checkpoint", *given).tells(code, facts)
