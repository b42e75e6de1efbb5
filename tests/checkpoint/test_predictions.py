"""Predictions from a file: any form, any order, none missing, one sentence for each fault."""

import numpy as np
import pytest
from refusals import ANY, refuses
from scipy.special import softmax

from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checkpoint.predictions import of_logits, read
from dpaudit.types import Records

DRAW = np.random.default_rng(0)
Z = DRAW.normal(size=(12, 3)).round(6)
Y = DRAW.integers(0, 3, 12)
P = softmax(Z, axis=1)
LOSS = -np.log(P[np.arange(12), Y])
SUBJECT = Candidates(
    Records(np.zeros((12, 1, 1, 2), np.float32), Y), np.arange(12) % 2 == 0, 3, "kit", ""
)
FORMS = {
    "loss": ("canary,loss", LOSS[:, None]),
    "probabilities": ("canary,p0,p1,p2", P),
    "logits": ("canary,z0,z1,z2", Z),
}


def text(header, values, order=range(12)):
    rows = [",".join(map(str, [i, *map(float, values[i])])) for i in order]
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_read_in_any_form_and_order(tmp_path, form):
    header, values = FORMS[form]
    for name, order in (("a.csv", range(12)), ("b.csv", DRAW.permutation(12))):
        (tmp_path / name).write_text(text(header, values, order))
        assert read(tmp_path / name, SUBJECT).log_odds == pytest.approx(of_logits(Z, Y).log_odds)


def test_without_numbers_rows_are_in_the_order_of_canaries(tmp_path):
    rows = [f"{loss}" for loss in LOSS]
    (tmp_path / "a.csv").write_text("\n".join(["loss", *rows]))
    assert read(tmp_path / "a.csv", SUBJECT).log_p == pytest.approx(-LOSS)
    (tmp_path / "a.csv").write_text("\n".join(["loss", *rows[1:]]))
    with refuses("length-mismatch", value=[11, 12]):
        read(tmp_path / "a.csv", SUBJECT)


@pytest.mark.parametrize("form", ["losses", "probabilities", "logits"])
def test_arrays_are_read_in_any_form_and_order(tmp_path, form):
    values = {"losses": LOSS, "probabilities": P, "logits": Z}[form]
    order = DRAW.permutation(12)
    np.savez(tmp_path / "a.npz", **{form: values})
    np.savez(tmp_path / "b.npz", **{form: values[order], "canary": order})
    for name in ("a.npz", "b.npz"):
        assert read(tmp_path / name, SUBJECT).log_odds == pytest.approx(of_logits(Z, Y).log_odds)


@pytest.mark.parametrize(
    ("content", "code", "value"),
    [
        (text("canary,loss", LOSS[:, None], range(10)), "missing-canaries", [10, 11]),
        (text("canary,loss", LOSS[:, None], [*range(12), 3]), "stated-twice", [3]),
        (text("canary,loss", LOSS[:, None]) + "12,0.5\n", "unknown-canary", [12]),
        (text("canary,loss", LOSS[:, None]) + "-1,0.5\n", "unknown-canary", [-1]),
        (text("canary,loss", LOSS[:, None]) + "1.5,0.5\n", "not-whole", None),
        (text("canary,loss", LOSS[:, None]).replace("\n3,", "\n3,nan "), "not-a-number", ANY),
        (text("canary,loss", LOSS[:, None]).replace("\n3,", "\n3,1,"), "ragged-rows", [(5, 3)]),
        (text("canary,score", LOSS[:, None]), "wrong-columns", ["canary", "score"]),
        (text("canary,p0,p2", P[:, :2]), "wrong-columns", ["canary", "p0", "p2"]),
        (text("canary,p0,p1", P[:, :2]), "class-mismatch", [2, 3]),
        (text("canary,p0,p1,p2", Z), "not-probabilities", ANY),
        ("canary,loss\n", "no-records", ["canary", "loss"]),
        ("", "file-empty", None),
    ],
)
def test_a_table_with_a_fault_is_one_sentence(tmp_path, content, code, value):
    (tmp_path / "a.csv").write_text(content)
    with refuses(code, value=value) as error:
        read(tmp_path / "a.csv", SUBJECT)
    assert str(error.value).startswith(f"{tmp_path / 'a.csv'}: ")
    assert "\n" not in str(error.value)
    for fact in value if isinstance(value, list) and isinstance(value[0], int) else []:
        assert str(fact) in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "code", "option", "value"),
    [
        ({"losses": LOSS[:5]}, "length-mismatch", "", [5, 12]),
        ({"losses": np.where(np.arange(12) == 4, np.nan, LOSS)}, "not-finite", "losses", [4]),
        ({"losses": LOSS, "logits": Z}, "excluded-arrays", "", ["losses", "logits"]),
        ({"scores": LOSS}, "missing-arrays", "", ["scores"]),
        ({"losses": Z}, "wrong-shape", "losses", (12, 3)),
        ({"logits": Z[:, :2]}, "class-mismatch", "logits", [2, 3]),
        ({"losses": LOSS.astype(object)}, "holds-objects", "losses", None),
        ({"losses": LOSS, "canary": np.zeros(3, int)}, "length-mismatch", "canary", (3,)),
        ({"losses": LOSS, "canary": np.zeros(12, int)}, "missing-canaries", "", [1, 2, 3, 4, 5]),
    ],
)
def test_arrays_with_a_fault_are_one_sentence(tmp_path, arrays, code, option, value):
    np.savez(tmp_path / "a.npz", **arrays)
    with refuses(code, option=option, value=value):
        read(tmp_path / "a.npz", SUBJECT)


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "wrong-format"), (b"PK\x03\x04", "file-damaged"), (b"\x80\x04N.", "wrong-format")],
)
def test_a_damaged_archive_is_one_sentence(tmp_path, content, code):
    (tmp_path / "a.npz").write_bytes(content)
    with refuses(code):
        read(tmp_path / "a.npz", SUBJECT)
