import csv
import gzip
import io
import os
import tracemalloc

import numpy as np
import pytest

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
    """What a user reads who gives a file of this content, without the path in front."""

    def message(content, name="own.csv", **options):
        with pytest.raises(BadInput) as caught:
            load(content, name, **options)
        said = str(caught.value)
        assert said.startswith(f"{tmp_path / name}: ")
        assert said.isprintable()
        return said.removeprefix(f"{tmp_path / name}: ")

    return message


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
    assert "'a' holds more than 20 different numbers" in refusal(
        text_of(rows, ["a", "b"]), label="b", bounds=[]
    )


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


def test_a_home_folder_is_expanded(load, tmp_path, monkeypatch):
    load(text_of(people()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert Csv("~/own.csv", **GOOD).load(0).classes == 2


# ---------------------------------------------------------------- names


def test_a_missing_label_is_told_with_the_columns(refusal):
    assert refusal(text_of(people()), label=None) == (
        "name the column of the classes with --label COLUMN; "
        "it has 'age', 'colour', 'rooms', 'rich'"
    )


def test_every_unknown_column_is_told_at_once(refusal):
    said = refusal(text_of(people()), label="rch", bounds=["agee=0:1"], ignore=["zzz"])
    assert "(1) there is no column 'rch' for --label; did you mean 'rich'?" in said
    assert "(2) there is no column 'agee' for --bounds; did you mean 'age'?" in said
    assert "(3) there is no column 'zzz' for --ignore; it has 'age', 'colour'" in said


@pytest.mark.parametrize(
    "text",
    ["age", "age=", "age=5", "=0:1", "age=0:1:2", "age=a:b", "age=0-1", "age=nan:1", "age=0:inf",
     "age=:", "age=1_0:20", "", "0:1"],
)  # fmt: skip
def test_bounds_that_cannot_be_read_are_told(refusal, text):
    said = refusal(text_of(people()), bounds=[text])
    assert said == f"bounds are COLUMN=LOW:HIGH, such as age=0:120, not {text!r}"


@pytest.mark.parametrize("text", ["age=1:1", "age=2:1", "age=-1e308:1e308"])
def test_bounds_without_room_between_them_are_told(refusal, text):
    said = refusal(text_of(people()), bounds=[text])
    assert said == f"bounds need LOW below HIGH, and not infinitely far, unlike {text!r}"


def test_bounds_are_stated_once(refusal):
    said = refusal(text_of(people()), bounds=["age=0:1", "age=0:2"])
    assert said == "'age' has bounds twice; state them once"


def test_a_column_has_one_role(refusal):
    bounds = ["age=0:100", "rich=0:1"]
    said = refusal(text_of(people()), bounds=bounds, ignore=["rich", "age"])
    assert "(1) 'rich' is the label, which has no bounds" in said
    assert "(2) 'rich' is the label, which cannot be ignored" in said
    assert "(3) 'age', 'rich' cannot have --bounds and be ignored" in said


def test_something_must_be_left_to_learn_from(refusal):
    said = refusal(text_of(people()), bounds=[], ignore=HEADER[:3])
    assert said == "no column is left to learn from; ignore fewer"


def test_a_header_names_each_column_once(refusal):
    said = refusal(text_of(people(), ["", "rich", "age", "rich"]))
    assert "(1) the header has no name for the columns 1; name them (or leave pandas'" in said
    assert "(2) the header has 'rich' more than once; give each its own name" in said


def test_names_and_values_cannot_paint_the_terminal(refusal):
    refusal(text_of(people(), ["\x1b[2J", *HEADER[1:]]), label="x", bounds=[])
    rows = people()
    rows[3][0] = "\x1b[2J" + "x" * 9999
    assert len(refusal(text_of(rows))) < 300


# ---------------------------------------------------------------- values


def test_numbers_without_bounds_are_named_together_and_their_range_is_not_told(refusal):
    rows = [[f"{1000 + i}", f"{2000 + i}.5", *row[1:]] for i, row in enumerate(people())]
    header = ["age", "hours", *HEADER[1:]]
    said = refusal(text_of(rows, header), bounds=[])
    assert said == (
        "'age', 'hours' hold more than 20 different numbers each; state public bounds with "
        "--bounds age=LOW:HIGH and so on, or --ignore them"
    )


@pytest.mark.parametrize("odd", ["?", "", "NA"])
def test_numbers_with_gaps_or_commas_are_numbers_still(refusal, odd):
    rows = [[f"{i},5" if i else odd, "ab"[i % 2]] for i in range(60)]
    said = refusal(text_of(rows, ["a", "b"], delimiter=";"), label="b", bounds=[])
    assert "'a' holds more than 20 different numbers; state public bounds with --bounds a=" in said


def test_empty_and_odd_cells_of_a_number_are_told_with_their_lines(refusal):
    rows = people()
    for at, cell in ((0, ""), (5, " "), (6, "old"), (7, "nan"), (8, "-inf"), (9, "1_0")):
        rows[at][0] = cell
    said = refusal(text_of(rows))
    assert "(1) 'age' is empty in 2 of 60 records (line 2, 7); fill it in, leave them" in said
    assert (
        "(2) 'age' has bounds but 4 cells are no finite number "
        "(line 8: 'old', line 9: 'nan', line 10: '-inf', line 11: '1_0')"
    ) in said


def test_lines_are_those_that_an_editor_shows(refusal):
    rows = people()
    rows[0][1] = "two\nlines"
    rows[1][0] = "old"
    assert "(line 4: 'old')" in refusal(text_of(rows))


def test_an_empty_label_is_told_with_its_lines(refusal):
    rows = people()
    rows[0][3] = rows[2][3] = ""
    assert refusal(text_of(rows)) == (
        "the label 'rich' is empty in 2 records (line 2, 4); fill it in or leave them out"
    )


def test_a_label_of_one_class_is_told(refusal):
    said = refusal(text_of([[*row[:3], "no"] for row in people()]))
    assert said == "the label 'rich' has a single class ('no'); an audit needs at least 2"


def test_a_label_that_names_single_records_is_told(refusal):
    rows = [["a", f"{i}"] for i in range(1001)]
    said = refusal(text_of(rows, ["a", "b"]), label="b", bounds=[])
    assert "the label 'b' has 1001 different values, more than 1000" in said


def test_small_classes_are_told_by_their_names(refusal):
    said = refusal(text_of([*people(), ["20", "red", "1", "perhaps"]]))
    assert "the label 'rich' has too few records of some classes (class 'perhaps': 1)" in said


def test_too_many_features_are_told_with_the_columns_that_make_them(refusal):
    rows = [[f"id{i}", "cd"[i % 2], "ab"[i % 2]] for i in range(10_000)]
    said = refusal(text_of(rows, ["a", "c", "b"]), label="b", bounds=[])
    assert said == (
        "its columns make 10002 features, more than 10000 ('a': 10000, 'c': 2); "
        "--ignore columns that name single records"
    )


# ---------------------------------------------------------------- files


def test_ragged_rows_are_told_with_their_lines_beside_other_problems(refusal):
    rows = people()
    rows[1] = rows[1][:3]
    rows[4] = [*rows[4], "more"]
    rows[6][0] = "old"
    said = refusal(text_of(rows))
    assert (
        "(1) 2 rows do not have the 4 cells that the header has (line 3 has 3, line 6 has 5)"
    ) in said
    assert "(line 8: 'old')" in said


@pytest.mark.parametrize("content", [b"", b"\n\n", b"  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_told(refusal, content):
    assert refusal(content) == "it is empty; the first line names the columns"


def test_a_header_alone_is_told(refusal):
    assert refusal(text_of([])) == "it has a header and no records; add records"


def test_text_that_is_not_utf8_is_told_with_its_line(refusal):
    said = refusal(text_of(people()).replace("red", "ré").encode("latin-1"))
    assert said == "line 2 is not UTF-8; save the file as UTF-8"


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
    assert "UTF-8" in refusal(content)


def test_a_quote_that_is_never_closed_is_told(refusal):
    said = refusal(text_of(people()).replace("red", '"red', 1))
    assert said.startswith("it is not a CSV file (line ")


def test_a_cell_beyond_all_measure_is_told(refusal):
    said = refusal(text_of(people()).replace("red", "r" * 200_000))
    assert said.startswith("it is not a CSV file (line 2: field larger than field limit")


def test_a_compressed_file_cut_short_anywhere_is_told(refusal):
    packed = gzip.compress(text_of(people()).encode())
    for size in range(1, len(packed), 5):
        assert "it is cut short, damaged or not gzip" in refusal(packed[:size], "own.csv.gz")


def test_damage_to_a_compressed_file_is_told(refusal):
    packed = bytearray(gzip.compress(text_of(people()).encode()))
    packed[len(packed) // 2] ^= 0xFF
    said = refusal(bytes(packed), "own.csv.gz")
    assert said.endswith("; save it again")


def test_a_file_that_is_only_called_gz_is_told(refusal):
    assert "it is cut short, damaged or not gzip" in refusal(text_of(people()), "own.csv.gz")


def test_a_small_file_that_unpacks_without_end_is_not_read_to_its_end(refusal, monkeypatch):
    monkeypatch.setattr(csv_text, "MOST_BYTES", 1 << 20)
    said = refusal(gzip.compress(b"a" * (4 << 20)), "own.csv.gz")
    assert said == "it holds more than 1 MiB of text; use fewer records"


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n" + "1," * (8 << 20),
        "a" * (16 << 20),
        "a,b\n" + '"x\n",' * (3 << 20),
        "a,b\n" + '"' + "x\n" * (4 << 20),
    ],
    ids=["cells", "a cell", "quoted cells", "a quote that is not closed"],
)
def test_a_row_without_end_is_not_read_to_its_end(refusal, tmp_path, text):
    (tmp_path / "own.csv").write_text(text)
    del text
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match=r"a row of more than 1,048,576|field larger than"):
            csv_text.read(tmp_path / "own.csv")
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_may_end_in_any_way_wherever_a_block_ends(tmp_path, end):
    rows = [["name", "ü"], *([f"{i}", "ä" * (i % 7)] for i in range(200))]
    (tmp_path / "own.csv").write_text(end.join(map(",".join, rows)), "utf-8", newline="")
    for size in range(1, 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_text, "BLOCK", size)
            found = csv_text.read(tmp_path / "own.csv")
        assert [found.header, *found.rows] == rows
        assert found.lines == list(range(2, 202))


def test_a_small_memory_takes_less_text(refusal, monkeypatch):
    monkeypatch.setattr("dpaudit.data.memory.most", lambda: 5 << 20)
    said = refusal("a,b\n" + "1,2\n" * (1 << 19))
    assert said == "it holds more than 1 MiB of text; use fewer records"


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "own.csv")
    with pytest.raises(BadInput, match="it is not a regular file"):
        Csv(tmp_path / "own.csv", **GOOD).load(0)


def test_a_folder_and_a_missing_file_are_told(tmp_path):
    with pytest.raises(BadInput, match=r"it is a folder; give the path of a \.csv or"):
        Csv(tmp_path, **GOOD).load(0)
    with pytest.raises(BadInput, match="there is no such file"):
        Csv(tmp_path / "none.csv", **GOOD).load(0)


@pytest.mark.parametrize("step", ["read", "categories", "split"])
def test_what_does_not_fit_into_memory_is_told(refusal, monkeypatch, step):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(f"dpaudit.data.csv_table.{step}", full)
    assert refusal(text_of(people())) == "it does not fit into memory; use fewer records"
