import csv
import gzip
import io
import re
import tracemalloc

import numpy as np
import pytest
from refusals import problems_of, refuses

from dpaudit.data import csv_text
from dpaudit.data.csv_table import Csv
from dpaudit.errors import BadInput

PARTS = ("pool", "shadow", "test")


def people(n=60):
    """Rows of a good table: a number, two categories, a class."""
    return [
        [str(17 + i % 50), ["red", "blue", ""][i % 3], str(i % 4), ["no", "yes"][i % 2]]
        for i in range(n)
    ]


HEADER = ["age", "colour", "rooms", "rich"]
GOOD = {"label": "rich", "bounds": ["age=0:100"]}


def text_of(rows, header=HEADER, **style):
    file = io.StringIO(newline="")
    csv.writer(file, **style).writerows([header, *rows])
    return file.getvalue()


@pytest.fixture
def load(tmp_path):
    def loader(content, name="own.csv", seed=0, **options):
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(raw)
        return Csv(tmp_path / name, **{**GOOD, **options}).load(seed)

    return loader


@pytest.fixture
def refusal(load, tmp_path):
    """The error for a file of this content: one line that begins with the path."""

    def error(content, name="own.csv", **options):
        with pytest.raises(BadInput) as caught:
            load(content, name, **options)
        assert str(caught.value).startswith(f"{tmp_path / name}: ")
        assert str(caught.value).isprintable()
        return caught.value

    return error


def sentence(error):
    """What a user reads, without the path in front."""
    return str(error).split(": ", 1)[1]


def numbers(error):
    """The numbers that a user reads."""
    return re.findall(r"\d+", sentence(error))


def everything(data):
    """All records of a data set as sorted rows, the label last."""
    rows = [
        [*x.reshape(-1).tolist(), int(y)]
        for part in PARTS
        for x, y in zip(getattr(data, part).x, getattr(data, part).y, strict=True)
    ]
    return sorted(rows)


# ---------------------------------------------------------------- what is accepted


def test_numbers_are_scaled_by_their_bounds_and_categories_are_one_feature_each(load):
    rows = people()
    data = load(text_of(rows))
    assert (data.name, data.classes, data.shape) == ("own.csv", 2, (1, 1, 1 + 3 + 4))
    assert sum(len(getattr(data, part)) for part in PARTS) == 60
    expected = sorted(
        [
            float(np.float32(int(age) / 100)),
            *(float(colour == it) for it in ("", "blue", "red")),
            *(float(rooms == it) for it in "0123"),
            ["no", "yes"].index(rich),
        ]
        for age, colour, rooms, rich in rows
    )
    assert everything(data) == expected
    assert (data.pool.x.dtype, data.pool.y.dtype) == (np.float32, np.int64)


def test_values_beyond_the_bounds_are_clipped(load):
    data = load(text_of(people()), bounds=["age=20:30"], ignore=["colour", "rooms"])
    ages = sorted(row[0] for row in everything(data))
    expected = sorted((min(max(int(row[0]), 20), 30) - 20) / 10 for row in people())
    assert ages == pytest.approx(expected)


@pytest.mark.parametrize("bounds", ["age=-1e3:1e3", " age = 0 : 100 ", "age=.5:6e1"])
def test_bounds_may_be_any_numbers(load, bounds):
    assert load(text_of(people()), bounds=[bounds]).shape == (1, 1, 8)


def test_a_column_name_may_hold_an_equals_sign(load):
    header = ["a=b", *HEADER[1:]]
    assert load(text_of(people(), header), bounds=["a=b=0:100"]).shape == (1, 1, 8)


def test_classes_and_categories_that_are_numbers_are_in_the_order_of_numbers(load):
    rows = [[f"{(9, 10, 100)[i % 3]}", f"{(9, 10)[i % 2]}"] for i in range(60)]
    data = load(text_of(rows, ["a", "b"]), label="b", bounds=[])
    nine = [row for row in everything(data) if row[0] == 1]
    assert data.shape == (1, 1, 3)
    assert len(nine) == 20
    assert {row[-1] for row in nine} == {0, 1}
    assert (sum(row[-1] for row in everything(data))) == 30


def test_one_and_one_point_zero_are_the_same_number(load):
    rows = [[("1", "1.0", "2")[i % 3], ("0", "1", "1.0")[i % 3]] for i in range(60)]
    data = load(text_of(rows, ["a", "b"]), label="b", bounds=[])
    assert (data.shape, data.classes) == ((1, 1, 2), 2)


