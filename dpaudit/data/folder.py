"""One image file: its pixels as they are, or why they are not taken."""

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

from dpaudit.checks import listed, refuse
from dpaudit.data.arrays import as_records
from dpaudit.data.split import split, too_few
from dpaudit.errors import BadInput
from dpaudit.protocols import Loader
from dpaudit.types import Array, Data, Records

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF")
"""What may be inside. Pillow knows more, some of which start other programs."""

MOST_PIXELS = 4096 * 4096
"""Of one image. A few bytes can declare far more, and fill the memory when they are unpacked."""


def pixels(path: Path) -> Array:
    """The image as uint8: (height, width) if it is grey, (height, width, 3) if not.

    Grey is what the file says is grey (mode 1, L, LA, or P with greys only). An alpha channel
    is dropped where it is opaque everywhere; otherwise what shows through is not known, and
    nothing is guessed.
    """
    try:
        with warnings.catch_warnings():
            # What Pillow only warns of (odd metadata, large images) is checked or harmless.
            warnings.simplefilter("ignore")
            return _pixels(path)
    except (BadInput, MemoryError):
        raise
    except Exception as error:
        # A damaged image makes Pillow raise nearly anything, SyntaxError among it.
        reason = " ".join(str(error).replace(f"{str(path)!r}", "it").split())[:120]
        said = f"damaged or no image: {reason or type(error).__name__}"
        raise BadInput(said, "image-damaged") from error


def _pixels(path: Path) -> Array:
    # Here, because Pillow takes a while to import and `dpaudit list` has no time.
    from PIL import Image

    with Image.open(path, formats=FORMATS) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            raise BadInput(
                f"{width}x{height} pixels are too many", "too-many-pixels", value=(width, height)
            )
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
        # A palette of greys is grey: it is how a GIF says it.
        if image.mode == "P" and (array == array[..., :1]).all():
            return array[..., 0]
        return array


# ----------------------------------------------------------------
# A user's own images, one folder a class.


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
        if not os.path.isdir(path):
            there = os.path.exists(path)
            said = "it is not a folder" if there else "there is no such folder"
            code = "not-a-folder" if there else "folder-missing"
            raise BadInput(f"{path}: {said}; check the path", code, value=str(path))
        try:
            import_module("PIL.Image")
            return _data(path, seed)
        except ImportError as error:
            said = "images are read with Pillow, which does not import; pip install pillow"
            raise BadInput(f"{path}: {said}", "module-missing", value="PIL") from error
        except MemoryError as error:
            said = "it does not fit into memory; use fewer images"
            raise BadInput(f"{path}: {said}", "out-of-memory", value=str(path)) from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                link = os.path.relpath(error.filename or path, path)
                said = f"{_shown(link)} is in a loop of symbolic links; delete it"
                raise BadInput(f"{path}: {said}", "link-loop", value=link) from error
            said = f"it cannot be read ({error.strerror or error}); check its permissions"
            raise BadInput(f"{path}: {said}", "file-unreadable", value=str(path)) from error


def class_names(path: Path) -> tuple[list[str], bool]:
    """The names of a folder's classes, in the order of their numbers; whether it has a test set."""
    folders, _ = _listing(path)
    tested = TRAIN in folders and TEST in folders
    return (_listing(path / TRAIN)[0] if tested else folders), tested


@dataclass
class _Found:
    """What a folder of classes holds: its images in order, and all that is wrong there."""

    classes: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    images: list[Array] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    refused: list[tuple[str, BadInput]] = field(default_factory=list)


def _data(path: Path, seed: int) -> Data:
    name = path.resolve().name or str(path)
    folders, _ = _listing(path)
    if TRAIN in folders and TEST in folders:
        train, test = _found(path, TRAIN), _found(path, TEST)
        refuse([*_beside(path), *_problems([train, test]), *_mismatch(train, test)], str(path))
        colour = _colour([train, test])
        given = _records(test, colour)
    else:
        train, given = _found(path), None
        refuse(_problems([train]), str(path))
        colour = _colour([train])
    return split(name, _records(train, colour), len(train.classes), seed, test=given)


# ---------------------------------------------------------------- what is there


