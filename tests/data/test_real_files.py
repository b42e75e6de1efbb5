"""Real files, where DPAUDIT_DATA says in which folder they are."""

import numpy as np
import pytest
from refusals import problems_of, refuses

from dpaudit.data import load
from dpaudit.errors import BadInput


@pytest.mark.parametrize(
    ("name", "shape", "classes", "sizes"),
    [
        ("cifar10_mini.npz", (3, 32, 32), 10, (714, 286, 200)),
        ("mnist_12k.npz", (1, 28, 28), 10, (7142, 2858, 2000)),
        ("pneumoniamnist.npz", (1, 28, 28), 2, (3362, 1346, 624)),
    ],
)
def test_image_files_load_as_they_are(real, name, shape, classes, sizes):
    data = load(real(name))
    assert (data.name, data.shape, data.classes) == (name, shape, classes)
    assert (len(data.pool), len(data.shadow), len(data.test)) == sizes
    assert (data.pool.x.min(), data.pool.x.max()) == (0, 1)


@pytest.mark.parametrize(
    ("name", "problems", "said"),
    [
        ("esr.npz", [("wrong-type", "x", "int16"), ("class-gap", "y", 0)], " 5 "),
        ("isolet.npz", [("missing-arrays", "", ["x"]), ("class-gap", "y", 0)], " 26 "),
    ],
)
def test_tables_that_need_work_are_told_all_of_it(real, name, problems, said):
    with pytest.raises(BadInput) as caught:
        load(real(name))
    assert all(problem in problems_of(caught.value) for problem in problems)
    assert said in str(caught.value)


ADULT = {
    "label": "income",
    "bounds": [
        "age=17:90",
        "capital_gain=0:100000",
        "capital_loss=0:5000",
        "hours_per_week=0:100",
    ],
    "ignore": ["fnlwgt", "split"],
}


def test_adult_is_a_table_of_four_numbers_and_many_categories(real):
    data = load(real("adult.csv.gz"), **ADULT)
    assert (data.name, data.shape, data.classes) == ("adult.csv.gz", (1, 1, 4 + 118), 2)
    assert [len(part) for part in (data.pool, data.shadow, data.test)] == [27179, 10871, 10792]
    assert (data.pool.x.min(), data.pool.x.max()) == (0, 1)
    assert np.mean(data.pool.y) == pytest.approx(11687 / 48842, abs=1e-3)


def test_adult_in_a_subset_has_the_same_share_of_each_class(real):
    data = load(real("adult.csv.gz"), size=1000, **ADULT)
    assert [len(part) for part in (data.pool, data.shadow, data.test)] == [1000, 400, 397]
    assert np.mean(data.pool.y) == pytest.approx(11687 / 48842, abs=3e-3)


def test_pima_takes_its_bounds_and_one_category(real):
    bounds = {"glucose": 300, "pressure": 200, "triceps": 100, "insulin": 1000}
    bounds |= {"mass": 100, "pedigree": 5, "age": 120}
    said = [f"{name}=0:{high}" for name, high in bounds.items()]
    data = load(real("pima.csv.gz"), label="diabetes", bounds=said)
    assert (data.shape, data.classes) == ((1, 1, 7 + 17), 2)
    assert len(data.pool) + len(data.shadow) + len(data.test) == 768


def test_creditcard_asks_for_all_bounds_at_once_and_tells_no_value(real):
    with refuses("needs-bounds", option="bounds") as caught:
        load(real("creditcard_subset.csv.gz"), label="Class", ignore=["src"])
    said = str(caught.value)
    assert all(f"'{name}'" in said for name in ("Time", "Amount", *(f"V{i}" for i in range(1, 29))))
    assert "--bounds Time=LOW:HIGH" in said
    assert "172792" not in said  # the last Time


def test_creditcard_loads_with_bounds(real):
    bounds = [f"V{i}=-10:10" for i in range(1, 29)] + ["Amount=0:1000"]
    data = load(
        real("creditcard_subset.csv.gz"), label="Class", bounds=bounds, ignore=["src", "Time"]
    )
    assert (data.shape, data.classes) == ((1, 1, 29), 2)
    assert data.pool.y.sum() + data.shadow.y.sum() + data.test.y.sum() == 492
