from __future__ import annotations

import os
from pathlib import Path

import pytest
from refusals import refuses
from report_examples import bound, inconclusive, violation, with_evidence

from dpaudit.errors import DiskFull
from dpaudit.report import dump_html, page, write_folder

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_folder_gets_the_page_and_its_figures(tmp_path: Path) -> None:
    report = with_evidence(inconclusive(bounds=[bound()], primary=0, published=[]))
    write_folder(report, tmp_path)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page(report)
    made = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert sorted(made) == ["bounds.png", "canary.png", "roc.png", "scores.png"]
    assert all(content.startswith(PNG) for content in made.values())
    write_folder(report, tmp_path)
    assert {p.name: p.read_bytes() for p in (tmp_path / "figures").iterdir()} == made


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / f".page.html.{os.getpid()}.tmp").symlink_to(tmp_path / "precious")
    dump_html(violation(), tmp_path / "page.html")
    assert (tmp_path / "precious").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["page.html", "precious"]
    assert not (tmp_path / "page.html").is_symlink()


def test_a_canary_that_is_left_out_leaves_no_image_behind(tmp_path: Path) -> None:
    images = tmp_path / "figures"
    images.mkdir()
    for name in ("canary.png", "roc.png", "mine.png"):
        (images / name).write_bytes(b"old")
    write_folder(with_evidence(violation(), canary=None), tmp_path)
    assert sorted(os.listdir(images)) == ["bounds.png", "mine.png", "roc.png", "scores.png"]
    assert (images / "roc.png").read_bytes().startswith(PNG)
    write_folder(violation(), tmp_path)
    assert sorted(os.listdir(images)) == ["bounds.png", "mine.png"]


def test_the_page_alone_makes_no_figures(tmp_path: Path) -> None:
    dump_html(violation(), tmp_path / "a.html")
    assert os.listdir(tmp_path) == ["a.html"]
    assert (tmp_path / "a.html").read_bytes().startswith(b"<!DOCTYPE html>")


def test_a_failed_write_leaves_the_old_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(violation(seed=1), tmp_path)
    before = (tmp_path / "report.html").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with refuses("disk-full", kind=DiskFull):
        write_folder(violation(seed=2), tmp_path)
    assert (tmp_path / "report.html").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["figures", "report.html"]


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("a file")
    with refuses("file-unwritable", value=str(tmp_path / "figures")):
        write_folder(violation(), tmp_path)
    with refuses("file-unwritable", value=str(tmp_path / "gone" / "a.html")):
        dump_html(violation(), tmp_path / "gone" / "a.html")