def _found(root: Path, part: str = "") -> _Found:
    found = _Found()
    base = root / part
    found.classes, files = _listing(base)
    found.outside = [_shown(part, file) for file in files]
    for label, name in enumerate(found.classes):
        inside, files = _listing(base / name)
        found.strange += [_shown(part, name, folder) for folder in inside]
        before = len(found.labels)
        for file in files:
            image = base / name / file
            if not file.lower().endswith(SUFFIXES) or not image.is_file():
                found.strange.append(_shown(part, name, file))
                continue
            found.labels.append(label)
            try:
                found.images.append(pixels(image))
            except BadInput as error:
                found.refused.append((_shown(part, name, file), error))
        if len(found.labels) == before:
            found.empty.append(_shown(part, name))
    return found


def _listing(folder: Path) -> tuple[list[str], list[str]]:
    """Folders and files by their names, in an order that no file system decides."""
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith("."):
                (folders if entry.is_dir() else files).append(entry.name)
    return sorted(folders), sorted(files)


def _shown(*parts: str) -> str:
    # As repr does it, because a name may hold a line break or what is no text at all.
    return repr("/".join(part for part in parts if part))


# ---------------------------------------------------------------- what is wrong


def _problems(parts: Sequence[_Found]) -> Iterator[BadInput]:
    """Every problem of the parts together; the first is what is trained on."""
    if outside := [name for part in parts for name in part.outside]:
        said = f"{len(outside)} files lie outside a class's folder ({listed(outside)}); {LAYOUT}"
        yield BadInput(said, "files-outside", value=outside[:5])
    if strange := [name for part in parts for name in part.strange]:
        yield BadInput(
            f"{len(strange)} entries of class folders are no image files ({listed(strange)}); "
            f"leave only files there that end in {', '.join(SUFFIXES)}",
            "not-images",
            value=strange[:5],
        )
    if refused := [it for part in parts for it in part.refused]:
        cited = listed([f"{name}: {error}" for name, error in refused])
        yield BadInput(
            f"{len(refused)} images cannot be used ({cited}); save them again as single "
            "opaque 8-bit grey or RGB images, or leave them out",
            "unusable-images",
            value=[(name, error.code) for name, error in refused[:5]],
        )
    if empty := [name for part in parts for name in part.empty]:
        said = f"{len(empty)} class folders have no image ({listed(empty)}); fill or delete them"
        yield BadInput(said, "empty-classes", value=empty[:5])
    sizes = Counter(image.shape[:2] for part in parts for image in part.images)
    if len(sizes) > 1:
        counted = {f"{w}x{h}": count for (h, w), count in sizes.most_common()}
        cited = listed([f"{size}: {count}" for size, count in counted.items()])
        said = f"images have different sizes ({cited}); scale them all to one"
        yield BadInput(said, "size-mismatch", value=dict(list(counted.items())[:5]))
    first = parts[0]
    if len(first.classes) < 2:
        known = f"a single class, {_shown(first.classes[0])}" if first.classes else "no class"
        said = f"it has {known}; an audit needs at least 2: {LAYOUT}"
        yield BadInput(said, "single-class" if first.classes else "no-classes", value=first.classes)
    elif first.labels:
        # Of those that are not empty: these were named already.
        names = [_shown(first.classes[label]) for label in sorted(set(first.labels))]
        y = np.unique(first.labels, return_inverse=True)[1]
        yield from too_few("it", y, len(names), names)


def _mismatch(train: _Found, test: _Found) -> Iterator[BadInput]:
    for here, there, where in ((train, test, TEST), (test, train, TRAIN)):
        if missing := [_shown(c) for c in here.classes if c not in there.classes]:
            said = f"{where} has no folder for the classes {listed(missing)}; they must match"
            yield BadInput(said, "class-mismatch", option=where, value=missing[:5])


def _beside(path: Path) -> Iterator[BadInput]:
    folders, files = _listing(path)
    if beside := [_shown(name) for name in (*folders, *files) if name not in (TRAIN, TEST)]:
        said = f"it has more than train and test ({listed(beside)}); move that elsewhere"
        yield BadInput(said, "files-beside", value=beside[:5])


# ---------------------------------------------------------------- what it is


def _colour(parts: Sequence[_Found]) -> bool:
    return any(image.ndim == 3 for part in parts for image in part.images)


def _records(found: _Found, colour: bool) -> Records:
    height, width = found.images[0].shape[:2]
    x = np.empty((len(found.images), height, width, 3 if colour else 1), np.uint8)
    for i, image in enumerate(found.images):
        x[i] = image if image.ndim == 3 else image[..., None]
    # Channels first here: an image that is 1, 3 or 4 pixels high could be taken for such.
    return as_records(np.moveaxis(x, 3, 1), np.array(found.labels))