def test_few_numbers_are_categories_and_twenty_are_few(load, refusal):
    rows = [[f"{i % 20}", f"{i % 2}"] for i in range(100)]
    assert load(text_of(rows, ["a", "b"]), label="b", bounds=[]).shape == (1, 1, 20)
    rows[0][0] = "20"
    error = refusal(text_of(rows, ["a", "b"]), label="b", bounds=[])
    assert problems_of(error) == [("needs-bounds", "bounds", ["a"])]
    assert numbers(error) == ["20"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("\r\n", "\n"),
        lambda text: text.replace("\r\n", "\n\n"),
        lambda text: text.replace("red", '"red"').replace("age", '"age"'),
        lambda text: text.replace("red", ' "red"'),
        lambda text: text.rstrip(),
    ],
)
def test_the_same_table_in_another_dress_is_the_same_data(load, change):
    plain = text_of(people())
    assert change(plain) != plain
    assert everything(load(change(plain))) == everything(load(plain))


def test_a_compressed_file_is_the_same_data(load):
    plain = text_of(people())
    packed = load(gzip.compress(plain.encode()), "own.csv.gz")
    assert everything(packed) == everything(load(plain))
    assert packed.name == "own.csv.gz"


def test_cells_may_hold_delimiters_line_breaks_and_any_letters(load):
    rows = [[("a,b", "c\nd", "é;ü")[i % 3], "xy"[i % 2]] for i in range(60)]
    assert load(text_of(rows, ["a", "b"]), label="b", bounds=[]).shape == (1, 1, 3)


def test_ignored_columns_may_hold_anything(load):
    rows = [[f"{i}.5", "", f"{i % 2}", f"{i % 3}"] for i in range(60)]
    options = {"label": "b", "bounds": [], "ignore": ["id", "note"]}
    assert load(text_of(rows, ["id", "note", "b", "c"]), **options).shape == (1, 1, 3)


