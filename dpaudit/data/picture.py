"""One image file: its pixels as they are, or why they are not taken."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.types import Array

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
