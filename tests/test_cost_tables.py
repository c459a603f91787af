"""The costs on the pages: tables are those of their data, and examples print what is shown."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from generate import fpga_cells, hardware_peers, standard_cells
from page_code import ROOT
from test_standard_cells import OSU018

PAGE = (ROOT / "docs/design/boxes-cost.md").read_text()
SYNTHESIS = (ROOT / "docs/how-to/synthesis.md").read_text()


@pytest.mark.parametrize(
    "maker", [fpga_cells, hardware_peers, standard_cells], ids=["fpga", "peers", "cells"]
)
def test_tables_are_made_from_data(maker: object) -> None:
    data = json.loads(maker.DATA.read_text())  # type: ignore[attr-defined]
    tables = maker.tables(data)  # type: ignore[attr-defined]
    assert "\n".join(tables).count("\n") > 10
    assert [table for table in tables if table not in PAGE] == []


def test_tables_have_a_row_for_each_part() -> None:
    data = json.loads(fpga_cells.DATA.read_text())
    parts = [*fpga_cells.ECP5, *fpga_cells.PIPELINES, *fpga_cells.ICE40]
    assert list(data) == list(dict.fromkeys(part.command for part in parts))


@pytest.mark.long
@pytest.mark.parametrize("block", re.findall(r"^```text\n(\$.*?)^```", SYNTHESIS, re.M | re.S))
def test_page_shows_what_synthesis_prints(block: str, tmp_path: Path) -> None:
    """With the versions of the tools that it names."""
    lines = block.replace("\\\n", " ").splitlines()
    words = [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]
    shown = lines[len(words) :]
    if "--liberty" in block and not (OSU018.exists() and shutil.which("sta")):
        pytest.skip("OpenSTA or its library is not installed")
    environment = os.environ | {"COLUMNS": "200"}
    for each in words:
        command = [sys.executable, "-m", *each]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=True
        )
    printed = done.stdout.decode("utf-8").splitlines()
    if printed[-1] != shown[-1]:
        pytest.skip(f"The tools are others: {printed[-1]}")
    assert printed == shown
