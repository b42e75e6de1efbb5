import os
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image
from refusals import problems_of, refuses

from dpaudit.data import folder
from dpaudit.data.folder import ImageFolder
from dpaudit.errors import BadInput

PARTS = ("pool", "shadow", "test")
SIDE = 8


def pixels(seed, *shape):
    return np.random.default_rng(seed).integers(0, 256, shape or (SIDE, SIDE), dtype=np.uint8)


def save(path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path, **options)


def fill(folder, classes=("cat", "dog"), each=9, shape=(), suffix="png"):
    """Different images of each class; those of the first come first."""
    for c, name in enumerate(classes):
        for i in range(each):
            save(folder / name / f"{i}.{suffix}", pixels(100 * c + i, *shape))


def everything(data):
    """Every image with its label, in an order of its own."""
    found = [
        (x.tobytes(), int(y))
        for part in PARTS
        for x, y in zip(getattr(data, part).x, getattr(data, part).y, strict=True)
    ]
    return sorted(found)


@pytest.fixture
def load(tmp_path):
    return lambda seed=0: ImageFolder(tmp_path).load(seed)


@pytest.fixture
def refusal(load, tmp_path):
    """The error for the folder: one line that begins with its path."""

    def error():
        with pytest.raises(BadInput) as caught:
            load()
        assert str(caught.value).startswith(f"{tmp_path}: ")
        assert str(caught.value).isprintable()
        return caught.value

    return error


# ---------------------------------------------------------------- what is accepted


def test_classes_are_numbered_in_the_order_of_their_names(load, tmp_path):
    fill(tmp_path, ("b", "a", "C"), each=12)
    data = load()
    assert (data.name, data.classes, data.shape) == (tmp_path.name, 3, (1, SIDE, SIDE))
    assert (data.pool.x.dtype, data.pool.y.dtype) == (np.float32, np.int64)
    expected = sorted(
        ((pixels(100 * c + i) / np.float32(255)).tobytes(), label)
        for c, label in ((0, 2), (1, 1), (2, 0))
        for i in range(12)
    )
    assert everything(data) == expected


def test_train_and_test_folders_stay_apart(load, tmp_path):
    fill(tmp_path / "train", each=14)
    fill(tmp_path / "test", each=2)
    data = load()
    assert [len(getattr(data, part)) for part in PARTS] == [20, 8, 4]
    expected = [pixels(100 * c + i) / np.float32(255) for c in range(2) for i in range(2)]
    assert np.array_equal(data.test.x[:, 0], expected)
    assert data.test.y.tolist() == [0, 0, 1, 1]


def test_the_order_is_not_the_file_systems(load, tmp_path, monkeypatch):
    fill(tmp_path)
    before = load()
    scandir = os.scandir

    class Backwards:
        def __init__(self, folder):
            with scandir(folder) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self):
            return self.entries

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(os, "scandir", Backwards)
    assert np.array_equal(load().pool.x, before.pool.x)


COLOUR = [(suffix, (3,)) for suffix in ("png", "bmp", "tif", "tiff", "PNG")]
GREY = [(suffix, ()) for suffix in ("png", "bmp", "tif", "tiff", "PNG", "gif")]


@pytest.mark.parametrize(("suffix", "channels"), GREY + COLOUR)
def test_lossless_formats_give_the_pixels_that_were_saved(load, tmp_path, suffix, channels):
    fill(tmp_path, shape=(SIDE, SIDE, *channels), suffix=suffix)
    first = pixels(0, SIDE, SIDE, *channels) / np.float32(255)
    chw = np.moveaxis(first, 2, 0) if channels else first[None]
    assert (chw.tobytes(), 0) in everything(load())


@pytest.mark.parametrize("suffix", ["jpg", "jpeg", "webp"])
def test_other_formats_are_read(load, tmp_path, suffix):
    fill(tmp_path, shape=(SIDE, SIDE, 3), suffix=suffix)
    data = load()
    assert data.shape == (3, SIDE, SIDE)
    assert 0 <= data.pool.x.min() < 0.3 < 0.7 < data.pool.x.max() <= 1


def test_one_colour_image_makes_all_of_them_rgb(load, tmp_path):
    fill(tmp_path)
    save(tmp_path / "cat" / "colour.png", pixels(5, SIDE, SIDE, 3))
    data = load()
    assert data.shape == (3, SIDE, SIDE)
    grey = np.repeat((pixels(0) / np.float32(255))[None], 3, axis=0)
    assert (grey.tobytes(), 0) in everything(data)


@pytest.mark.parametrize("height", [1, 3, 4])
def test_a_flat_image_is_not_taken_for_channels(load, tmp_path, height):
    fill(tmp_path, shape=(height, 4, 3))
    assert load().shape == (3, height, 4)


def test_black_and_white_becomes_zero_and_one(load, tmp_path):
    fill(tmp_path)
    for file in tmp_path.glob("*/*.png"):
        Image.open(file).convert("1").save(file)
    data = load()
    assert data.shape == (1, SIDE, SIDE)
    assert set(np.unique(data.pool.x)) == {0, 1}


