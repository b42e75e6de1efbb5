"""A user's folder of images: one folder a class, each image checked before its pixels are read."""

from __future__ import annotations

import errno
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np

from dpaudit.checks import excerpt, refuse
from dpaudit.data.arrays import as_records
from dpaudit.data.split import split, too_few
from dpaudit.errors import BadInput
from dpaudit.files import add_path
from dpaudit.protocols import Loader
from dpaudit.types import Array, Data, Records

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")
"""Accepted formats. Pillow reads more, and some of those start other programs."""

MOST_PIXELS = 4096 * 4096
"""Of one image. A few bytes can declare far more, and fill the memory when they are unpacked."""

LAYOUT = "put the images of each class into a folder of its own, FOLDER/<class>/*.png"
TRAIN, TEST = "train", "test"


@dataclass(frozen=True)
class ImageFolder(Loader):
    """Your own images: a folder with one folder of images per class, FOLDER/<class>/*.png.

    Give the folder's path, such as --data ./images. The classes are numbered 0, 1, 2 in the
    order of their folders' names. Images end in .png, .jpg, .jpeg, .bmp, .gif, .webp, .tif or
    .tiff, have 8 bits a channel and one frame, and are all of one size; they are divided by
    255, into [0, 1], and are grey if all files are grey ones, else all RGB. An alpha channel
    must be opaque, and is dropped; rotation tags are not applied.

    The seed splits the images of each class alike: 1000 parts in 1797 become the pool for D,
    400 shadow models' own and 397 the test set; each class needs at least 9. Or give a test set
    of your own: where FOLDER has the folders train and test, the classes are in those (the same
    in both), and train is split into 5 parts in 7 for the pool and 2 for shadow models.

    Files whose names start with a dot are ignored, links are followed, and anything else that
    is not an image in a class's folder is refused. All problems are reported at once.
    """

    path: str | os.PathLike[str]

    def load(self, seed: int) -> Data:
        path = Path(os.path.expanduser(self.path))
        with add_path(path):
            if not os.path.isdir(path):
                there = os.path.exists(path)
                text = "it is not a folder" if there else "there is no such folder"
                code = "not-a-folder" if there else "folder-missing"
                raise BadInput(f"{text}; check the path", code, value=str(path))
            try:
                import_module("PIL.Image")
                return _data(path, seed)
            except ImportError as error:
                text = "images are read with Pillow, which does not import; pip install pillow"
                raise BadInput(text, "module-missing", value="PIL") from error
            except OSError as error:
                if error.errno == errno.ELOOP:
                    link = os.path.relpath(error.filename or path, path)
                    text = f"{_shown(link)} is in a loop of symbolic links; delete it"
                    raise BadInput(text, "link-loop", value=link) from error
                text = f"it cannot be read ({error.strerror or error}); check its permissions"
                raise BadInput(text, "file-unreadable", value=str(path)) from error


def class_names(path: Path) -> tuple[list[str], bool]:
    """The names of a folder's classes, in the order of their numbers; whether it has a test set."""
    folders, _ = _listing(path)
    tested = TRAIN in folders and TEST in folders
    return (_listing(path / TRAIN)[0] if tested else folders), tested


def _data(path: Path, seed: int) -> Data:
    classes, tested = class_names(path)
    parts = [_scan(path, name) for name in ((TRAIN, TEST) if tested else ("",))]
    refuse([*(_mismatch(path, *parts) if tested else ()), *_problems(parts)])
    colour = any(image.ndim == 3 for part in parts for image in part.images)
    train, *test = (_records(part, colour) for part in parts)
    name = path.resolve().name or str(path)
    return split(name, train, len(classes), seed, test=test[0] if tested else None)


def _records(part: _Part, colour: bool) -> Records:
    height, width = part.images[0].shape[:2]
    x = np.empty((len(part.images), height, width, 3 if colour else 1), np.uint8)
    for i, image in enumerate(part.images):
        x[i] = image if image.ndim == 3 else image[..., None]
    # Channels first here: an image that is 1, 3 or 4 pixels high could be taken for such.
    return as_records(np.moveaxis(x, 3, 1), np.array(part.labels))


@dataclass
class _Part:
    """A folder of classes: its images in order, and the names of all that is wrong there."""

    classes: list[str]
    outside: list[str]
    images: list[Array] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    not_images: list[str] = field(default_factory=list)
    unusable: list[tuple[str, BadInput]] = field(default_factory=list)


def _scan(root: Path, part: str) -> _Part:
    base = root / part
    classes, files = _listing(base)
    found = _Part(classes, [_shown(part, file) for file in files])
    for label, name in enumerate(classes):
        folders, files = _listing(base / name)
        found.not_images += [_shown(part, name, folder) for folder in folders]
        before = len(found.labels)
        for file in files:
            image = base / name / file
            if not file.lower().endswith(SUFFIXES) or not image.is_file():
                found.not_images.append(_shown(part, name, file))
                continue
            found.labels.append(label)
            try:
                found.images.append(pixels(image))
            except BadInput as error:
                found.unusable.append((_shown(part, name, file), error))
        if len(found.labels) == before:
            found.empty.append(_shown(part, name))
    return found


