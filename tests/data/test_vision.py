import gzip
import hashlib
import io
import pickle
import socket
import struct
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from refusals import problems_of

from dpaudit import data
from dpaudit.data import vision
from dpaudit.data.vision import Cifar10, FashionMnist, Mnist
from dpaudit.errors import BadInput

pytest.importorskip("torchvision", reason="torchvision is not installed")

PARTS = ("pool", "shadow", "test")
RAW = {
    "x_train": "train-images-idx3-ubyte",
    "y_train": "train-labels-idx1-ubyte",
    "x_test": "t10k-images-idx3-ubyte",
    "y_test": "t10k-labels-idx1-ubyte",
}


def drawn(*shape, train=200, test=20):
    """Arrays of ten classes, as if they were the real ones."""
    draw = np.random.default_rng(0)
    return {
        "x_train": draw.integers(0, 256, (train, *shape), dtype=np.uint8),
        "y_train": np.arange(train) % 10,
        "x_test": draw.integers(0, 256, (test, *shape), dtype=np.uint8),
        "y_test": np.arange(test) % 10,
    }


def stored(path):
    with np.load(path) as file:
        return {name: file[name] for name in RAW}


def idx(array):
    """An array in the format of MNIST's files."""
    array = array.astype(np.uint8)
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.tobytes()


def md5(content):
    return hashlib.md5(content).hexdigest()


def write_mnist(root, arrays, folder="MNIST"):
    raw = root / folder / "raw"
    raw.mkdir(parents=True)
    for name, file in RAW.items():
        (raw / file).write_bytes(idx(arrays[name]))
    return raw


def batches(arrays):
    """CIFAR's files by name: five to train on, one to test, and the names of the classes."""
    files = {"batches.meta": pickle.dumps({"label_names": list("abcdefghij")})}
    for i, part in enumerate(np.array_split(np.arange(len(arrays["y_train"])), 5), 1):
        files[f"data_batch_{i}"] = batch(arrays["x_train"][part], arrays["y_train"][part])
    files["test_batch"] = batch(arrays["x_test"], arrays["y_test"])
    return files


def batch(x, y):
    flat = np.moveaxis(x, 3, 1).reshape(len(x), -1)
    return pickle.dumps({"data": flat, "labels": [int(label) for label in y]})


@pytest.fixture
def cifar(monkeypatch):
    """Makes torchvision take these arrays' files for the original ones, and gives them back."""
    from torchvision.datasets import CIFAR10

    def install(arrays):
        files = batches(arrays)
        train = [[f"data_batch_{i}", md5(files[f"data_batch_{i}"])] for i in range(1, 6)]
        monkeypatch.setattr(CIFAR10, "train_list", train)
        monkeypatch.setattr(CIFAR10, "test_list", [["test_batch", md5(files["test_batch"])]])
        meta = {**CIFAR10.meta, "md5": md5(files["batches.meta"])}
        monkeypatch.setattr(CIFAR10, "meta", meta)
        return files

    return install


def write_cifar(root, files):
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def refusal(loader):
    """The error of a loader, which is one line."""
    with pytest.raises(BadInput) as caught:
        loader.load(0)
    assert "\n" not in str(caught.value)
    return caught.value


def not_downloaded(root, folder="MNIST"):
    return [("download-failed", "download", str(root / folder))]


def damaged(root, folder="MNIST"):
    return [("file-damaged", "", str(root / folder))]


def as_expected(loaded, arrays):
    """Whether these are all records, none twice, with the official test set as it was."""
    n = len(arrays["y_train"])
    assert [len(getattr(loaded, part)) for part in PARTS] == [
        n * 5 // 7,
        n - n * 5 // 7,
        len(arrays["y_test"]),
    ]
    assert loaded.classes == 10
    x = {name: arrays[name] / np.float32(255) for name in ("x_train", "x_test")}
    x = {k: np.moveaxis(v, 3, 1) if v.ndim == 4 else v[:, None] for k, v in x.items()}
    assert np.array_equal(loaded.test.x, x["x_test"])
    assert np.array_equal(loaded.test.y, arrays["y_test"])
    assert loaded.pool.x.dtype == np.float32
    assert loaded.pool.y.dtype == loaded.test.y.dtype == np.int64

    def keyed(x, y):
        return sorted((hash(a.tobytes()), int(b)) for a, b in zip(x, y, strict=True))

    trained_x = np.concatenate([loaded.pool.x, loaded.shadow.x])
    trained_y = np.concatenate([loaded.pool.y, loaded.shadow.y])
    assert keyed(trained_x, trained_y) == keyed(x["x_train"], arrays["y_train"])
    return True


# ---------------------------------------------------------------- files that are there


@pytest.mark.parametrize(("loader", "folder"), [(Mnist, "MNIST"), (FashionMnist, "FashionMNIST")])
def test_mnists_files_are_read_as_they_are(tmp_path, loader, folder):
    arrays = drawn(28, 28)
    write_mnist(tmp_path, arrays, folder)
    assert as_expected(loader(tmp_path).load(0), arrays)


