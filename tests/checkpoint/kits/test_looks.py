"""Looks at a kit's coins are counted, whoever looks and whatever happens meanwhile."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from refusals import refuses

from dpaudit.checkpoint.kits.kit import LARGEST, LOOKS, Looks
from dpaudit.errors import BadInput


def test_each_other_look_has_the_next_number_and_the_same_one_its_own(tmp_path):
    looks = Looks(tmp_path)
    assert [looks.take(what, "words") for what in "abacb"] == [1, 2, 1, 3, 2]
    assert [Looks(tmp_path).upcoming(what) for what in "abcd"] == [1, 2, 3, 4]


def test_what_is_upcoming_is_not_written_down(tmp_path):
    assert Looks(tmp_path).upcoming("a") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_look_is_a_line_that_a_person_can_read(tmp_path):
    Looks(tmp_path).take("a", "loss of\nmodel.pt")
    assert (tmp_path / LOOKS).read_text() == "a loss of model.pt\n"


def test_looks_at_the_same_time_are_all_counted(tmp_path):
    everyone = [str(i) for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda what: Looks(tmp_path).take(what, ""), everyone))
    assert sorted(numbers) == list(range(1, 41))
    assert numbers == [Looks(tmp_path).upcoming(what) for what in everyone]


def test_a_line_that_was_cut_short_counts_and_is_not_written_on(tmp_path):
    (tmp_path / LOOKS).write_text("a words\nhal")
    assert Looks(tmp_path).take("b", "words") == 3
    assert (tmp_path / LOOKS).read_text() == "a words\nhal\nb words\n"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_not_followed(tmp_path, there):
    kit, mine = tmp_path / "kit", tmp_path / "mine.txt"
    kit.mkdir()
    if there:
        mine.write_text("my own\n")
    (kit / LOOKS).symlink_to(mine)
    for look in (lambda: Looks(kit).take("a", ""), lambda: Looks(kit).upcoming("a")):
        with refuses("is-link", value=str(kit / LOOKS)):
            look()
    assert (mine.read_text() if mine.exists() else None) == ("my own\n" if there else None)


def test_what_has_another_name_is_not_written_to(tmp_path):
    kit, mine = tmp_path / "kit", tmp_path / "mine.txt"
    kit.mkdir()
    mine.write_text("my own\n")
    os.link(mine, kit / LOOKS)
    with refuses("hard-link", value=str(kit / LOOKS)):
        Looks(kit).take("a", "")
    assert mine.read_text() == "my own\n"


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / LOOKS)
    with refuses("not-regular", value=str(tmp_path / LOOKS)):
        Looks(tmp_path).take("a", "")


def test_what_cannot_be_read_or_counted_is_one_sentence(tmp_path):
    (tmp_path / LOOKS).mkdir()
    with refuses("is-folder", value=str(tmp_path / LOOKS)):
        Looks(tmp_path).take("a", "")
    (tmp_path / LOOKS).rmdir()
    with pytest.raises(BadInput, match=str(tmp_path / "nowhere" / LOOKS)) as caught:
        Looks(tmp_path / "nowhere").take("a", "")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    (tmp_path / LOOKS).write_bytes(b"\n" * (LARGEST + 1))
    with refuses("file-too-large", value=str(tmp_path / LOOKS)):
        Looks(tmp_path).upcoming("a")
