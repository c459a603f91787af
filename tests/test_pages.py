"""The Python and the commands of README.md and `docs` run, and print what the pages show."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import exit_status
from long_runs import long
from multicube.sim.command import entry_point
from multicube.sim.engines.engine_selection import resolve_engine
from page_code import PAGES, ROOT, commands, files, python_blocks

CAN_DEADLOCK = (
    "deadlock torus k=5 n=1 channels=1 allow_deadlock=1",
    "deadlock lssn stages=2 channels=1 allow_deadlock=1",
    "deadlock cube ports=8 switch=wormhole --reply 0:0 --run 1000",
    "deadlock mesh k=3 --group 0:all --group 8:all --kind multicast",
)
"""The only commands of the pages that have something bad to say."""

SLOW_PYTHON = {
    "board",
    "classes",
    "cluster",
    "collectives",
    "combining",
    "compare",
    "computer",
    "faults",
    "flow-traffic",
    "draw",
    "own-graph",
    "messages",
    "partitions",
    "permutations",
    "switching",
    "synchronisation",
    *("workloads", "own-switch", "own-network", "birrd"),
}

SLOW_COMMANDS = {
    *(
        "board",
        "certificates",
        "choose",
        "cluster",
        "collectives",
        "combining",
        "communication",
        "compare",
        "computer",
        "connection-machine",
        "dandamudi",
        "deflection",
        "faults",
        "ginosar",
    ),
    *("hierarchies", "machines", "measurement", "own-network", "partitions", "precision"),
    *("single-stage", "static-networks", "switching", "tori", "verilog", "verilog-project"),
    *("wiring", "clos-and-bus", "rerun", "delta", "c-library", "big", "large", "workloads"),
    *("flow-traffic", "verilog-files", "ould-khaoua", "classes", "graph-files"),
}


def _cases(pages: Iterable[Path], slow: Collection[str]) -> list[Any]:
    """Pages as cases of a test; those that are `slow` are for long runs only."""
    return [(long if page.stem in slow else pytest.param)(page, id=page.stem) for page in pages]


def _run(folder: Path, *command: str) -> str:
    # cocotb's runner keeps its results elsewhere when it believes that pytest called it.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=folder, env=outside
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.one_in(2)
@pytest.mark.parametrize("page", _cases(filter(python_blocks, PAGES), SLOW_PYTHON))
def test_python_of_the_pages(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """It runs, each block by itself, and prints what is shown below it, if something is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, code in files(page).items():
        (tmp_path / name).write_text(code)
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
    for block in python_blocks(page):
        exec(compile(block.code, str(page), "exec"), {"__name__": "__main__"})
        printed = capsys.readouterr().out
        if block.printed is not None:
            assert block.printed == printed


@pytest.mark.one_in(2)
@pytest.mark.parametrize("page", _cases(filter(commands, PAGES), SLOW_COMMANDS))
@pytest.mark.parametrize("papers", [False, long(True)])
def test_commands_of_the_pages(
    page: Path,
    papers: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """All run, and print what the page shows; those that measure a paper's figures take longer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    traffic = (ROOT / "docs" / "reference" / "traffic.md").read_text()
    trace = re.search(r"(?:    cycle,source,destination\n)(?:    .*\n)+", traffic)
    (tmp_path / "trace.csv").write_text(textwrap.dedent(trace[0]))
    own = (ROOT / "docs" / "how-to" / "own-network.md").read_text()
    graph = re.search(r"^```json\n(.*?)^```", own, re.M | re.S)
    (tmp_path / "net.json").write_text(graph[1])
    for name, code in files(page).items():
        (tmp_path / name).write_text(code)
    for (program, *arguments), printed in commands(page):
        if (arguments[0] == "paper") != papers:
            continue
        if program == "multicube":
            refused = printed is not None and printed.startswith("multicube: ")
            status = 2 if refused else " ".join(arguments) in CAN_DEADLOCK
            capsys.readouterr()
            assert exit_status(*arguments) == status, arguments
            found = capsys.readouterr()
            if printed is not None and resolve_engine("auto") == "compiled":
                assert (found.err if refused else found.out) == printed
        else:
            assert program == "python"
            _python(tmp_path, *arguments)


LINES = re.findall(r"`multicube ([^`]+)`", (ROOT / "README.md").read_text())


@pytest.mark.parametrize("line", LINES)
def test_commands_in_tables_have_all_that_they_need(line: str) -> None:
    """Those of README.md that are not run: they are read, and no argument is missing."""
    command: click.Command = entry_point.multicube
    words = shlex.split(line)
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(click.Context(command), words)
        assert found is not None, name
        command = found
    command.make_context("multicube", words)


def _python(folder: Path, script: str, *arguments: str) -> None:
    """Run a script of the examples, or one that the page shows."""
    shown = folder / script
    if shown.exists() and "cocotb" in shown.read_text() and not shutil.which("iverilog"):
        return
    _run(folder, sys.executable, str(shown if shown.exists() else ROOT / script), *arguments)
    for results in folder.rglob("results.xml"):
        assert "<failure" not in results.read_text()