def test_an_opaque_alpha_channel_is_dropped_and_another_refused(load, refusal, tmp_path):
    fill(tmp_path, shape=(SIDE, SIDE, 3))
    solid = Image.fromarray(pixels(0, SIDE, SIDE, 3))
    before = everything(load())
    solid.convert("RGBA").save(tmp_path / "cat" / "0.png")
    assert everything(load()) == before
    solid.putalpha(254)
    solid.save(tmp_path / "cat" / "0.png")
    assert problems_of(refusal()) == [("unusable-images", "", [("'cat/0.png'", "not-opaque")])]


def test_grey_with_opaque_alpha_stays_grey(load, tmp_path):
    fill(tmp_path)
    before = everything(load())
    Image.fromarray(pixels(0)).convert("LA").save(tmp_path / "cat" / "0.png")
    assert everything(load()) == before


def test_hidden_files_are_ignored_and_links_are_followed(load, tmp_path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    fill(elsewhere, ("dog", "eel"))
    fill(tmp_path, ("cat",))
    (tmp_path / "dog").symlink_to(elsewhere / "dog")
    (tmp_path / "cat" / "more.png").symlink_to(elsewhere / "eel" / "0.png")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".DS_Store").write_text("x")
    (tmp_path / "cat" / ".hidden.png").write_text("x")
    data = load()
    assert data.classes == 2
    assert len(everything(data)) == 19


# ---------------------------------------------------------------- what is refused


def test_everything_wrong_is_told_at_once(refusal, tmp_path):
    fill(tmp_path, ("cat", "dog", "eel"), each=9)
    save(tmp_path / "loose.png", pixels(0))
    (tmp_path / "cat" / "notes\n.txt").write_text("x")
    (tmp_path / "cat" / "kittens").mkdir()
    (tmp_path / "cat" / "gone.png").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dog" / "bad.png").write_bytes(b"not an image")
    save(tmp_path / "dog" / "wide.png", pixels(0, SIDE, 2 * SIDE))
    save(tmp_path / "few" / "0.png", pixels(1))
    error = refusal()
    strange = ["'cat/kittens'", "'cat/gone.png'", "'cat/notes\\n.txt'"]
    assert problems_of(error) == [
        ("files-outside", "", ["'loose.png'"]),
        ("not-images", "", strange),
        ("unusable-images", "", [("'dog/bad.png'", "image-damaged")]),
        ("empty-classes", "", ["'empty'"]),
        ("size-mismatch", "", {"8x8": 28, "16x8": 1}),
        ("too-few-records", "", [("'few'", 1)]),
    ]
    names = ("'loose.png'", *strange, "'dog/bad.png'", "'empty'", "16x8: 1", "'few': 1")
    assert all(name in str(error) for name in names)


def test_a_single_class_and_no_class_are_told(refusal, tmp_path):
    assert problems_of(refusal()) == [("no-classes", "", [])]
    fill(tmp_path, ("cat",))
    assert problems_of(refusal()) == [("single-class", "", ["cat"])]


def test_classes_of_train_and_test_must_match(refusal, tmp_path):
    fill(tmp_path / "train", ("cat", "dog"))
    fill(tmp_path / "test", ("dog", "eel"), each=1)
    fill(tmp_path / "val", each=1)
    assert problems_of(refusal()) == [
        ("files-beside", "", ["'val'"]),
        ("class-mismatch", "test", ["'cat'"]),
        ("class-mismatch", "train", ["'eel'"]),
    ]


def test_sizes_must_match_between_train_and_test_too(refusal, tmp_path):
    fill(tmp_path / "train")
    fill(tmp_path / "test", each=1, shape=(SIDE, 9))
    assert problems_of(refusal()) == [("size-mismatch", "", {"8x8": 18, "9x8": 2})]


def declared(width, height):
    """A PNG that declares a size and has no pixels."""

    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


@pytest.mark.parametrize(
    ("side", "code", "said"),
    [
        (5000, "too-many-pixels", "5000x5000"),
        (60_000, "image-damaged", "decompression bomb"),
        (8, "image-damaged", "bomb.png"),
    ],
)
def test_an_image_that_declares_too_much_is_refused(refusal, tmp_path, side, code, said):
    fill(tmp_path)
    (tmp_path / "cat" / "bomb.png").write_bytes(declared(side, side))
    error = refusal()
    assert problems_of(error) == [("unusable-images", "", [("'cat/bomb.png'", code)])]
    assert said in str(error)


def test_several_frames_are_not_taken_for_one(refusal, tmp_path):
    fill(tmp_path)
    frames = [Image.fromarray(pixels(i)) for i in range(3)]
    for suffix in ("gif", "png", "tif", "webp"):
        frames[0].save(tmp_path / "cat" / f"a.{suffix}", save_all=True, append_images=frames[1:])
    names = ("'cat/a.gif'", "'cat/a.png'", "'cat/a.tif'", "'cat/a.webp'")
    frames = [(name, "several-frames") for name in names]
    assert problems_of(refusal()) == [("unusable-images", "", frames)]


