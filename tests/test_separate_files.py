"""A command does not write over a file that it reads, nor write two outputs to one file."""

from pathlib import Path

import pytest
from command_line import exit_status
from multicube.hdl.support.input_file import read_input, read_text
from multicube.hdl.support.output_file import check_output
from multicube.hdl.support.separate_files import separate_files


def test_a_folder_is_named_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=f"Is a directory: '{tmp_path}'$"):
        read_input(tmp_path)


def test_a_file_is_read_or_written(tmp_path: Path) -> None:
    read, written = tmp_path / "read", tmp_path / "written"
    for path in (read, written):
        path.write_text("text")
    link = tmp_path / "link"
    link.symlink_to(read)
    with separate_files():
        assert read_text("File", read) == read_text("File", link) == "text"
        check_output(written)
        check_output(tmp_path / "new")
        with pytest.raises(ValueError, match=f"^Output {link} is a file that the command reads$"):
            check_output(link)
        with pytest.raises(ValueError, match=f"^Output {written} is a file that the command reads"):
            read_text("File", written)
    check_output(read)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sim graph file=in.txt --vcd in.txt", "in.txt is a file that the command reads"),
        ("sim cube ports=2 --trace in.csv --vcd ./in.csv", "in.csv is a file that the command"),
        ("sweep cube ports=2 --traffic file:in.csv -o in.csv", "in.csv is a file that the command"),
        ("export graph file=in.sdc -o in.v", "in.sdc is a file that the command reads"),
        ("computer run in.txt cube ports=2 --vcd in.txt", "in.txt is a file that the command"),
        ("computer view in.txt cube ports=2 -o in.txt", "in.txt is a file that the command"),
        ("view in.py:network -o in.py", "in.py is a file that the command reads"),
        ("sweep cube ports=2 -o a.csv -o ./a.csv", "./a.csv is named twice"),
        ("sim cube ports=2 --vcd a --checkpoint a", "a is named twice"),
        ("compare cube --resume a.csv -o a.csv", "a.csv is named twice"),
        ("prove cube ports=2 -o a.v.json --verilog a.v", "a.v.json is named twice"),
    ],
)
def test_commands_keep_what_they_read(
    words: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "in.txt": "router 0 node 0 router 1\nrouter 1 node 1\n",
        "in.csv": "cycle,source,destination\n0,0,1\n",
        "in.py": "from multicube import build\nnetwork = build('cube', ports=2)\n",
    }
    texts["in.sdc"] = texts["in.txt"]
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert exit_status(*words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("multicube: Output ")
    assert said in err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts
