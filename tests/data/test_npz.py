import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from refusals import problems_of, refuses

from dpaudit import files
from dpaudit.data.npz import Npz, read_records
from dpaudit.errors import BadInput

Y = np.arange(60) % 3
PARTS = ("pool", "shadow", "test")


def pixels(*shape, dtype=np.uint8):
    return np.random.default_rng(0).integers(0, 256, shape).astype(dtype)


def usable(**changes):
    """The arrays of a good file, some of them changed; None leaves one out."""
    arrays = {
        "x_train": pixels(60, 8, 8),
        "y_train": Y,
        "x_test": pixels(6, 8, 8),
        "y_test": Y[:6],
    }
    return {name: it for name, it in {**arrays, **changes}.items() if it is not None}


@pytest.fixture
def load(tmp_path):
    def loader(seed=0, **arrays):
        np.savez(tmp_path / "own.npz", **arrays)
        return Npz(tmp_path / "own.npz").load(seed)

    return loader


@pytest.fixture
def refusal(load, tmp_path):
    """The error for a file of these arrays: one line that begins with the path."""

    def error(**arrays):
        with pytest.raises(BadInput) as caught:
            load(**arrays)
        assert str(caught.value).startswith(f"{tmp_path / 'own.npz'}: ")
        assert "\n" not in str(caught.value)
        return caught.value

    return error


def refusal_of(path):
    return refusal_by(lambda path: Npz(path).load(0), path)


def refusal_by(read, path):
    with pytest.raises(BadInput) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    return caught.value


# ---------------------------------------------------------------- what is accepted


def test_train_and_test_arrays_stay_apart(load):
    arrays = usable()
    data = load(**arrays)
    assert (data.name, data.classes, data.shape) == ("own.npz", 3, (1, 8, 8))
    assert [len(getattr(data, part)) for part in PARTS] == [42, 18, 6]
    assert np.array_equal(data.test.x[:, 0], arrays["x_test"] / np.float32(255))
    trained = np.concatenate([data.pool.x, data.shadow.x])
    expected = arrays["x_train"] / np.float32(255)
    assert sorted(map(bytes, trained)) == sorted(map(bytes, expected))


def test_one_set_is_split_in_three(load):
    data = load(x=pixels(1797, 4), y=np.arange(1797) % 10)
    assert [len(getattr(data, part)) for part in PARTS] == [1000, 400, 397]


def test_the_split_follows_the_seed(load):
    first, again, other = (load(seed, **usable()) for seed in (1, 1, 2))
    assert np.array_equal(first.pool.x, again.pool.x)
    assert not np.array_equal(first.pool.x, other.pool.x)


def test_other_arrays_are_ignored_even_those_that_could_not_be_read(load):
    data = load(**usable(), idx_train=np.array([{}], dtype=object), x=pixels(3), y=pixels(4))
    assert len(data.test) == 6


@pytest.mark.parametrize(
    ("stored", "shape"),
    [
        ((60, 784), (1, 1, 784)),
        ((60, 28, 28), (1, 28, 28)),
        ((60, 5, 6, 3), (3, 5, 6)),
        ((60, 5, 6, 1), (1, 5, 6)),
        ((60, 5, 6, 4), (4, 5, 6)),
        ((60, 3, 5, 6), (3, 5, 6)),
        ((60, 1, 5, 6), (1, 5, 6)),
        ((60, 1, 1, 3), (1, 1, 3)),
        ((60, 3, 6, 4), (3, 6, 4)),
    ],
)
def test_layouts_become_channels_first(load, stored, shape):
    assert load(x=pixels(*stored), y=Y).shape == shape


def test_channels_that_come_last_are_moved_not_reshaped(load):
    test = pixels(6, 5, 7, 3)
    data = load(**usable(x_train=pixels(60, 5, 7, 3), x_test=test))
    assert data.test.x[4, 2, 1, 6] == np.float32(test[4, 1, 6, 2]) / np.float32(255)
    assert data.test.x.flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8", np.longdouble])
def test_floats_are_kept_as_they_are(load, dtype):
    standardised = np.linspace(-3, 300, 6 * 64).reshape(6, 8, 8).astype(dtype)
    data = load(**usable(x_train=pixels(60, 8, 8, dtype=dtype), x_test=standardised))
    assert data.test.x.dtype == np.float32
    assert np.array_equal(data.test.x[:, 0], standardised.astype(np.float32))


