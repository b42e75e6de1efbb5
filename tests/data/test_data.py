from dataclasses import replace

import numpy as np
import pytest

from dpaudit import data
from dpaudit.errors import BadInput
from dpaudit.types import Data, Records


def tiny():
    def part(n):
        return Records(np.zeros((n, 1, 2, 2), np.float32), np.zeros(n, np.int64))

    return Data("tiny", part(3), part(2), part(1), classes=2)


def test_digits_are_found_by_name():
    assert data.load("digits").name == "digits"


@pytest.mark.parametrize("name", ["own.npz", "OWN.NPZ"])
def test_a_path_that_ends_in_npz_is_a_file(tmp_path, name):
    y = np.arange(60) % 3
    with (tmp_path / name).open("wb") as file:
        np.savez(file, x=np.random.default_rng(0).random((60, 5)), y=y)
    loaded = data.load(str(tmp_path / name), seed=1)
    assert (loaded.name, loaded.classes, loaded.shape) == (name, 3, (1, 1, 5))


def test_a_near_miss_is_told_what_was_meant():
    with pytest.raises(BadInput) as caught:
        data.load("digit")
    assert "'digit'" in str(caught.value)
    assert "did you mean 'digits'?" in str(caught.value)


@pytest.mark.parametrize("source", ["records.csv", "", "/"])
def test_an_unknown_source_is_told_what_is_known(source):
    with pytest.raises(BadInput) as caught:
        data.load(source)
    assert f"'{source}'" in str(caught.value)
    assert "digits" in str(caught.value)
    assert "a file is named by its path, which ends in .npz" in str(caught.value)


def test_npz_without_a_path_is_told_to_name_the_file():
    with pytest.raises(BadInput, match=r"npz needs path.*its path, which ends in \.npz"):
        data.load("npz")


def test_the_seed_is_zero_unless_told():
    assert data.fingerprint(data.load("digits")) == data.fingerprint(data.load("digits", seed=0))
    assert data.fingerprint(data.load("digits")) != data.fingerprint(data.load("digits", seed=1))


def test_a_fingerprint_is_of_the_content_not_of_the_name_or_the_memory_layout():
    first = tiny()
    strided = Records(np.asfortranarray(first.pool.x), first.pool.y)
    assert data.fingerprint(replace(first, name="x", pool=strided)) == data.fingerprint(first)
    assert len(data.fingerprint(first)) == 64


def test_a_fingerprint_changes_with_every_value_shape_type_and_the_classes():
    first = tiny()
    x, y = first.pool.x, first.pool.y
    others = [replace(first, classes=3), replace(first, pool=first.shadow, shadow=first.pool)]
    others += [
        replace(first, pool=pool)
        for pool in (
            Records(x.reshape(3, 2, 1, 2), y),
            Records(x.view(np.int32), y),
            Records(x, y.view(np.uint64)),
            Records(x + np.float32(1e-6), y),
            Records(x, np.array([0, 0, 1])),
        )
    ]
    others += [replace(first, **{part: Records(x + 1, y)}) for part in ("shadow", "test")]
    prints = {data.fingerprint(it) for it in [first, *others]}
    assert len(prints) == 1 + len(others)
