"""Real files, where DPAUDIT_DATA says in which folder they are."""

import os
from pathlib import Path

import pytest

from dpaudit.data import load
from dpaudit.errors import BadInput


def real(name):
    folder = os.environ.get("DPAUDIT_DATA")
    if not folder:
        pytest.skip("DPAUDIT_DATA is not set to a folder of real files")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"DPAUDIT_DATA has no {name}")
    return str(path)


@pytest.mark.parametrize(
    ("name", "shape", "classes", "sizes"),
    [
        ("cifar10_mini.npz", (3, 32, 32), 10, (714, 286, 200)),
        ("mnist_12k.npz", (1, 28, 28), 10, (7142, 2858, 2000)),
        ("pneumoniamnist.npz", (1, 28, 28), 2, (3362, 1346, 624)),
    ],
)
def test_image_files_load_as_they_are(name, shape, classes, sizes):
    data = load(real(name))
    assert (data.name, data.shape, data.classes) == (name, shape, classes)
    assert (len(data.pool), len(data.shadow), len(data.test)) == sizes
    assert (data.pool.x.min(), data.pool.x.max()) == (0, 1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("esr.npz", ["x has the type int16", "y has labels up to 5 but no record of class 0"]),
        ("isolet.npz", ["it has no x (it has 'x_e4', 'y', 'group')", "y has labels up to 26"]),
    ],
)
def test_tables_that_need_work_are_told_all_of_it(name, said):
    with pytest.raises(BadInput) as caught:
        load(real(name))
    assert all(problem in str(caught.value) for problem in said)
