"""Arrays of records: problems of a user's arrays, their layouts, and hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dpaudit.checks import excerpt
from dpaudit.data.split import too_few
from dpaudit.errors import BadInput
from dpaudit.types import Array, Records

CHANNELS = (1, 3, 4)


def problems(arrays: Mapping[str, Array]) -> Iterator[BadInput]:
    """Every problem of x_train, y_train, x_test, y_test or of x, y, as far as they are there.

    Checks that need labels are made only if the labels themselves are usable.
    """
    labels: dict[str, list[int]] = {}
    for name, array in arrays.items():
        found = list(_array_problems(name, array))
        yield from found
        if name[0] == "y" and not found:
            labels[name] = _distinct(array)
    for x, y in (("x", "y"), ("x_train", "y_train"), ("x_test", "y_test")):
        if x in arrays and y in arrays:
            yield from _length_problems(x, arrays[x], y, arrays[y])
    if "x_train" in arrays and "x_test" in arrays:
        train, test = (arrays[name].shape[1:] for name in ("x_train", "x_test"))
        if train != test:
            text = f"records of x_train have the shape {train} and those of x_test {test}"
            yield _problem("x_test", f"{text}; they must be alike", "shape-mismatch", [train, test])
    for name in ("y", "y_train"):
        if name in labels:
            yield from _class_problems(name, labels[name], arrays[name])
    if {"y_train", "y_test"} <= labels.keys():
        yield from _unknown_labels(labels["y_train"], labels["y_test"])


def problems_of_few(x: Array, y: Array) -> Iterator[BadInput]:
    """Every problem of records that nothing is trained on, which may be of any classes."""
    wrong = [*_array_problems("x", x), *_array_problems("y", y), *_length_problems("x", x, "y", y)]
    yield from wrong
    if not wrong and (least := _distinct(y)[0]) < 0:
        yield _negative("y", least)


def form_problems(name: str, array: Array) -> Iterator[BadInput]:
    """Every problem of an array that its shape and type show; values are not read."""
    is_x, shape, dtype = name[0] == "x", array.shape, array.dtype
    if dtype.kind not in ("bf" if is_x else "biuf") and not (is_x and dtype == np.uint8):
        way_out = "save images as uint8 (0 to 255, read as 0 to 1), all else as scaled float32"
        text = f"{name} has the type {dtype}; {way_out if is_x else 'labels are whole numbers'}"
        yield _problem(name, text, "wrong-type", str(dtype))
    if array.size == 0:
        yield _problem(name, f"{name} is empty (its shape is {shape})", "array-empty", shape)
    elif is_x and array.ndim not in (2, 3) and _channel_axis(shape) is None:
        text = f"{name} has the shape {shape}; records are (n, features), (n, height, width) or "
        text += "images with 1, 3 or 4 channels, first or last"
        yield _problem(name, text, "wrong-shape", shape)
    elif not is_x and array.ndim != 1 and shape[1:] != (1,):
        hint = "; for one-hot labels save y.argmax(axis=1)" if array.ndim == 2 else ""
        text = f"{name} has the shape {shape}; labels are (n,) or (n, 1){hint}"
        yield _problem(name, text, "wrong-shape", shape)


def _array_problems(name: str, array: Array) -> Iterator[BadInput]:
    """Every problem of one array: of its form or, if that is sound, of its values."""
    wrong = list(form_problems(name, array))
    yield from wrong
    if wrong:
        return
    if name[0] == "x" and array.dtype.kind == "f":
        # No copy of what is float32 already.
        finite = np.isfinite(array if array.dtype == np.float32 else _as_float(array))
        if bad := array.size - np.count_nonzero(finite):
            text = f"{name} has {bad} of {array.size} values that are NaN, infinite or beyond "
            text += "float32; correct them or leave those records out"
            yield _problem(name, text, "not-finite", int(bad))
    if name[0] == "y" and (
        bad := np.count_nonzero(~np.isfinite(array) | (np.trunc(array) != array))
    ):
        text = f"{name} has {bad} labels that are not whole numbers"
        yield _problem(name, text, "not-whole", int(bad))


def _length_problems(x_name: str, x: Array, y_name: str, y: Array) -> Iterator[BadInput]:
    if x.ndim and y.ndim and len(x) != len(y):
        text = f"{x_name} has {len(x)} records but {y_name} has {len(y)} labels; they must match"
        yield _problem(x_name, text, "length-mismatch", [len(x), len(y)])


def _class_problems(name: str, labels: list[int], y: Array) -> Iterator[BadInput]:
    missing = next((c for c, label in enumerate(labels) if c != label), None)
    if labels[0] < 0:
        yield _negative(name, labels[0])
    elif missing is not None:
        text = f"{name} has labels up to {labels[-1]} but no record of class {missing}; "
        text += "number the classes 0, 1, 2 and so on without a gap"
        yield _problem(name, text, "class-gap", missing)
    elif len(labels) < 2:
        text = f"{name} has a single class; an audit needs at least 2"
        yield _problem(name, text, "single-class", None)
    else:
        yield from too_few(name, _as_int(y), len(labels))


def _unknown_labels(train: list[int], test: list[int]) -> Iterator[BadInput]:
    if unknown := sorted(set(test) - set(train)):
        text = f"y_test has labels that y_train lacks ({excerpt(unknown)}); leave those records out"
        yield _problem("y_test", text, "unknown-labels", unknown[:5])


def _negative(name: str, label: int) -> BadInput:
    text = f"{name} has the label {label}; number the classes 0, 1, 2 and so on"
    return _problem(name, text, "negative-label", label)


def _problem(name: str, text: str, code: str, value: object) -> BadInput:
    return BadInput(text, code, option=name, value=value)


def _distinct(y: Array) -> list[int]:
    """The distinct labels in order, as Python's integers because these cannot overflow."""
    return [int(label) for label in np.unique(y)]


