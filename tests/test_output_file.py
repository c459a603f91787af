"""Output files are whole or not there."""

import stat
from pathlib import Path

import pytest
from multicube.hdl.output_file import check_output, whole_file


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_file(tmp_path / "out.txt") as temporary:
            temporary.write_text("half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match=r"^in the middle$"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_an_older_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def fail() -> None:
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_may_be_read_as_any_other(tmp_path: Path) -> None:
    plain, whole = tmp_path / "plain", tmp_path / "whole"
    plain.touch()
    with whole_file(whole) as temporary:
        temporary.touch()
    assert stat.S_IMODE(whole.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_check_output_rejects_a_missing_folder(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "out.txt"
    with pytest.raises(ValueError, match=rf"^Output {path} can't be written: there is no folder "):
        check_output(path)


def test_check_output_rejects_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^Output {tmp_path} is a folder, not a file$"):
        check_output(tmp_path)


def test_check_output_rejects_a_file_as_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="there is no folder"):
        check_output(tmp_path / "file" / "out.txt")
