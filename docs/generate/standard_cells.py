"""Boxes and routers in standard cells: docs/data/standard-cells.json, and the table of it.

    python -m generate.standard_cells [LIBRARY.lib [PART]...]

Without the name of a part all are measured again. LIBRARY is that of Debian's qflow-tech-osu018
unless another one is given. OpenSTA is needed. Each part is measured with its memories in
flip-flops, and with gated clocks, after a run of its network. That library says that its latch has
no area: the 56 um2 of its layout are taken.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from multicube.hdl.support.output_file import whole_file

from .commits import record
from .markdown import DOCS, table, write_tables

DATA = DOCS / "data" / "standard-cells.json"
PAGE = DOCS / "design" / "boxes-cost.md"
OSU018 = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"

PARTS = {
    "2 x 2, input-queued": ("cube ports=16 switch=input-queued", 0.3, 4 / 32),
    "4 x 4, input-queued": ("cube ports=16 radix=4 switch=input-queued", 0.3, 2 / 8),
    "2 x 2, output-queued": ("cube ports=16 switch=output-queued", 0.3, 4 / 32),
    "2 x 2, single-buffered": ("cube ports=16 switch=single-buffered depth=1", 0.3, 4 / 32),
    "2 x 2, wormhole, one flit": ("cube ports=16 switch=wormhole", 0.3, 4 / 32),
    "2 x 2, unbuffered, at load 0.1": ("cube ports=16 switch=unbuffered", 0.1, 4 / 32),
    "8 x 8, input-queued": ("crossbar ports=8", 0.3, 1),
    "router of `torus k=4 n=2`": ("torus k=4 n=2", 0.2, 3 / 16),
    "router of `hypercube n=4`": ("hypercube n=4", 0.2, 3 / 16),
}
"""By name: a network, its load, and the part of its cells that a packet passes on average."""

MEMORIES = ("inline", "gated")


def called(*words: str) -> dict[str, Any]:
    """What a command of multicube prints as JSON."""
    command = [sys.executable, "-m", "multicube", *words, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measured(words: str, load: float, library: str, folder: Path) -> dict[str, Any]:
    """What the commands say of a part."""
    network = [*words.split(), "payload=32"]
    saif = folder / "run.saif"
    run = called("sim", *network, "--load", str(load), "--activity", str(saif))
    found: dict[str, Any] = {"throughput": run["throughput"]}
    for memories in MEMORIES:
        options = ["--liberty", library, "--saif", str(saif), "--memories", memories]
        cells = called("synth", *network, "--node", *options)
        found[memories] = {key: cells[key] for key in ("area", "timing", "energy_pj", "tools")}
    return found


def tables(data: dict[str, Any]) -> list[str]:
    """The table of the page, in Markdown."""
    head = "what | memories | um² | of this stored in flip-flops | ns | pJ a cycle | pJ a flit"
    rows = []
    for what, (words, _, share) in PARTS.items():
        if what not in data:
            continue
        ports = int(re.search(r"ports=(\d+)", words)[1]) if "ports" in words else 16
        for memories in MEMORIES:
            found = data[what][memories]
            flits = data[what]["throughput"] * ports * share
            area, energy = found["area"], found["energy_pj"]["total"]
            numbers = (
                f"{area['total']:,.0f}",
                f"{area['sequential']:,.0f}",
                f"{found['timing']['period_ns']:.2f}",
                f"{energy:.1f}",
                f"{energy / flits:.0f}",
            )
            rows.append((what if memories == "inline" else "", memories, *numbers))
    return [table(head.split(" | "), rows, texts=2)]


def main(library: str, *parts: str) -> None:
    """Measure these parts, or all, and write the file after each."""
    data: dict[str, Any] = json.loads(DATA.read_text()) if parts else {}
    text = Path(library).read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        used = folder / Path(library).name
        used.write_text(re.sub(r"(cell \(LATCH\) \{\s*area : )0;", r"\g<1>56;", text))
        for what in parts or PARTS:
            words, load, _ = PARTS[what]
            data[what] = measured(words, load, str(used), folder)
            with whole_file(DATA) as file:
                file.write_text(json.dumps(data, indent=1) + "\n")
    write_tables(PAGE, tables(data))
    record([DATA])


if __name__ == "__main__":
    main(*(sys.argv[1:] or [OSU018]))