def as_records(x: Array, y: Array) -> Records:
    """Arrays without problems as records in the layout and types that dpaudit uses."""
    return Records(_channels_first(_as_float(x)), _as_int(y))


def as_given(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Records in the layout and type of a user's own: the inverse of `as_records`.

    `shape` is that of one of the user's records. Values are rounded to bytes or booleans.
    """
    last = _channel_axis((1, *shape)) == 3
    values = (np.moveaxis(x, 1, 3) if last else x).reshape(len(x), *shape)
    if dtype == np.uint8:
        values = np.rint(np.clip(values, 0, 1) * 255)
    elif dtype.kind == "b":
        values = values > 0.5
    return np.ascontiguousarray(values.astype(dtype))


def _as_float(x: Array) -> Array:
    # Values that float32 cannot hold become infinite, and are found as such.
    with np.errstate(over="ignore", invalid="ignore"):
        values = x.astype(np.float32)
    return values / np.float32(255) if x.dtype == np.uint8 else values


def _as_int(y: Array) -> Array:
    return y.reshape(-1).astype(np.int64)


def _channels_first(x: Array) -> Array:
    if x.ndim == 2:
        return x[:, None, None, :]
    if x.ndim == 3:
        return x[:, None]
    return np.ascontiguousarray(np.moveaxis(x, _channel_axis(x.shape) or 1, 1))


def _channel_axis(shape: tuple[int, ...]) -> int | None:
    """1 or 3 for images with channels first or last; first if both are possible."""
    if len(shape) != 4:
        return None
    return next((axis for axis in (1, 3) if shape[axis] in CHANNELS), None)


def hash_arrays(text: str, /, *parts: Records, **arrays: Array) -> str:
    """SHA-256 of a text and of all records and arrays: shapes, types and bytes."""
    digest = hashlib.sha256(text.encode())
    unnamed = [("", array) for part in parts for array in (part.x, part.y)]
    for name, array in [*unnamed, *((f"{name} ", arrays[name]) for name in sorted(arrays))]:
        digest.update(f"; {name}{array.shape} {array.dtype.str} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def record_hashes(x: Array) -> list[bytes]:
    """A short hash of the values of each record, to find equal ones."""
    rows = np.ascontiguousarray(x)
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows]