def test_cifars_files_are_read_as_they_are(tmp_path, cifar):
    arrays = drawn(32, 32, 3)
    write_cifar(tmp_path, cifar(arrays))
    loaded = Cifar10(tmp_path).load(0)
    assert loaded.shape == (3, 32, 32)
    assert as_expected(loaded, arrays)


def test_real_mnist_is_read_as_it_is(real, tmp_path):
    arrays = stored(real("mnist_12k.npz"))
    write_mnist(tmp_path, arrays)
    assert as_expected(data.load("mnist", root=tmp_path), arrays)


def test_real_cifar_is_read_as_it_is(real, tmp_path, cifar):
    arrays = stored(real("cifar10_mini.npz"))
    write_cifar(tmp_path, cifar(arrays))
    assert as_expected(data.load("cifar10", root=tmp_path), arrays)


def test_files_are_found_by_name_and_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    write_mnist(tmp_path / "dpaudit", drawn(28, 28))
    loaded = data.load("mnist", size=100)
    assert (loaded.name, len(loaded.pool), len(loaded.shadow), len(loaded.test)) == (
        "mnist",
        100,
        40,
        20,
    )


@pytest.mark.parametrize("said", [None, "", "not/absolute"])
def test_the_cache_is_in_the_home_folder_unless_said_otherwise(tmp_path, monkeypatch, said):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if said is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", said)
    assert vision.cache() == tmp_path / ".cache" / "dpaudit"


def test_the_split_follows_the_seed(tmp_path):
    write_mnist(tmp_path, drawn(28, 28))
    first, again, other = (Mnist(tmp_path).load(seed) for seed in (1, 1, 2))
    assert data.fingerprint(first) == data.fingerprint(again) != data.fingerprint(other)


# ---------------------------------------------------------------- files that are not there


