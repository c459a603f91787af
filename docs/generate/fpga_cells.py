"""Boxes and routers in FPGAs: docs/data/fpga-cells.json, and the tables of it in boxes-cost.md.

    python -m generate.fpga_cells [TEXT]

With a text only those parts are measured again whose command contains it. Each is measured with
three seeds; all take half an hour.
"""

import json
import sys
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

from multicube.hdl.support.output_file import whole_file
from tqdm import tqdm

from .commits import record
from .hardware_peers import frequency
from .markdown import DOCS, table, write_tables
from .standard_cells import PAGE, called

DATA = DOCS / "data" / "fpga-cells.json"


class Part(NamedTuple):
    """A row: what it is called, its network, and what the page says of it besides.

    Attributes
    ----------
    least : int, optional
        The lower bound on its tables.
    cycles : int
        Those of a header alone, in the table of pipelines.
    """

    what: str
    words: str
    least: int | None = None
    options: str = "--node --flags=-nowidelut"
    cycles: int = 0

    @property
    def command(self) -> str:
        """Words of `multicube synth`."""
        payload = "" if "payload=" in self.words else " payload=32"
        return f"{self.words}{payload} {self.options}"


_SIZE = ("payload", "depth", "pipeline")
_INSIDE = "--cell router_5 --flags=-nowidelut"
_ICE40 = "--node --device ice40-hx8k"

ECP5 = (
    Part("2 x 2, input-queued", "cube ports=16 switch=input-queued", 180),
    Part("", "cube ports=16 switch=input-queued payload=8", 60),
    Part("", "cube ports=16 switch=input-queued payload=64", 340),
    Part("", "cube ports=16 switch=input-queued depth=1", 72),
    Part("", "cube ports=16 switch=input-queued depth=16", 180),
    Part("2 x 2, output-queued, `memories=separate`", "cube ports=16 memories=separate", 288),
    Part("2 x 2, output-queued", "cube ports=16", 288),
    Part("", "cube ports=16 payload=8", 96),
    Part("", "cube ports=16 payload=64", 544),
    Part("", "cube ports=16 depth=1", 72),
    Part("", "cube ports=16 depth=16", 288),
    Part("4 x 4, input-queued", "cube ports=16 radix=4 switch=input-queued", 504),
    Part("", "cube ports=16 radix=4 switch=input-queued payload=8", 168),
    Part("", "cube ports=16 radix=4 switch=input-queued depth=16", 504),
    Part(
        "8 x 8, input-queued (`cube ports=64 radix=8`)",
        "cube ports=64 radix=8 switch=input-queued",
        1696,
    ),
    Part("4 x 4, output-queued", "cube ports=16 radix=4", 1152),
    Part("", "cube ports=16 radix=4 payload=8", 384),
    Part("2 x 2, unbuffered", "cube ports=16 switch=unbuffered", 72),
    Part("2 x 2, wormhole", "cube ports=16 switch=wormhole length=4", 194),
    Part("4 x 4, wormhole", "cube ports=16 radix=4 switch=wormhole length=4", 536),
    Part("2 x 2, cut-through", "cube ports=16 switch=cut-through length=4 depth=4", 194),
    Part("router of `torus k=4 n=2`", "torus k=4 n=2", 1058),
    Part("", "torus k=4 n=2 payload=8", 398),
    Part("router of [`deflection k=4`](../families/deflection.md)", "deflection k=4"),
    Part("router of `mesh k=4 n=2`, inside", "mesh k=4 n=2", 633, _INSIDE),
    Part("- with packets of several flits", "mesh k=4 n=2 length=16", 633, _INSIDE),
    Part("router of `hypercube n=4`, e-cube", "hypercube n=4", 596),
    Part("p-cube", "hypercube n=4 routing=pcube", 707),
    Part("adaptive", "hypercube n=4 routing=adaptive", 1095),
    Part("node of `connection-machine n=4`", "connection-machine n=4"),
)
PIPELINES = tuple(
    Part("" if stages else box, f"{words} pipeline={stages}" if stages else words, cycles=cycles)
    for box, words, latencies in (
        ("2 x 2", "cube ports=16 switch=input-queued", (1, 2, 3)),
        ("4 x 4", "cube ports=16 radix=4 switch=input-queued", (1, 2, 3)),
        ("2 x 2, wormhole", "cube ports=16 switch=wormhole length=4", (1, 3, 4)),
        ("4 x 4, wormhole", "cube ports=16 radix=4 switch=wormhole length=4", (1, 3, 4)),
    )
    for stages, cycles in enumerate(latencies)
)
ICE40 = (
    Part("2 x 2, input-queued", "cube ports=16 switch=input-queued", 216, _ICE40),
    Part("2 x 2, output-queued", "cube ports=16", 360, _ICE40),
    Part("4 x 4, input-queued", "cube ports=16 radix=4 switch=input-queued", 576, _ICE40),
    Part(
        "2 x 2, input-queued, up5k",
        "cube ports=16 switch=input-queued",
        216,
        "--node --device ice40-up5k",
    ),
)


def tables(data: dict[str, Any]) -> list[str]:
    """The three tables of the page, in Markdown."""
    size = "what | width | depth | tables | least"
    last = "FFs | stored | Fmax, MHz"
    pipelines = "box | `pipeline` | tables | for logic | memories | FFs | Fmax, MHz | cycles | ns"
    return [
        _table(f"{size} | for logic | carry cells | memories | {last}", ECP5, data),
        _table(pipelines, PIPELINES, data),
        _table(f"{size} | {last}", ICE40, data),
    ]


def _table(head: str, parts: Sequence[Part], data: dict[str, Any]) -> str:
    names = head.split(" | ")
    cells = [_cells(part, data[part.command]) for part in parts]
    return table(names, [[own[name] for name in names] for own in cells], texts=1)


def _cells(part: Part, found: dict[str, Any]) -> dict[str, str]:
    """What stands below each head."""
    area, stored, clock, size = (found[n] for n in ("area", "storage", "fmax_mhz", "size"))
    return {
        "what": part.what,
        "box": part.what,
        "width": str(size["payload"]),
        "depth": str(size["depth"]),
        "`pipeline`": str(size["pipeline"]),
        "tables": f"{area['tables']:,}",
        "least": "" if part.least is None else f"{part.least:,}",
        "for logic": f"{area['luts']:,}",
        "carry cells": str(area["carries"]),
        "memories": str(area["lut_rams"]),
        "FFs": str(area["flip_flops"]),
        "stored": f"{stored['registers']} + {stored['memories']:,}",
        "Fmax, MHz": frequency(clock),
        "cycles": str(part.cycles),
        "ns": f"{part.cycles * 1000 / clock['median']:.1f}",
    }


def main(text: str = "") -> None:
    """Measure the parts, write the file after each, and then the tables into the page."""
    data: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    parts = dict.fromkeys(part.command for part in chain(ECP5, PIPELINES, ICE40))
    for command in tqdm([each for each in parts if text in each], disable=None):
        found = called("synth", *command.split(), "--limit", "1800")
        size = {name: found["parameters"].get(name, "") for name in _SIZE}
        kept = {name: found[name] for name in ("area", "storage", "fmax_mhz", "tools")}
        data[command] = {"size": size, **kept}
        data = {each: data[each] for each in parts if each in data}
        with whole_file(DATA) as file:
            file.write_text(json.dumps(data, indent=1) + "\n")
    write_tables(PAGE, tables(data))
    record([DATA])


if __name__ == "__main__":
    main(*sys.argv[1:])