@pytest.mark.parametrize(("mode", "suffix"), [("CMYK", "jpg"), ("I;16", "png"), ("F", "tif")])
def test_other_colour_modes_are_refused(refusal, tmp_path, mode, suffix):
    fill(tmp_path)
    Image.new(mode, (SIDE, SIDE)).save(tmp_path / "cat" / f"a.{suffix}")
    assert problems_of(refusal()) == [
        ("unusable-images", "", [(f"'cat/a.{suffix}'", "colour-mode")])
    ]
    with refuses("colour-mode") as caught:
        folder.pixels(tmp_path / "cat" / f"a.{suffix}")
    assert caught.value.value[0] == mode[0]  # older Pillows read I;16 as I


def test_formats_that_are_not_images_of_pixels_are_never_opened(refusal, tmp_path):
    fill(tmp_path)
    Image.fromarray(pixels(0)).save(tmp_path / "cat" / "a.eps")
    (tmp_path / "cat" / "a.eps").rename(tmp_path / "cat" / "a.png")
    error = refusal()
    assert problems_of(error) == [("unusable-images", "", [("'cat/a.png'", "image-damaged")])]
    assert "cannot identify" in str(error)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "gif", "webp", "tif"])
def test_an_image_cut_short_anywhere_is_refused_or_whole(load, tmp_path, suffix):
    """Each length in turn: the pixels are those that were saved, or they are refused."""
    fill(tmp_path, suffix=suffix, shape=(SIDE, SIDE, 3) if suffix == "webp" else ())
    good = everything(load())
    path = tmp_path / "cat" / f"0.{suffix}"
    whole = path.read_bytes()
    refused = 0
    for size in range(0, len(whole), 1 + len(whole) // 40):
        path.write_bytes(whole[:size])
        try:
            data = load()
        except BadInput as error:
            refused += "'cat/0." in str(error)
        else:
            assert everything(data) == good, size
    assert refused > 25


@pytest.mark.parametrize("link", ["eel", "cat/loop.png"])
def test_a_loop_of_links_is_told_as_such(refusal, tmp_path, link):
    fill(tmp_path)
    (tmp_path / link).symlink_to(tmp_path / link)
    assert problems_of(refusal()) == [("link-loop", "", link)]


def test_a_file_without_permission_is_told(refusal, tmp_path, monkeypatch):
    fill(tmp_path)

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Image, "open", denied)
    error = refusal()
    assert error.code == "unusable-images"
    assert error.value[0] == ("'cat/0.png'", "image-damaged")
    assert f"{tmp_path}: 18 " in str(error)
    assert "[Errno 13]" in str(error)


def test_a_folder_without_permission_is_told(refusal, tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", denied)
    error = refusal()
    assert problems_of(error) == [("file-unreadable", "", str(tmp_path))]
    assert "Permission denied" in str(error)


def test_what_is_no_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with refuses("not-a-folder", value=str(tmp_path / "file")):
        ImageFolder(tmp_path / "file").load(0)
    with refuses("folder-missing", value=str(tmp_path / "none")):
        ImageFolder(tmp_path / "none").load(0)


def test_a_pipe_is_not_waited_for(refusal, tmp_path):
    fill(tmp_path)
    os.mkfifo(tmp_path / "cat" / "pipe.png")
    assert problems_of(refusal()) == [("not-images", "", ["'cat/pipe.png'"])]


def test_a_name_that_is_no_text_is_told(refusal, tmp_path):
    fill(tmp_path)
    (tmp_path / "cat" / os.fsdecode(b"\xff.png")).write_bytes(b"x")
    assert "'cat/\\udcff.png'" in str(refusal())


def test_without_pillow_the_way_out_is_told(refusal, tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    error = refusal()
    assert problems_of(error) == [("module-missing", "", "PIL")]
    assert "install pillow" in str(error)


def test_what_does_not_fit_into_memory_is_told(refusal, tmp_path, monkeypatch):
    fill(tmp_path)

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("dpaudit.data.folder.pixels", full)
    assert refusal().code == "out-of-memory"


def test_real_images_come_back_as_they_were(real, load, tmp_path):
    stored = np.load(real("cifar10_mini.npz"))
    for part in ("train", "test"):
        for i, (x, y) in enumerate(zip(stored[f"x_{part}"], stored[f"y_{part}"], strict=True)):
            save(tmp_path / part / f"class{y}" / f"{i}.png", x)
    data = load()
    assert (data.classes, data.shape) == (10, (3, 32, 32))
    assert [len(getattr(data, part)) for part in PARTS] == [714, 286, 200]
    order = np.argsort(stored["y_test"], kind="stable")
    assert data.test.y.tolist() == stored["y_test"][order].tolist()
    mean = stored["x_test"].mean() / 255
    assert data.test.x.mean() == pytest.approx(mean, rel=1e-4)