def test_bytes_are_pixels_and_bools_are_zero_and_one(load):
    flags = pixels(6, 8, 8) > 127
    data = load(**usable(x_test=flags))
    assert (data.pool.x.min(), data.pool.x.max()) == (0, 1)
    assert np.array_equal(data.test.x[:, 0], flags.astype(np.float32))


@pytest.mark.parametrize(
    "labels", [Y[:, None], Y.astype(float), Y.astype(np.uint8), Y.astype(">i2"), Y % 2 == 1]
)
def test_labels_may_be_any_whole_numbers_in_a_row_or_a_column(load, labels):
    data = load(x=pixels(60, 4), y=labels)
    assert data.pool.y.dtype == np.int64
    assert data.pool.y.shape == (len(data.pool),)
    found = np.concatenate([getattr(data, part).y for part in PARTS])
    assert sorted(found) == sorted(labels.reshape(-1))


# ---------------------------------------------------------------- what is wrong with arrays

NOT_WHOLE = Y + 0.5 * (Y == 1)
NOTHING = {"x_test": pixels(0, 8, 8), "y_test": Y[:0]}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"x_train": pixels(59, 8, 8)}, ("length-mismatch", "x_train", [59, 60])),
        ({"x_test": pixels(5, 8, 8)}, ("length-mismatch", "x_test", [5, 6])),
        ({"x_test": pixels(6, 9, 9)}, ("shape-mismatch", "x_test", [(8, 8), (9, 9)])),
        (NOTHING, ("array-empty", "x_test", (0, 8, 8))),
        (NOTHING, ("array-empty", "y_test", (0,))),
        ({"x_train": pixels(60, 0)}, ("array-empty", "x_train", (60, 0))),
        ({"x_train": pixels(60)}, ("wrong-shape", "x_train", (60,))),
        ({"x_train": np.float32(1)}, ("wrong-shape", "x_train", ())),
        ({"x_train": pixels(60, 8, 8, 2)}, ("wrong-shape", "x_train", (60, 8, 8, 2))),
        ({"x_train": pixels(60, 2, 8, 8, 3)}, ("wrong-shape", "x_train", (60, 2, 8, 8, 3))),
        ({"x_train": pixels(60, 8, 8, dtype=np.int64)}, ("wrong-type", "x_train", "int64")),
        ({"x_train": pixels(60, 8, 8, dtype=np.int8)}, ("wrong-type", "x_train", "int8")),
        ({"x_train": pixels(60, 8, 8, dtype=complex)}, ("wrong-type", "x_train", "complex128")),
        ({"x_train": pixels(60, 8, 8).astype(str)}, ("wrong-type", "x_train", "<U3")),
        ({"y_train": Y.astype(str)}, ("wrong-type", "y_train", "<U21")),
        ({"y_train": np.eye(3)[Y]}, ("wrong-shape", "y_train", (60, 3))),
        ({"y_train": np.int64(1)}, ("wrong-shape", "y_train", ())),
        ({"y_train": NOT_WHOLE}, ("not-whole", "y_train", 20)),
        ({"y_train": np.full(60, np.nan)}, ("not-whole", "y_train", 60)),
        ({"y_train": Y - 1}, ("negative-label", "y_train", -1)),
        ({"y_train": Y + 1}, ("class-gap", "y_train", 0)),
        ({"y_train": Y * 2}, ("class-gap", "y_train", 1)),
        ({"y_train": Y * 1e300}, ("class-gap", "y_train", 1)),
        ({"y_train": Y.astype(np.uint64) << 63}, ("class-gap", "y_train", 1)),
        ({"y_train": Y * 0, "y_test": Y[:6] * 0}, ("single-class", "y_train", None)),
        ({"y_train": np.minimum(np.arange(60), 1)}, ("too-few-records", "", [("0", 1)])),
        ({"y_test": Y[:6] + 1}, ("unknown-labels", "y_test", [3])),
        ({"y_test": Y[:6] - 1}, ("unknown-labels", "y_test", [-1])),
        ({"y_test": np.arange(6) + 3}, ("unknown-labels", "y_test", [3, 4, 5, 6, 7])),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(refusal, changes, problem):
    error = refusal(**usable(**changes))
    assert problem in problems_of(error)
    assert problem[1] in str(error)


