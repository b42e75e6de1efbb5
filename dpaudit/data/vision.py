"""CIFAR-10, MNIST and Fashion-MNIST, read and downloaded through torchvision."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dpaudit.checks import refuse
from dpaudit.data.arrays import as_records, problems
from dpaudit.data.split import split
from dpaudit.errors import BadInput, is_full, kind_of, one_line
from dpaudit.protocols import Loader
from dpaudit.types import Array, Data, Records

PATIENCE = 60.0
"""Seconds that a server may be silent; torchvision itself would wait without end."""

NPZ = "save the data as a .npz file and give its path (dpaudit explain npz)"


@dataclass(frozen=True)
class _Torchvision(Loader):
    """A data set of torchvision: its name, its class there, and the folder that it is stored in."""

    name: ClassVar[str]
    kind: ClassVar[str]
    folder: ClassVar[str]

    root: str | os.PathLike[str] | None = None
    download: bool = False

    def load(self, seed: int) -> Data:
        base = cache() if self.root is None else Path(os.path.expanduser(self.root))
        place = base / self.folder
        if not self.download and not os.path.exists(place):
            text = (
                f"{self.name} is not in {place}; give --download to fetch it or --data-root FOLDER"
            )
            raise BadInput(text, "needs-download", option="download", value=str(place))
        dataset = self._dataset()
        try:
            with _quiet():
                arrays = self._read(dataset, place)
            refuse(problems(arrays), about=str(place))
            train = Records(arrays["x_train"], arrays["y_train"])
            test = as_records(arrays["x_test"], arrays["y_test"])
            # Split as bytes, a quarter of the size of the floats that they become.
            data = split(self.name, train, int(train.y.max()) + 1, seed, test=test)
            pool, shadow = (as_records(part.x, part.y) for part in (data.pool, data.shadow))
            return replace(data, pool=pool, shadow=shadow)
        except MemoryError as error:
            text = f"{self.name} does not fit into memory; {NPZ} of fewer records"
            raise BadInput(text, "out-of-memory", value=self.name) from error

    def _dataset(self) -> Any:
        try:
            return getattr(import_module("torchvision.datasets"), self.kind)
        except ModuleNotFoundError as error:
            text = f"{self.name} is read through torchvision, and there is no module {error.name}; "
            text += f"pip install torchvision, or {NPZ}"
            raise BadInput(text, "module-missing", value=error.name) from error
        except Exception as error:
            text = f"{self.name} is read through torchvision, which does not import "
            text += f"({one_line(error)}); install the torchvision that fits this torch, or {NPZ}"
            raise BadInput(text, "module-broken", value="torchvision") from error

    def _read(self, dataset: Any, place: Path) -> dict[str, Array]:
        """Read the arrays from existing files or, if allowed, from downloaded ones."""
        absent = [path for path in (place / "raw", place, place.parent) if not path.exists()]
        try:
            return _arrays(dataset, place.parent, self.download)
        except MemoryError:
            raise
        except Exception as error:
            for path in absent:
                with suppress(OSError):  # a folder with downloaded files stays
                    path.rmdir()
            if self.download and not _complete(dataset, place):
                text = f"{self.name} could not be downloaded to {place} ({one_line(error)}); check "
                text += f"the connection and the disk and try again, or {NPZ}"
                code = "" if is_full(error) else "download-failed"
                kind = kind_of(error, BadInput)
                raise kind(text, code, option="download", value=str(place)) from error
            text = f"{place} does not hold all of {self.name}, or holds it damaged "
            text += f"({one_line(error)}); delete it and give --download"
            raise BadInput(text, "file-damaged", value=str(place)) from error


class Cifar10(_Torchvision):
    """CIFAR-10: 60,000 colour images of 32x32 pixels in 10 classes; --download fetches it.

    Krizhevsky 2009, through torchvision: the folder cifar-10-batches-py, 180 MB, in --data-root
    (else ~/.cache/dpaudit). It is downloaded only with --download; an existing copy is
    used, after a check that each file is the original. Pixels are divided by 255, into
    [0, 1], channels first. Of the 50,000 training images 5 parts in 7 become the pool for D
    (35,714) and 2 shadow models' own; the 10,000 test images are the test set. Take fewer with
    --size.
    """

    name, kind, folder = "cifar10", "CIFAR10", "cifar-10-batches-py"


class Mnist(_Torchvision):
    """MNIST: 70,000 handwritten digits of 28x28 pixels in 10 classes; --download fetches it.

    LeCun, Cortes and Burges 1998, through torchvision: the four files of MNIST/raw, 65 MB, in
    --data-root (else ~/.cache/dpaudit). They are downloaded only with --download; an existing
    copy is used. Pixels are divided by 255, into [0, 1]. Of the 60,000 training images
    5 parts in 7 become the pool for D (42,857) and 2 shadow models' own; the 10,000 test images
    are the test set. Take fewer with --size.
    """

    name, kind, folder = "mnist", "MNIST", "MNIST"


class FashionMnist(_Torchvision):
    """Fashion-MNIST: 70,000 grey images of clothes, 28x28, in 10 classes; --download fetches it.

    Xiao, Rasul and Vollgraf 2017 (https://arxiv.org/abs/1708.07747), through torchvision: the
    four files of FashionMNIST/raw, 65 MB, in --data-root (else ~/.cache/dpaudit). They are
    downloaded only with --download; an existing copy is used. Pixels and sets are
    as in MNIST. Take fewer records with --size.
    """

    name, kind, folder = "fashion-mnist", "FashionMNIST", "FashionMNIST"


def cache() -> Path:
    """The folder of downloaded data sets, unless the user names another."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path is invalid by the XDG Base Directory Specification.
    return Path(root if os.path.isabs(root) else os.path.expanduser("~/.cache")) / "dpaudit"


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
    """Return whether torchvision finds all files, so that the fault is inside them."""
    try:
        _arrays(dataset, place.parent, download=False)
    except Exception as error:
        return "not found" not in str(error)
    return True


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep stdout free for the report, and limit the time that a server may be silent."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        socket.setdefaulttimeout(before)
