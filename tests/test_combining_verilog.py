# amaranth: UnusedElaboratable=no
"""Combining networks, their boxes and memory modules as Verilog: what tools find in it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import command_refusals, exit_status
from long_runs import long
from multicube.hdl import CombiningNetwork, build, write_verilog
from multicube.hdl.boxes.combining import CombiningBox, InputBufferedBox
from multicube.hdl.export.verilog_names import KEYWORDS, is_identifier
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.terminals.memory_module import MemoryModule
from verilog_tools import assert_lint_free, check_with_yosys, read_with_icarus

BY_COMMAND = "combining"
"""The one that the command exports."""

LINK = MemoryLink(tag=3, identity=2, address=2, width=8)
LONG = {"link": LINK, "lengths": (2, 4)}


def alone(component: type, **parameters: Any) -> Fabric:
    return Fabric.alone(CellType(component, **parameters))


def of_radix_4(ports: int, **parameters: int) -> Fabric:
    return CombiningNetwork(ports, radix=4, merge="unlimited", **parameters).fabric


FABRICS: dict[str, Callable[[], Fabric]] = {
    "radix 4": lambda: of_radix_4(4, depth=2, wait=1, width=4),  # see test_tools_on_large_boxes
    "not combining": lambda: CombiningNetwork(8, combine="none").fabric,
    "ultracomputer": lambda: build("ultracomputer", ports=8).fabric,
    "rp3-combining": lambda: build("rp3-combining", ports=8).fabric,
    # Its smallest: two stages of 4 x 4 boxes, two paths.
    "rp3": lambda: build("rp3", ports=8).fabric,
    "box alone": lambda: alone(CombiningBox, **LONG, depth=2, wait=2, merge="unlimited"),
    "input-buffered box alone": lambda: alone(InputBufferedBox, **LONG, delay=2),
    "memory alone": lambda: alone(MemoryModule, link=LINK, rows=3),
    "memory of long messages alone": lambda: alone(MemoryModule, **LONG),
}


SMALL = [name for name in FABRICS if "alone" in name]
"""Fabrics that are written in little time."""


@pytest.fixture(scope="module", params=[long(SMALL), long(list(FABRICS))], ids=["small", "all"])
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Verilog files with `network` on top."""
    folder = tmp_path_factory.mktemp("exported")
    names = [BY_COMMAND, *request.param]
    paths = {name: folder / f"{re.sub(r'[^a-z0-9]', '_', name)}.v" for name in names}
    assert exit_status("export", BY_COMMAND, "ports=8", "-o", str(paths[BY_COMMAND])) == 0
    for name in request.param:
        write_verilog(FABRICS[name](), paths[name])
    return paths


def test_verilators_linter_has_nothing_to_say(exported: dict[str, Path]) -> None:
    assert_lint_free(exported.values())


def test_yosys_reads_and_checks_it(exported: dict[str, Path]) -> None:
    check_with_yosys(list(exported.values()))


@pytest.mark.long
def test_tools_on_large_boxes(tmp_path: Path) -> None:
    path = tmp_path / "large.v"
    write_verilog(of_radix_4(16), path)
    assert_lint_free([path])
    check_with_yosys([path])


def test_icarus_reads_it(exported: dict[str, Path]) -> None:
    read_with_icarus(exported.values())


def test_waivers_are_few_and_explained(exported: dict[str, Path]) -> None:
    for name, path in exported.items():
        lines = path.read_text().splitlines()
        waived = [at for at, line in enumerate(lines) if "lint_off" in line]
        assert all(lines[at - 1].startswith("// ") for at in waived)
        found = [re.findall(r"lint_off (\w+)", lines[at])[0] for at in waived]
        # What a box tells of its combining is for the bench: a network leaves it open.
        whole = "alone" not in name and name != "rp3"
        assert found == ["DECLFILENAME", "UNUSED", *["PINCONNECTEMPTY"] * whole], name


def test_names_are_legal_in_verilog_and_systemverilog(exported: dict[str, Path]) -> None:
    for path in exported.values():
        ports = json.loads(Path(f"{path}.json").read_text())["ports"]
        assert all(is_identifier(port["name"]) for port in ports)
        assert len({port["name"].lower() for port in ports}) == len(ports)
        code = re.sub(r"//.*|/\*.*?\*/", "", path.read_text())
        assert "\\" not in code
        declared = re.findall(
            r"^  (?:input|output|wire|reg) .*?(\w+)(?: \[.*\])?[,;]?$", code, re.M
        )
        assert len(declared) > 25
        assert all(is_identifier(name) for name in declared)
        assert not KEYWORDS.intersection(re.findall(r"^module (\w+)", code, re.M))


def test_text_says_nothing_of_this_process(exported: dict[str, Path]) -> None:
    """The same network gives the same text every time."""
    for name, path in exported.items():
        assert not re.search(r" at 0x[0-9a-f]+", path.read_text()), name


def test_ports_of_a_processor(exported: dict[str, Path]) -> None:
    """Those of a request and of a reply, and where their fields are."""
    link = CombiningNetwork(8).link
    layouts = {"request": link.request_layout, "reply": link.reply_layout}
    expected: list[dict[str, Any]] = [
        {"name": name, "direction": "input", "width": 1} for name in ("clk", "rst")
    ]
    for processor in range(8):
        for stream, forward in (("request", "input"), ("reply", "output")):
            fields = {
                name: {"offset": field.offset, "width": field.width}
                for name, field in layouts[stream]
            }
            width, back = layouts[stream].size, {"input": "output", "output": "input"}[forward]
            name = f"i__{processor}__{stream}"
            expected += [
                {
                    "name": f"{name}__payload",
                    "direction": forward,
                    "width": width,
                    "fields": fields,
                },
                {"name": f"{name}__valid", "direction": forward, "width": 1},
                {"name": f"{name}__ready", "direction": back, "width": 1},
            ]
    summary = json.loads(Path(f"{exported[BY_COMMAND]}.json").read_text())
    assert summary["ports"] == expected
    # Four boxes in each of three columns, and eight memory modules.
    assert (summary["top"], summary["modules"], summary["cells"]) == ("network", 2, 20)


def test_ports_of_a_box_alone(exported: dict[str, Path]) -> None:
    """`later` is for the user to set, and `combined` to read."""
    boxes = {name: f"{exported[name]}.json" for name in ("box alone", "input-buffered box alone")}
    ports = {
        name: {port["name"]: port for port in json.loads(Path(path).read_text())["ports"]}
        for name, path in boxes.items()
    }
    further = {
        "later": {"name": "later", "direction": "input", "width": LINK.tag},
        "combined": {"name": "combined", "direction": "output", "width": 3},
    }
    assert ports["box alone"] == ports["input-buffered box alone"] | further


test_bad_input = command_refusals(
    "export combining -o x.v",
    ("ports=12", "Ports must be a power of the radix 2, not 12"),
    ("combine=some", "Parameter combine must be one of none, rp3, ultracomputer, all, not 'some'"),
    ("queues=input combine=all", "Combine must be none with queues=input, not all"),
    ("queues=middle", "Parameter queues must be one of output, input, not 'middle'"),
    ("lengths=4:2", "Length must be LOW:HIGH with LOW at most HIGH, not '4:2'"),
    ("width=65", "Width must be from 1 to 64, not 65"),
    ("rows=0", "Rows must be from 1 to 65536, not 0"),
    ("depth=1", "Depth must be at least 2, not 1"),
    ("paths=3", "Paths must be a power of two up to the radix 2, not 3"),
)