def test_numbers_of_a_refusal_are_told(refusal):
    assert "59 " in str(refusal(**usable(x_train=pixels(59, 8, 8))))
    assert "(60, 8, 8, 2)" in str(refusal(**usable(x_train=pixels(60, 8, 8, 2))))
    assert "7 and 1 more" in str(refusal(**usable(y_test=np.arange(6) + 3)))
    assert "argmax" in str(refusal(**usable(y_train=np.eye(3)[Y])))
    assert "argmax" not in str(refusal(**usable(y_train=np.int64(1))))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_values_that_are_no_float32_are_counted(refusal, value):
    x = pixels(60, 4, dtype=float)
    x[3, 2] = x[7, 1] = value
    error = refusal(x=x, y=Y)
    assert problems_of(error) == [("not-finite", "x", 2)]
    assert "2 of 240" in str(error)


def test_all_problems_come_in_one_message(refusal):
    x = pixels(60, 8, 8, dtype=float)
    x[0] = np.nan
    error = refusal(
        **usable(x_train=x, y_train=Y + 1, x_test=pixels(5, 7, 7, dtype=np.int32), y_test=Y[:6])
    )
    assert problems_of(error) == [
        ("not-finite", "x_train", 64),
        ("wrong-type", "x_test", "int32"),
        ("length-mismatch", "x_test", [5, 6]),
        ("shape-mismatch", "x_test", [(8, 8), (7, 7)]),
        ("class-gap", "y_train", 0),
        ("unknown-labels", "y_test", [0]),
    ]
    assert all(str(problem) in str(error) for problem in error.problems)


# ---------------------------------------------------------------- what is wrong with files

SAVE = "np.savez(path, x="


def test_missing_names_are_told_beside_those_that_are_there(refusal):
    error = refusal(images=Y, y=Y)
    assert problems_of(error) == [("missing-arrays", "", ["x"])]
    assert "'images', 'y'" in str(error)
    assert SAVE in str(error)
    assert problems_of(refusal()) == [("missing-arrays", "", ["x", "y"])]


def test_one_of_the_four_names_asks_for_all_four(refusal):
    error = refusal(x=pixels(60, 4), y=Y, x_test=pixels(6, 4), y_test=Y[:6])
    assert problems_of(error) == [("missing-arrays", "", ["x_train", "y_train"])]
    assert "'x', 'y', 'x_test', 'y_test'" in str(error)


def test_a_missing_name_does_not_hide_the_other_problems(refusal):
    error = refusal(**usable(x_test=None, y_train=Y - 1))
    assert problems_of(error)[:2] == [
        ("missing-arrays", "", ["x_test"]),
        ("negative-label", "y_train", -1),
    ]


def test_a_name_cannot_write_on_the_terminal(refusal):
    assert "\x1b" not in str(refusal(**{"\x1b[2J": Y, "y": Y}))


class Hostile:
    def __init__(self, trap):
        self.trap = trap

    def __reduce__(self):
        return (os.mkdir, (str(self.trap),))


def test_a_pickle_in_an_array_is_named_and_never_run(refusal, tmp_path):
    trap = tmp_path / "trap"
    error = refusal(**usable(x_train=np.array([Hostile(trap)] * 60, dtype=object), y_test=Y[:5]))
    assert not trap.exists()
    assert problems_of(error) == [
        ("holds-objects", "x_train", None),
        ("length-mismatch", "x_test", [6, 5]),
    ]


def test_a_pickle_that_is_called_npz_is_never_run(tmp_path):
    trap = tmp_path / "trap"
    path = tmp_path / "own.npz"
    path.write_bytes(pickle.dumps(Hostile(trap)))
    assert problems_of(refusal_of(path)) == [("wrong-format", "", None)]
    assert not trap.exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"x,y\n1,2\n", b"\x89PNG\r\n\x1a\n", b"\0" * 999])
def test_a_file_of_another_kind_is_told(tmp_path, content):
    path = tmp_path / "own.npz"
    path.write_bytes(content)
    error = refusal_of(path)
    assert problems_of(error) == [("wrong-format", "", None)]
    assert SAVE in str(error)


def test_a_single_array_is_told(tmp_path):
    path = tmp_path / "own.npz"
    with path.open("wb") as file:
        np.save(file, Y)
    error = refusal_of(path)
    assert problems_of(error) == [("single-array", "", None)]
    assert SAVE in str(error)