def test_the_split_follows_the_seed(load):
    first, again, other = (load(text_of(people()), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.pool.x, again.pool.x)
    assert not np.array_equal(first.pool.x, other.pool.x)


# ---------------------------------------------------------------- names


def test_a_missing_label_is_told_with_the_columns(refusal):
    error = refusal(text_of(people()), label=None)
    assert problems_of(error) == [("needs-label", "label", None)]
    assert "'age', 'colour', 'rooms', 'rich'" in sentence(error)


def test_every_unknown_column_is_told_at_once(refusal):
    error = refusal(text_of(people()), label="rch", bounds=["agee=0:1"], ignore=["zzz"])
    assert problems_of(error) == [
        ("unknown-column", "label", "rch"),
        ("unknown-column", "bounds", "agee"),
        ("unknown-column", "ignore", "zzz"),
    ]
    for problem, meant in zip(error.problems, ("'rich'", "'age'", "'age', 'colour'"), strict=True):
        assert meant in str(problem)


@pytest.mark.parametrize(
    "text",
    ["age", "age=", "age=5", "=0:1", "age=0:1:2", "age=a:b", "age=0-1", "age=nan:1", "age=0:inf",
     "age=:", "age=1_0:20", "", "0:1"],
)  # fmt: skip
def test_bounds_that_cannot_be_read_are_told(refusal, text):
    error = refusal(text_of(people()), bounds=[text])
    assert problems_of(error) == [("not-bounds", "bounds", text)]


@pytest.mark.parametrize("text", ["age=1:1", "age=2:1", "age=-1e308:1e308"])
def test_bounds_without_room_between_them_are_told(refusal, text):
    error = refusal(text_of(people()), bounds=[text])
    assert problems_of(error) == [("empty-interval", "bounds", text)]


def test_bounds_are_stated_once(refusal):
    error = refusal(text_of(people()), bounds=["age=0:1", "age=0:2"])
    assert problems_of(error) == [("stated-twice", "bounds", "age")]


def test_a_column_has_one_role(refusal):
    bounds = ["age=0:100", "rich=0:1"]
    error = refusal(text_of(people()), bounds=bounds, ignore=["rich", "age"])
    assert problems_of(error) == [
        ("two-roles", "bounds", "rich"),
        ("two-roles", "ignore", "rich"),
        ("two-roles", "ignore", ["age", "rich"]),
    ]


def test_something_must_be_left_to_learn_from(refusal):
    error = refusal(text_of(people()), bounds=[], ignore=HEADER[:3])
    assert problems_of(error) == [("no-features", "ignore", None)]


def test_a_header_names_each_column_once(refusal):
    error = refusal(text_of(people(), ["", "rich", "age", "rich"]))
    assert problems_of(error) == [("column-nameless", "", [1]), ("column-twice", "", ["rich"])]
    assert "index=False" in str(error.problems[0])


def test_names_and_values_cannot_paint_the_terminal(refusal):
    refusal(text_of(people(), ["\x1b[2J", *HEADER[1:]]), label="x", bounds=[])
    rows = people()
    rows[3][0] = "\x1b[2J" + "x" * 9999
    assert len(sentence(refusal(text_of(rows)))) < 300


# ---------------------------------------------------------------- values


def test_numbers_without_bounds_are_named_together_and_their_range_is_not_told(refusal):
    rows = [[f"{1000 + i}", f"{2000 + i}.5", *row[1:]] for i, row in enumerate(people())]
    header = ["age", "hours", *HEADER[1:]]
    error = refusal(text_of(rows, header), bounds=[])
    assert problems_of(error) == [("needs-bounds", "bounds", ["age", "hours"])]
    assert "'age', 'hours'" in sentence(error)
    assert "--bounds age=LOW:HIGH" in sentence(error)
    assert numbers(error) == ["20"]


@pytest.mark.parametrize("odd", ["?", "", "NA"])
def test_numbers_with_gaps_or_commas_are_numbers_still(refusal, odd):
    rows = [[f"{i},5" if i else odd, "ab"[i % 2]] for i in range(60)]
    error = refusal(text_of(rows, ["a", "b"], delimiter=";"), label="b", bounds=[])
    assert problems_of(error) == [("needs-bounds", "bounds", ["a"])]
    assert "--bounds a=" in sentence(error)


def test_empty_and_odd_cells_of_a_number_are_told_with_their_lines(refusal):
    rows = people()
    for at, cell in ((0, ""), (5, " "), (6, "old"), (7, "nan"), (8, "-inf"), (9, "1_0")):
        rows[at][0] = cell
    error = refusal(text_of(rows))
    assert problems_of(error) == [
        ("empty-cells", "age", [2, 7]),
        ("not-a-number", "age", [(8, "old"), (9, "nan"), (10, "-inf"), (11, "1_0")]),
    ]
    assert re.findall(r"\d+", str(error.problems[0])) == ["2", "2", "7"]
    assert "line 10: '-inf'" in sentence(error)


def test_lines_are_those_that_an_editor_shows(refusal):
    rows = people()
    rows[0][1] = "two\nlines"
    rows[1][0] = "old"
    assert problems_of(refusal(text_of(rows))) == [("not-a-number", "age", [(4, "old")])]


def test_an_empty_label_is_told_with_its_lines(refusal):
    rows = people()
    rows[0][3] = rows[2][3] = ""
    error = refusal(text_of(rows))
    assert problems_of(error) == [("empty-cells", "rich", [2, 4])]
    assert numbers(error) == ["2", "2", "4"]


def test_a_label_of_one_class_is_told(refusal):
    error = refusal(text_of([[*row[:3], "no"] for row in people()]))
    assert problems_of(error) == [("single-class", "rich", "no")]


def test_a_label_that_names_single_records_is_told(refusal):
    rows = [["a", f"{i}"] for i in range(1001)]
    error = refusal(text_of(rows, ["a", "b"]), label="b", bounds=[])
    assert problems_of(error) == [("too-many-classes", "b", 1001)]
    assert numbers(error) == ["1001", "1000"]


def test_small_classes_are_told_by_their_names(refusal):
    error = refusal(text_of([*people(), ["20", "red", "1", "perhaps"]]))
    assert problems_of(error) == [("too-few-records", "", [("'perhaps'", 1)])]
    assert "'rich'" in sentence(error)
    assert "'perhaps': 1" in sentence(error)


def test_too_many_features_are_told_with_the_columns_that_make_them(refusal):
    rows = [[f"id{i}", "cd"[i % 2], "ab"[i % 2]] for i in range(10_000)]
    error = refusal(text_of(rows, ["a", "c", "b"]), label="b", bounds=[])
    assert problems_of(error) == [("too-many-features", "", 10_002)]
    assert "10000 ('a': 10000, 'c': 2)" in sentence(error)


# ---------------------------------------------------------------- files


def test_ragged_rows_are_told_with_their_lines_beside_other_problems(refusal):
    rows = people()
    rows[1] = rows[1][:3]
    rows[4] = [*rows[4], "more"]
    rows[6][0] = "old"
    error = refusal(text_of(rows))
    assert problems_of(error) == [
        ("ragged-rows", "", [(3, 3), (6, 5)]),
        ("not-a-number", "age", [(8, "old")]),
    ]
    assert re.findall(r"\d+", str(error.problems[0])) == ["2", "4", "3", "3", "6", "5"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_told(refusal, content):
    assert problems_of(refusal(content)) == [("file-empty", "", None)]


def test_a_header_alone_is_told(refusal):
    assert problems_of(refusal(text_of([]))) == [("no-records", "", None)]


def test_text_that_is_not_utf8_is_told_with_its_line(refusal):
    error = refusal(text_of(people()).replace("red", "ré").encode("latin-1"))
    assert problems_of(error) == [("not-utf8", "", 2)]
    assert "line 2" in sentence(error)


@pytest.mark.parametrize(
    "content",
    [
        text_of(people()).encode("utf-16"),
        gzip.compress(b"a,b", mtime=0),
        b"PK\x03\x04\0\0",
        b"a,b\n1,\0",
    ],
)
def test_what_is_no_text_is_told(refusal, content):
    error = refusal(content)
    assert error.code in ("not-text", "not-utf8")
    assert "UTF-8" in sentence(error)


def test_a_quote_that_is_never_closed_is_told(refusal):
    error = refusal(text_of(people()).replace("red", '"red', 1))
    assert error.code == "wrong-format"
    assert numbers(error)


def test_a_cell_beyond_all_measure_is_told(refusal):
    error = refusal(text_of(people()).replace("red", "r" * 200_000))
    assert error.code == "wrong-format"
    assert "line 2: field larger" in sentence(error)


def test_a_compressed_file_cut_short_anywhere_is_told(refusal):
    packed = gzip.compress(text_of(people()).encode())
    for size in range(1, len(packed), 5):
        assert refusal(packed[:size], "own.csv.gz").code == "file-damaged"


def test_damage_to_a_compressed_file_is_told(refusal):
    packed = bytearray(gzip.compress(text_of(people()).encode()))
    packed[len(packed) // 2] ^= 0xFF
    assert refusal(bytes(packed), "own.csv.gz").code == "file-damaged"


def test_a_file_that_is_only_called_gz_is_told(refusal):
    assert refusal(text_of(people()), "own.csv.gz").code == "file-damaged"


def test_a_small_file_that_unpacks_without_end_is_not_read_to_its_end(refusal, monkeypatch):
    monkeypatch.setattr(csv_text, "MOST_BYTES", 1 << 20)
    error = refusal(gzip.compress(b"a" * (4 << 20)), "own.csv.gz")
    assert problems_of(error) == [("file-too-large", "", 1 << 20)]
    assert "1 MiB" in sentence(error)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a,b\n" + "1," * (8 << 20), "row-too-long"),
        ("a" * (16 << 20), "row-too-long"),
        ("a,b\n" + '"x\n",' * (3 << 20), "row-too-long"),
        ("a,b\n" + '"' + "x\n" * (4 << 20), "wrong-format"),
    ],
    ids=["cells", "a cell", "quoted cells", "a quote that is not closed"],
)
def test_a_row_without_end_is_not_read_to_its_end(tmp_path, text, code):
    (tmp_path / "own.csv").write_text(text)
    del text
    tracemalloc.start()
    try:
        with refuses(code):
            csv_text.read(tmp_path / "own.csv")
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_may_end_in_any_way_wherever_a_block_ends(tmp_path, end):
    for shift in range(12):
        name = "n" * (1 + shift)
        rows = [[name, "ü"], *([f"{i}", "ä" * (i % 7)] for i in range(2000))]
        (tmp_path / "own.csv").write_text(end.join(map(",".join, rows)), "utf-8", newline="")
        found = csv_text.read(tmp_path / "own.csv")
        assert [found.header, *found.rows] == rows
        assert found.lines == list(range(2, 2002))


def test_a_small_memory_takes_less_text(refusal, monkeypatch):
    monkeypatch.setattr("dpaudit.files.memory_limit", lambda: 5 << 20)
    error = refusal("a,b\n" + "üü,ü\n" * (1 << 17))
    assert problems_of(error) == [("file-too-large", "", 1 << 20)]
