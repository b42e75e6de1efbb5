"""The data sets that everybody compares on, read and downloaded through torchvision."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.checks import refuse
from dpaudit.data.arrays import as_records, problems
from dpaudit.data.split import split
from dpaudit.errors import BadInput, is_full, kind_of
from dpaudit.protocols import Loader
from dpaudit.types import Array, Data, Records

PATIENCE = 60.0
"""Seconds that a server may be silent; torchvision itself would wait for ever."""

NPZ = "save the data as a .npz file and give its path (dpaudit explain npz)"


@dataclass(frozen=True)
class Cifar10(Loader):
    """CIFAR-10: 60,000 colour images of 32x32 pixels in 10 classes; --download fetches it.

    Krizhevsky 2009, through torchvision: the folder cifar-10-batches-py, 180 MB, in --data-root
    (else ~/.cache/dpaudit). It is downloaded only with --download; a copy that is there already
    is used, after a check that each file is the original. Pixels are divided by 255, into
    [0, 1], channels first. Of the 50,000 training images 5 parts in 7 become the pool for D
    (35,714) and 2 shadow models' own; the 10,000 test images are the test set. Take fewer with
    --size.
    """

    root: str | os.PathLike[str] | None = None
    download: bool = False

    def load(self, seed: int) -> Data:
        return _load("cifar10", "CIFAR10", "cifar-10-batches-py", self.root, self.download, seed)


@dataclass(frozen=True)
class Mnist(Loader):
    """MNIST: 70,000 handwritten digits of 28x28 pixels in 10 classes; --download fetches it.

    LeCun, Cortes and Burges 1998, through torchvision: the four files of MNIST/raw, 65 MB, in
    --data-root (else ~/.cache/dpaudit). They are downloaded only with --download; a copy that is
    there already is used. Pixels are divided by 255, into [0, 1]. Of the 60,000 training images
    5 parts in 7 become the pool for D (42,857) and 2 shadow models' own; the 10,000 test images
    are the test set. Take fewer with --size.
    """

    root: str | os.PathLike[str] | None = None
    download: bool = False

    def load(self, seed: int) -> Data:
        return _load("mnist", "MNIST", "MNIST", self.root, self.download, seed)


@dataclass(frozen=True)
class FashionMnist(Loader):
    """Fashion-MNIST: 70,000 grey images of clothes, 28x28, in 10 classes; --download fetches it.

    Xiao, Rasul and Vollgraf 2017 (https://arxiv.org/abs/1708.07747), through torchvision: the
    four files of FashionMNIST/raw, 65 MB, in --data-root (else ~/.cache/dpaudit). They are
    downloaded only with --download; a copy that is there already is used. Pixels and sets are
    as in MNIST. Take fewer records with --size.
    """

    root: str | os.PathLike[str] | None = None
    download: bool = False

    def load(self, seed: int) -> Data:
        return _load(
            "fashion-mnist", "FashionMNIST", "FashionMNIST", self.root, self.download, seed
        )


def cache() -> Path:
    """Where downloaded data sets are kept unless said otherwise."""
    said = os.environ.get("XDG_CACHE_HOME", "")
    # A relative one is invalid, says the XDG Base Directory Specification.
    return Path(said if os.path.isabs(said) else os.path.expanduser("~/.cache")) / "dpaudit"


def _load(
    name: str,
    kind: str,
    folder: str,
    root: str | os.PathLike[str] | None,
    download: bool,
    seed: int,
) -> Data:
    base = cache() if root is None else Path(os.path.expanduser(root))
    place = base / folder
    if not download and not os.path.exists(place):
        raise BadInput(
            f"{name} is not in {place}; give --download to fetch it there, "
            "or --data-root FOLDER where it lies elsewhere",
            "needs-download",
            option="download",
            value=str(place),
        )
    dataset = _dataset(name, kind)
    try:
        with _quietly():
            arrays = _fetched(name, dataset, place, download)
        refuse(problems(arrays), about=str(place))
        train = Records(arrays["x_train"], arrays["y_train"])
        test = as_records(arrays["x_test"], arrays["y_test"])
        # Split as bytes, which are a quarter of the floats that they become.
        data = split(name, train, classes=int(train.y.max()) + 1, seed=seed, test=test)
        pool, shadow = (as_records(part.x, part.y) for part in (data.pool, data.shadow))
        return replace(data, pool=pool, shadow=shadow)
    except MemoryError as error:
        said = f"{name} does not fit into memory; {NPZ} of fewer records"
        raise BadInput(said, "out-of-memory", value=name) from error


def _fetched(name: str, dataset: Any, place: Path, download: bool) -> dict[str, Array]:
    """The arrays, of files that are there or, where that is allowed, downloaded."""
    absent = [path for path in (place / "raw", place, place.parent) if not path.exists()]
    try:
        return _arrays(dataset, place.parent, download)
    except MemoryError:
        raise
    except Exception as error:
        for path in absent:
            with suppress(OSError):  # of what was downloaded nothing is thrown away
                path.rmdir()
        if download and not _complete(dataset, place):
            raise kind_of(error, BadInput)(
                f"{name} could not be downloaded to {place} ({_reason(error)}); check the "
                f"connection and the disk and try again, or {NPZ}",
                "" if is_full(error) else "download-failed",
                option="download",
                value=str(place),
            ) from error
        raise BadInput(
            f"{place} does not hold all of {name}, or holds it damaged ({_reason(error)}); "
            "delete it and give --download",
            "file-damaged",
            value=str(place),
        ) from error


def _arrays(dataset: Any, root: Path, download: bool) -> dict[str, Array]:
    # CIFAR's files are pickles: torchvision opens them only if they are the original, by MD5.
    train = dataset(str(root), train=True, download=download)
    test = dataset(str(root), train=False, download=download)
    return {
        "x_train": np.asarray(train.data),
        "y_train": np.asarray(train.targets),
        "x_test": np.asarray(test.data),
        "y_test": np.asarray(test.targets),
    }


def _complete(dataset: Any, place: Path) -> bool:
    """Whether torchvision finds all files, so that what is wrong is in them."""
    try:
        _arrays(dataset, place.parent, download=False)
    except Exception as error:
        return "not found" not in str(error)
    return True


def _dataset(name: str, kind: str) -> Any:
    # Here, because it imports torch, which takes seconds.
    try:
        return getattr(import_module("torchvision.datasets"), kind)
    except ModuleNotFoundError as error:
        raise BadInput(
            f"{name} is read through torchvision, and there is no module {error.name}; "
            f"pip install torchvision, or {NPZ}",
            "module-missing",
            value=error.name,
        ) from error
    except Exception as error:
        raise BadInput(
            f"{name} is read through torchvision, which does not import ({_reason(error)}); "
            f"install the torchvision that belongs to this torch, or {NPZ}",
            "module-broken",
            value="torchvision",
        ) from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Nothing on stdout, which is the report's, and no waiting for ever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        socket.setdefaulttimeout(before)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