def write(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def declared(shape, dtype="|u1"):
    """An array file that ends right after its header."""
    file = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def test_a_member_that_is_no_array_is_told(tmp_path):
    write(tmp_path / "own.npz", x=b"hello", y=b"")
    error = refusal_of(tmp_path / "own.npz")
    assert problems_of(error) == [("not-an-array", "x", None), ("not-an-array", "y", None)]


@pytest.mark.parametrize("shape", [(60, 8, 8), (2**40, 2**40), (-1, 8), ("a",)])
def test_an_array_that_is_not_what_it_declares_is_damaged(tmp_path, shape):
    write(tmp_path / "own.npz", x=declared(shape), y=declared((60,)))
    problems = problems_of(refusal_of(tmp_path / "own.npz"))
    assert [problem[:2] for problem in problems] == [("array-damaged", "x"), ("array-damaged", "y")]


def zeros(path, **shapes):
    """A small file of many zeros: a thousandth of what it unpacks to."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, shape in shapes.items():
            archive.writestr(f"{name}.npy", declared(shape) + bytes(int(np.prod(shape))))


def peak(action):
    """The most memory that Python and numpy took during an action."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [refusal_of, lambda path: refusal_by(read_records, path)])
def test_arrays_beyond_memory_are_refused_before_they_are_unpacked(tmp_path, monkeypatch, read):
    path = tmp_path / "own.npz"
    zeros(path, x=(5000, 4000), y=(5000,))
    monkeypatch.setattr("dpaudit.files.memory_limit", lambda: 8 << 20)
    errors = []
    assert peak(lambda: errors.append(read(path))) < 2 << 20
    assert problems_of(errors[0]) == [("file-too-large", "", 4 * 5000 * 4001)]
    assert "76.3 MiB" in str(errors[0])
    assert "8.0 MiB" in str(errors[0])


def test_an_array_of_a_form_that_is_of_no_use_is_never_unpacked(tmp_path):
    path = tmp_path / "own.npz"
    zeros(path, x=(20_000_000,), y=(2, 10_000_000))
    errors = []
    assert peak(lambda: errors.append(refusal_of(path))) < 2 << 20
    assert problems_of(errors[0])[:2] == [
        ("wrong-shape", "x", (20_000_000,)),
        ("wrong-shape", "y", (2, 10_000_000)),
    ]


@pytest.mark.parametrize("more", [-1, 1])
def test_an_array_that_holds_another_number_of_bytes_than_it_declares_is_refused(tmp_path, more):
    good = declared((60, 8)) + bytes(480 + more)
    write(tmp_path / "own.npz", x=good, y=declared((60,)) + bytes(60))
    error = refusal_of(tmp_path / "own.npz")
    assert problems_of(error)[0] == ("array-damaged", "x", [480, 480 + more])
    assert str(480 + more) in str(error)


def test_a_quarter_of_the_memory_may_be_data(monkeypatch, tmp_path):
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(files, "CONTAINER", tmp_path / "memory.max")
    assert files.memory_limit() == pages // 4
    (tmp_path / "memory.max").write_text("max\n")
    assert files.memory_limit() == pages // 4
    (tmp_path / "memory.max").write_text("4000\n")
    assert files.memory_limit() == 1000


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_cut_short_anywhere_is_told(tmp_path, save):
    path = tmp_path / "own.npz"
    save(path, **usable())
    whole = path.read_bytes()
    for size in range(4, len(whole), 97):
        path.write_bytes(whole[:size])
        assert problems_of(refusal_of(path)) == [("file-damaged", "", None)]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damage_anywhere_is_refused_or_harmless(tmp_path, save):
    """Every byte in turn: the data are those that were saved, or they are refused."""
    path = tmp_path / "own.npz"
    save(path, x=pixels(18, 2), y=np.arange(18) % 2)
    whole = path.read_bytes()
    good = Npz(path).load(0)
    refused = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            data = Npz(path).load(0)
        except BadInput:
            refused += 1
        else:
            for part in PARTS:
                assert np.array_equal(getattr(data, part).x, getattr(good, part).x), at
                assert np.array_equal(getattr(data, part).y, getattr(good, part).y), at
    assert refused > len(whole) / 2


def test_a_header_that_declares_gigabytes_is_not_read(tmp_path):
    header = b"\x93NUMPY\x02\x00" + (2**31).to_bytes(4, "little") + b" " * 10**6
    with zipfile.ZipFile(tmp_path / "long.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header)
        archive.writestr("y.npy", header)
    with pytest.raises(BadInput, match=r"2,147,483,648"):
        Npz(tmp_path / "long.npz").load(0)


def test_few_records_may_be_of_any_classes(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((3, 2), np.float32), y=[7, 7, 2])
    found = read_records(tmp_path / "a.npz")
    assert found.x.shape == (3, 1, 1, 2)
    assert found.y.tolist() == [7, 7, 2]
    np.savez(tmp_path / "b.npz", x=np.ones((3, 2), np.float32), y=[-1, 0, 0])
    with refuses("negative-label", option="y", value=-1):
        read_records(tmp_path / "b.npz")
