import errno
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from dpaudit import data, registry
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
    with refuses("unknown-name", option="data", value="digit") as caught:
        data.load("digit")
    assert "'digit'" in str(caught.value)
    assert "'digits'" in str(caught.value)
    assert "mnist" not in str(caught.value)


@pytest.mark.parametrize("source", ["records.tsv", "", "records"])
def test_an_unknown_source_is_told_what_is_known(source):
    with refuses("unknown-name", option="data", value=source) as caught:
        data.load(source)
    for said in (f"'{source}'", "digits", "mnist", ".npz", ".csv.gz", "./images"):
        assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [("npz", ".npz"), ("csv", ".csv.gz"), ("folder", "./images")],
)
def test_a_kind_of_file_is_told_how_to_name_the_file(name, said):
    with refuses("needs-path", option="data", value=name) as caught:
        data.load(name)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("own.npz", "file-missing"),
        ("own.csv", "file-missing"),
        ("own.CSV.GZ", "file-missing"),
        ("own/", "folder-missing"),
        ("./own", "folder-missing"),
        ("~nobody-at-all/own", "folder-missing"),
        ("x" * 5000 + ".npz", "file-unreadable"),
        ("x" * 5000 + ".csv", "file-unreadable"),
        ("own\0.csv", "file-missing"),
        ("own\0/", "folder-missing"),
    ],
)
def test_a_path_where_nothing_is_says_so(source, code):
    with refuses(code, value=str(Path(source))) as caught:
        data.load(source, label="y" if ".csv" in source.lower() else None)
    if code == "file-unreadable":
        assert os.strerror(errno.ENAMETOOLONG) in str(caught.value)


@pytest.fixture(params=["npz", "csv"])
def file(request, tmp_path):
    """The path of a file that can be loaded, and the options that it needs."""
    y = np.arange(60) % 3
    path = tmp_path / f"own.{request.param}"
    if request.param == "npz":
        np.savez(path, x=np.random.default_rng(0).random((60, 5)), y=y)
        return path, {}
    path.write_text("\n".join(["a,y", *(f"{i % 2},{label}" for i, label in enumerate(y))]))
    return path, {"label": "y"}


def test_a_home_folder_is_expanded(file, tmp_path, monkeypatch):
    path, options = file
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert data.load(f"~/{path.name}", **options).classes == 3


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (Path.mkdir, "is-folder"),
        (os.mkfifo, "not-regular"),
        (lambda path: path.symlink_to(path), "link-loop"),
    ],
)
def test_a_path_to_no_regular_file_is_refused_and_not_waited_for(file, make, code):
    path, options = file
    path.unlink()
    make(path)
    with refuses(code, value=str(path)) as caught:
        data.load(str(path), **options)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count(str(path)) == 1


def test_a_file_without_permission_is_refused(file, monkeypatch):
    def denied(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    path, options = file
    monkeypatch.setattr("dpaudit.files.os.open", denied)
    with refuses("file-unreadable", value=str(path)) as caught:
        data.load(str(path), **options)
    assert "Permission denied" in str(caught.value)


@pytest.mark.parametrize("step", ["read", "split"])
def test_data_that_do_not_fit_into_memory_are_refused(file, monkeypatch, step):
    def full(*_, **__):
        raise MemoryError

    path, options = file
    module = "npz" if path.suffix == ".npz" else "csv_table"
    name = "npy.read_array" if (module, step) == ("npz", "read") else step
    monkeypatch.setattr(f"dpaudit.data.{module}.{name}", full)
    with refuses("out-of-memory", value=str(path)) as caught:
        data.load(str(path), **options)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_name_wins_over_a_folder_of_the_same_name(tmp_path, monkeypatch):
    (tmp_path / "digits").mkdir()
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)
    assert data.load("digits").name == "digits"
    for folder in ("./digits", "digits/", "pictures"):
        with refuses("no-classes"):
            data.load(folder)


@pytest.mark.parametrize(
    ("source", "options", "flags"),
    [
        ("digits", {"label": "y"}, ["--label"]),
        ("digits", {"root": "x"}, ["--data-root"]),
        ("mnist", {"ignore": ["a"]}, ["--ignore"]),
        ("own.npz", {"bounds": ["a=0:1"]}, ["--bounds"]),
        ("own.npz", {"root": "x"}, ["--data-root"]),
        ("own.csv", {"download": True}, ["--download"]),
        ("own/", {"download": True, "label": ""}, ["--download", "--label"]),
    ],
)
def test_an_option_that_a_loader_does_not_use_is_refused(source, options, flags):
    with refuses("no-effect", option=next(iter(options)), value=list(options)) as caught:
        data.load(source, **options)
    assert source in str(caught.value)
    assert re.findall(r"--[a-z-]+", str(caught.value)) == flags


THIRD_PARTY = '''
import numpy as np
from dpaudit.protocols import Loader
from dpaudit.types import Data, Records

class Asking(Loader):
    """Says back what it was given."""
    def __init__(self, root="its own", label=None, bounds=("its=0:1",), *, download, **more):
        self.given = (root, label, bounds, download, more)
    def load(self, seed):
        part = Records(np.zeros((20, 1, 1, 1), np.float32), np.arange(20) % 2)
        return Data(repr(self.given), part, part, part, 2)
'''


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    (tmp_path / "asking_loader.py").write_text(THIRD_PARTY)
    installed = tmp_path / "asking-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: asking\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[dpaudit.data]\nasking = asking_loader:Asking\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()


def test_a_third_partys_loader_gets_the_options_that_it_asks_for(third_party):
    assert data.load("asking").name == "('its own', None, ('its=0:1',), False, {})"
    told = data.load("asking", root="here", label="y", bounds="a=0:1", size=10)
    assert told.name == "('here', 'y', ('a=0:1',), False, {})"
    assert len(told.pool) == 10
    with refuses("no-effect", option="ignore", value=["ignore"]):
        data.load("asking", download=True, ignore=["x"])


def test_an_absolute_path_means_the_same_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data.absolute("own.csv") == str(tmp_path / "own.csv")
    assert data.absolute("~/own.npz") == str(tmp_path / "own.npz")
    assert data.absolute("pictures") == str(tmp_path / "pictures")
    assert [data.absolute(name) for name in ("digits", "csv", "nothing")] == [
        "digits",
        "csv",
        "nothing",
    ]


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
