"""Predictions from a file: any form, any order, none missing, one sentence for each fault."""

import numpy as np
import pytest
from scipy.special import softmax

from dpaudit.checkpoint.outputs import of_logits
from dpaudit.checkpoint.predictions import read
from dpaudit.checkpoint.subject import Subject
from dpaudit.errors import BadInput
from dpaudit.types import Records

DRAW = np.random.default_rng(0)
Z = DRAW.normal(size=(12, 3)).round(6)
Y = DRAW.integers(0, 3, 12)
P = softmax(Z, axis=1)
LOSS = -np.log(P[np.arange(12), Y])
SUBJECT = Subject(
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
    with pytest.raises(BadInput, match="it has 11 rows, and there are 12 canaries"):
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
    ("content", "said"),
    [
        (text("canary,loss", LOSS[:, None], range(10)), "2 of 12 canaries are missing .10, 11."),
        (text("canary,loss", LOSS[:, None], [*range(12), 3]), "several rows for canary 3"),
        (text("canary,loss", LOSS[:, None]) + "12,0.5\n", "there is no canary 12"),
        (text("canary,loss", LOSS[:, None]) + "-1,0.5\n", "there is no canary -1"),
        (text("canary,loss", LOSS[:, None]) + "1.5,0.5\n", "by whole numbers"),
        (text("canary,loss", LOSS[:, None]).replace("\n3,", "\n3,nan "), "no finite number"),
        (text("canary,loss", LOSS[:, None]).replace("\n3,", "\n3,1,"), "a line needs 2 cells"),
        (text("canary,score", LOSS[:, None]), "name the columns canary and loss"),
        (text("canary,p0,p2", P[:, :2]), "name the columns canary and loss"),
        (text("canary,p0,p1", P[:, :2]), "probabilities of 2 classes, and the canaries are of 3"),
        (text("canary,p0,p1,p2", Z), "its probabilities are none"),
        ("canary,loss\n", "and no rows"),
        ("", "it is empty"),
    ],
)
def test_a_table_with_a_fault_is_one_sentence(tmp_path, content, said):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(BadInput, match=said) as error:
        read(tmp_path / "a.csv", SUBJECT)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"losses": LOSS[:5]}, "it has 5 rows"),
        ({"losses": np.where(np.arange(12) == 4, np.nan, LOSS)}, "says of canary 4 is NaN"),
        ({"losses": LOSS, "logits": Z}, "save it with np.savez"),
        ({"scores": LOSS}, "it has 'scores'"),
        ({"losses": Z}, "losses must have 1 axis"),
        ({"logits": Z[:, :2]}, "logits of 2 classes"),
        ({"losses": LOSS.astype(object)}, "losses holds Python objects"),
        ({"losses": LOSS, "canary": np.zeros(3, int)}, "a number for each of the 12 rows"),
        ({"losses": LOSS, "canary": np.zeros(12, int)}, "11 of 12 canaries are missing"),
    ],
)
def test_arrays_with_a_fault_are_one_sentence(tmp_path, arrays, said):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(BadInput, match=said):
        read(tmp_path / "a.npz", SUBJECT)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04N."])
def test_a_damaged_archive_is_one_sentence(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(BadInput, match=r"cut short or damaged|is not a \.npz file"):
        read(tmp_path / "a.npz", SUBJECT)