def _listing(folder: Path) -> tuple[list[str], list[str]]:
    """The names of folders and of files, sorted: no file system decides the order."""
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                (folders if entry.is_dir() else files).append(entry.name)
    return sorted(folders), sorted(files)


def _shown(*parts: str) -> str:
    """A relative path as its repr: a name may hold a line break, or bytes that are no text."""
    return repr("/".join(part for part in parts if part))


def pixels(path: Path) -> Array:
    """The image as uint8: (height, width) if it is grey, (height, width, 3) if not.

    An image is grey by its mode (1, L, LA, or P with greys only). An alpha channel is dropped if
    it is opaque everywhere, and refused otherwise: what shows through is not known.
    """
    try:
        with warnings.catch_warnings():
            # Pillow's warnings (odd metadata, large images) are checked below or harmless.
            warnings.simplefilter("ignore")
            return _pixels(path)
    except (BadInput, MemoryError):
        raise
    except Exception as error:
        # A damaged image makes Pillow raise nearly anything, SyntaxError among it.
        reason = " ".join(str(error).replace(f"{str(path)!r}", "it").split())[:120]
        text = f"damaged or no image: {reason or type(error).__name__}"
        raise BadInput(text, "image-damaged") from error


def _pixels(path: Path) -> Array:
    from PIL import Image

    with Image.open(path, formats=FORMATS) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            text = f"{width}x{height} pixels are too many"
            raise BadInput(text, "too-many-pixels", value=(width, height))
        if getattr(image, "n_frames", 1) > 1:
            raise BadInput("more than one frame", "several-frames")
        image.load()
        if "A" in image.getbands() or "transparency" in image.info:
            if image.convert("RGBA").getchannel("A").getextrema() != (255, 255):
                raise BadInput("transparent in places", "not-opaque")
        elif image.mode not in ("1", "L", "P", "RGB"):
            raise BadInput(f"colour mode {image.mode}", "colour-mode", value=image.mode)
        grey = image.mode in ("1", "L", "LA")
        array = np.array(image.convert("L" if grey else "RGB"), dtype=np.uint8)
        # A GIF is grey if its palette is.
        if image.mode == "P" and (array == array[..., :1]).all():
            return array[..., 0]
        return array


def _problems(parts: Sequence[_Part]) -> Iterator[BadInput]:
    """Every problem of the parts together; the first is trained on."""
    if outside := [name for part in parts for name in part.outside]:
        text = f"{len(outside)} files lie outside a class's folder ({excerpt(outside)}); {LAYOUT}"
        yield BadInput(text, "files-outside", value=outside[:5])
    if strange := [name for part in parts for name in part.not_images]:
        text = f"{len(strange)} entries of class folders are no image files ({excerpt(strange)}); "
        text += f"leave only files there that end in {', '.join(SUFFIXES)}"
        yield BadInput(text, "not-images", value=strange[:5])
    if unusable := [it for part in parts for it in part.unusable]:
        cited = excerpt([f"{name}: {error}" for name, error in unusable])
        text = f"{len(unusable)} images cannot be used ({cited}); save them again as single "
        text += "opaque 8-bit grey or RGB images, or leave them out"
        codes = [(name, error.code) for name, error in unusable[:5]]
        yield BadInput(text, "unusable-images", value=codes)
    if empty := [name for part in parts for name in part.empty]:
        text = f"{len(empty)} class folders have no image ({excerpt(empty)}); fill or delete them"
        yield BadInput(text, "empty-classes", value=empty[:5])
    sizes = Counter(image.shape[:2] for part in parts for image in part.images).most_common()
    if len(sizes) > 1:
        counts = {f"{width}x{height}": count for (height, width), count in sizes}
        cited = excerpt([f"{size}: {count}" for size, count in counts.items()])
        text = f"images have different sizes ({cited}); scale them all to one"
        yield BadInput(text, "size-mismatch", value=dict(list(counts.items())[:5]))
    classes, labels = parts[0].classes, parts[0].labels
    if len(classes) < 2:
        known = f"a single class, {_shown(classes[0])}" if classes else "no class"
        text = f"it has {known}; an audit needs at least 2: {LAYOUT}"
        yield BadInput(text, "single-class" if classes else "no-classes", value=classes)
    elif labels:
        # Empty classes have a problem of their own.
        names = [_shown(classes[label]) for label in sorted(set(labels))]
        y = np.unique(labels, return_inverse=True)[1]
        yield from too_few("it", y, len(names), names)


def _mismatch(path: Path, train: _Part, test: _Part) -> Iterator[BadInput]:
    """Every problem of a folder with the folders train and test."""
    folders, files = _listing(path)
    if beside := [_shown(name) for name in (*folders, *files) if name not in (TRAIN, TEST)]:
        text = f"it has more than train and test ({excerpt(beside)}); move that elsewhere"
        yield BadInput(text, "files-beside", value=beside[:5])
    for here, there, where in ((train, test, TEST), (test, train, TRAIN)):
        if missing := [_shown(c) for c in here.classes if c not in there.classes]:
            text = f"{where} has no folder for the classes {excerpt(missing)}; they must match"
            yield BadInput(text, "class-mismatch", option=where, value=missing[:5])
