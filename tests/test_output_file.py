"""Output files are whole or not there."""

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from multicube.hdl.support.output_file import (
    alone,
    check_output,
    is_regular,
    output_format,
    whole_file,
)


@pytest.fixture(params=["without a name", "hidden"])
def temporary_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of temporary files; all tests can use the first on most of Linux."""
    if request.param == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("temporary_files")
def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with whole_file(path) as temporary:
        temporary.write_text("new")
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


@pytest.mark.usefixtures("temporary_files")
def test_a_file_replaces_an_older_one_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with open(path) as older:
        with whole_file(path) as temporary:
            temporary.write_text("new")
            assert path.read_text() == "old"
        assert path.read_text() == "new"
        assert older.read() == "old"
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from multicube.hdl.support.output_file import whole_file
with whole_file(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("older", [None, "old"])
def test_a_killed_process_leaves_nothing_behind(older: str | None, tmp_path: Path) -> None:
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except (AttributeError, OSError):
        pytest.skip("no files without a name here")
    path = tmp_path / "out.txt"
    if older:
        path.write_text(older)
    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == (
        {"out.txt": older} if older else {}
    )


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


def test_a_folder_without_room_for_a_name_leaves_an_older_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was emptied, to be written in place."""
    path = tmp_path / "out.txt"
    path.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("link", "replace"):
        monkeypatch.setattr(os, name, full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"), whole_file(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "old"


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


def test_check_output_rejects_what_no_file_can_be(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(tmp_path / "socket"))
        with pytest.raises(ValueError, match=r"^Output .* is a socket, not a file$"):
            check_output(tmp_path / "socket")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("loop", "x" * 256):
        with pytest.raises(OSError, match=name):
            check_output(tmp_path / name)
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere" / "out.txt")
    with pytest.raises(ValueError, match=rf"there is no folder {tmp_path}/nowhere$"):
        check_output(tmp_path / "lost")


def test_check_output_rejects_what_must_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.txt"
    path.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ValueError, match=rf"^Output {path} can't be written: no permission$"):
        check_output(path)


def write(path: str | os.PathLike[str], text: str = "new") -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text)


def test_a_name_may_be_as_long_as_any(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 251 + ".txt")
    write(path)
    assert path.read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o777])
def test_a_file_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    path.chmod(0o600)
    write(path)
    found = path.stat()
    assert path.read_text() == "new"
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 5678, 0o600)


def test_a_file_is_written_in_place_if_its_owner_would_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    path = tmp_path / "out.txt"
    path.write_text("old, and longer")
    before = path.stat()
    monkeypatch.setattr(os, "chown", refuse)
    # As if it were another user's.
    monkeypatch.setattr(Path, "chmod", refuse)
    write(path)
    assert path.read_text() == "new"
    assert path.stat().st_ino == before.st_ino
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_target_is_written(there: bool, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link, second = tmp_path / "folder" / "file", tmp_path / "link", tmp_path / "second"
    if there:
        target.write_text("old")
    link.symlink_to(Path("folder") / "file")
    second.symlink_to(link)
    write(second)
    assert link.is_symlink()
    assert second.is_symlink()
    assert not target.is_symlink()
    assert target.read_text() == "new"
    assert list((tmp_path / "folder").iterdir()) == [target]


def test_a_fifo_is_written_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    write(path)
    reader.join(timeout=60)
    assert read == ["new"]
    assert path.is_fifo()
    assert not is_regular(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_and_stays(tmp_path: Path) -> None:
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    for path in ("/dev/null", link):
        write(path)
        assert Path(path).is_char_device()
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'$"):
        write("/dev/full")
    assert Path("/dev/full").is_char_device()


def test_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "stdout"
    with open(path, "w") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        print("before")
        write("-")
        write(path)  # as /dev/stdout may be
        print("after")
        assert not is_regular("-")
        assert not is_regular(path)
    assert path.read_text() == "before\nnewnewafter\n"
    assert list(tmp_path.iterdir()) == [path]
    write("./-")
    assert (tmp_path / "-").read_text() == "new"
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(ValueError, match=r"^Output - can't be written: standard output is closed$"):
        check_output("-")


@pytest.mark.parametrize("name", [None, "temporary"])
def test_an_error_of_writing_names_the_file(name: str | None, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"

    def fill() -> None:
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise OSError(28, "No space left on device", name and os.fspath(temporary))

    with pytest.raises(OSError, match=rf"^\[Errno 28\] No space left on device: '{path}'$"):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_format_is_the_ending() -> None:
    assert output_format("a.b.csv", (".json", ".csv")) == ".csv"
    assert output_format("-", (".json", ".csv")) == ".json"
    for path in ("a", "a.CSV", "csv", "-.txt"):
        with pytest.raises(ValueError, match=rf"^Output {path} must end in \.json, \.csv$"):
            output_format(path, (".json", ".csv"))


def test_one_at_a_time(tmp_path: Path) -> None:
    """Whoever comes second to a file waits until the first has left it, also after an error."""
    order: list[str] = []

    def second() -> None:
        with alone(tmp_path / "file"):
            order.append("second")

    waiting = threading.Thread(target=second)

    def first() -> None:
        with alone(tmp_path / "file"):
            waiting.start()
            waiting.join(0.5)
            order.append("first")
            raise KeyError

    with pytest.raises(KeyError):
        first()
    waiting.join()
    assert order == ["first", "second"]
    with pytest.raises(FileNotFoundError), alone(tmp_path / "none" / "file"):
        pass