@pytest.mark.parametrize(
    ("loader", "folder"),
    [(Mnist, "MNIST"), (FashionMnist, "FashionMNIST"), (Cifar10, "cifar-10-batches-py")],
)
def test_absent_files_are_told_with_the_folder_and_download(tmp_path, loader, folder):
    error = refusal(loader(tmp_path))
    assert problems_of(error) == [("needs-download", "download", str(tmp_path / folder))]
    for said in (str(tmp_path / folder), "--download", "--data-root"):
        assert said in str(error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", RAW)
def test_a_file_of_mnist_that_is_missing_or_cut_short_is_told(tmp_path, name):
    raw = write_mnist(tmp_path, drawn(28, 28))
    file = raw / RAW[name]
    whole = file.read_bytes()
    for size in (0, 3, 7, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        error = refusal(Mnist(tmp_path))
        assert problems_of(error) == damaged(tmp_path)
        assert "--download" in str(error)
    file.unlink()
    assert problems_of(refusal(Mnist(tmp_path))) == damaged(tmp_path)


def test_damaged_files_are_not_said_to_be_a_failed_download(tmp_path):
    raw = write_mnist(tmp_path, drawn(28, 28))
    (raw / RAW["x_test"]).write_bytes(b"damaged")
    assert problems_of(refusal(Mnist(tmp_path, download=True))) == damaged(tmp_path)


def test_labels_that_do_not_match_their_images_are_told(tmp_path):
    arrays = drawn(28, 28)
    raw = write_mnist(tmp_path, arrays)
    (raw / RAW["y_train"]).write_bytes(idx(arrays["y_train"][:-1]))
    error = refusal(Mnist(tmp_path))
    assert problems_of(error) == [("length-mismatch", "x_train", [200, 199])]
    assert str(error).startswith(str(tmp_path / "MNIST"))


class Hostile:
    def __init__(self, trap):
        self.trap = trap

    def __reduce__(self):
        return (type(self.trap).mkdir, (self.trap,))


@pytest.mark.parametrize("name", ["data_batch_3", "test_batch", "batches.meta"])
def test_a_pickle_that_is_not_the_original_is_never_opened(tmp_path, cifar, name):
    folder = write_cifar(tmp_path, cifar(drawn(32, 32, 3)))
    trap = tmp_path / "trap"
    (folder / name).write_bytes(pickle.dumps(Hostile(trap)))
    assert problems_of(refusal(Cifar10(tmp_path))) == damaged(tmp_path, folder.name)
    assert not trap.exists()


# ---------------------------------------------------------------- downloads


@pytest.fixture
def server():
    """A server on this machine; `files` says what it has, `cut` how much it sends of each."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            content = self.server.files.get(self.path.lstrip("/"))
            if content is None:
                self.send_error(404)
                return
            self.server.asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: self.server.cut])
            if self.server.stall:
                self.server.released.wait(10)

        def log_message(self, *_):
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.daemon_threads = True
    served.files, served.asked, served.cut, served.stall = {}, [], None, False
    served.released = threading.Event()
    served.url = f"http://127.0.0.1:{served.server_port}/"
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield served
    served.released.set()
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def mirror(server, monkeypatch):
    """MNIST as that server has it."""
    from torchvision.datasets import MNIST

    arrays = drawn(28, 28)
    server.files = {f"{file}.gz": gzip.compress(idx(arrays[n])) for n, file in RAW.items()}
    resources = [(name, md5(content)) for name, content in server.files.items()]
    monkeypatch.setattr(MNIST, "mirrors", [server.url])
    monkeypatch.setattr(MNIST, "resources", resources)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server.arrays = arrays
    return server


def test_mnist_is_downloaded_once_and_says_nothing_on_stdout(tmp_path, mirror, capsys):
    before = socket.getdefaulttimeout()
    assert as_expected(Mnist(tmp_path / "new", download=True).load(0), mirror.arrays)
    assert capsys.readouterr().out == ""
    assert socket.getdefaulttimeout() == before
    asked = len(mirror.asked)
    assert asked >= 4
    Mnist(tmp_path / "new", download=True).load(0)
    Mnist(tmp_path / "new").load(0)
    assert len(mirror.asked) == asked


def test_mnist_that_lies_there_compressed_is_unpacked_without_a_network(tmp_path, mirror):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, content in mirror.files.items():
        (raw / name).write_bytes(content)
    mirror.files = {}
    assert as_expected(Mnist(tmp_path, download=True).load(0), mirror.arrays)


def test_cifar_is_downloaded(tmp_path, server, cifar, monkeypatch):
    from torchvision.datasets import CIFAR10

    arrays = drawn(32, 32, 3)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in cifar(arrays).items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    server.files = {CIFAR10.filename: packed.getvalue()}
    monkeypatch.setattr(CIFAR10, "url", server.url + CIFAR10.filename)
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(packed.getvalue()))
    monkeypatch.delenv("http_proxy", raising=False)
    assert as_expected(Cifar10(tmp_path, download=True).load(0), arrays)
    server.cut = 1000
    error = refusal(Cifar10(tmp_path / "b", download=True))
    assert problems_of(error) == not_downloaded(tmp_path / "b", "cifar-10-batches-py")


def test_a_server_without_the_files_is_told(tmp_path, mirror):
    mirror.files = {}
    error = refusal(Mnist(tmp_path, download=True))
    assert problems_of(error) == not_downloaded(tmp_path)
    assert "(Error down" in str(error)  # torchvision's words
    assert ".npz" in str(error)


@pytest.mark.parametrize("cut", [0, 10, 1000])
def test_a_cut_connection_is_told_and_the_next_download_mends_it(tmp_path, mirror, cut):
    mirror.cut = cut
    assert problems_of(refusal(Mnist(tmp_path, download=True))) == not_downloaded(tmp_path)
    assert problems_of(refusal(Mnist(tmp_path))) == damaged(tmp_path)
    mirror.cut = None
    assert as_expected(Mnist(tmp_path, download=True).load(0), mirror.arrays)


def test_content_that_is_not_the_original_is_told(tmp_path, mirror):
    mirror.files = {name: gzip.compress(b"other") for name in mirror.files}
    assert problems_of(refusal(Mnist(tmp_path, download=True))) == not_downloaded(tmp_path)


def test_a_silent_server_is_not_waited_for_for_ever(tmp_path, mirror, monkeypatch):
    monkeypatch.setattr(vision, "PATIENCE", 0.2)
    mirror.cut, mirror.stall = 10, True
    assert problems_of(refusal(Mnist(tmp_path, download=True))) == not_downloaded(tmp_path)


def test_no_network_is_told(tmp_path, mirror, monkeypatch):
    from torchvision.datasets import MNIST

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setattr(MNIST, "mirrors", [f"http://127.0.0.1:{unused.getsockname()[1]}/"])
        error = refusal(Mnist(tmp_path / "root", download=True))
    assert problems_of(error) == not_downloaded(tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_a_root_that_is_a_file_is_told(tmp_path, mirror):
    (tmp_path / "file").write_text("x")
    error = refusal(Mnist(tmp_path / "file", download=True))
    assert problems_of(error) == not_downloaded(tmp_path / "file")


# ---------------------------------------------------------------- torchvision itself


def test_without_torchvision_the_way_out_is_told(tmp_path, monkeypatch):
    write_mnist(tmp_path, drawn(28, 28))
    monkeypatch.setitem(sys.modules, "torchvision.datasets", None)
    error = refusal(Mnist(tmp_path))
    assert problems_of(error) == [("module-missing", "", "torchvision.datasets")]
    for said in ("mnist", "install torchvision", ".npz"):
        assert said in str(error)


def test_a_torchvision_that_does_not_import_is_told(tmp_path, monkeypatch):
    write_mnist(tmp_path, drawn(28, 28))
    broken = tmp_path / "broken" / "torchvision"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('operator\\nnms does not exist')")
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(broken.parent)
    error = refusal(Mnist(tmp_path))
    assert problems_of(error) == [("module-broken", "", "torchvision")]
    for said in ("(operator nms does not exist)", ".npz"):
        assert said in str(error)


def test_what_does_not_fit_into_memory_is_told(tmp_path, monkeypatch):
    write_mnist(tmp_path, drawn(28, 28))

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(vision, "split", full)
    error = refusal(Mnist(tmp_path))
    assert problems_of(error) == [("out-of-memory", "", "mnist")]
    assert ".npz" in str(error)
