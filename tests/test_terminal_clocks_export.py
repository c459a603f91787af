"""Exported networks whose terminals have clocks of their own: their ports, and what tools say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, command_refusals
from long_runs import long
from multicube.hdl import (
    AXI_CLOCK,
    AxiStreamNetwork,
    MultiClockNetwork,
    TerminalClocks,
    build,
    write_verilog,
)
from multicube.hdl.export.top_ports import port_list
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.fabric import Fabric
from verilog_tools import assert_lint_free, check_with_yosys


def _clocks(fabric: Fabric, **options: Any) -> list[str]:
    """The ports that are clocks and resets."""
    names = [port["name"] for port in port_list(fabric, **options)]
    return [name for name in names if re.search("(clk|rst|resetn)$", name)]


def test_each_terminal_has_a_clock_and_a_reset() -> None:
    network = build("cube", ports=2, payload=4)
    each, one = (
        MultiClockNetwork(network, TerminalClocks(word)).fabric for word in ("each", "one")
    )
    assert _clocks(each) == [
        *("clk", "rst"),
        *("terminal_0_clk", "terminal_0_rst"),
        *("terminal_1_clk", "terminal_1_rst"),
    ]
    assert _clocks(one) == ["clk", "rst", "terminals_clk", "terminals_rst"]
    axis = AxiStreamNetwork(network, TerminalClocks("one")).fabric
    assert _clocks(axis, clock=AXI_CLOCK) == [
        *("aclk", "aresetn"),
        *("terminals_aclk", "terminals_aresetn"),
    ]


@pytest.fixture(scope="module")
def text() -> str:
    """A network with AXI4-Stream ports."""
    network = build("cube", ports=2, payload=8)
    return verilog_text(AxiStreamNetwork(network, TerminalClocks()).fabric, clock=AXI_CLOCK)


def test_cells_have_the_clocks_of_their_side(text: str) -> None:
    """What a terminal sends is taken with its clock, on AXI4-Stream ports too."""
    clocks = {
        name: re.findall(r"\.(\w*)clk\((\w+)\)", pins)
        for name, pins in re.findall(r"^  network_\w+ (\w+) \((.*?)^  \);", text, re.M | re.S)
    }
    assert clocks["axis_in_1"] == [("", "terminal_1_aclk")]
    assert clocks["entry_crossing_1"] == [("write_", "terminal_1_aclk"), ("read_", "aclk")]
    assert clocks["exit_crossing_0"] == [("write_", "aclk"), ("read_", "terminal_0_aclk")]
    assert clocks["box_0_0"] == [("", "aclk")]
    assert "assign terminal_1_rst = ~terminal_1_aresetn;" in text
    assert "(2 of them) rising edge" in text
    assert text.count("\nmodule network_clock_crossing") == 1


def test_synchronisers_are_marked(text: str) -> None:
    """And nothing else: two stages for either pointer, and two for the writer's reset."""
    marked = re.findall(r'^  \(\* ASYNC_REG = "TRUE" \*\)\n  reg (?:\[3:0\] )?(\w+);$', text, re.M)
    assert len(marked) == text.count("ASYNC_REG") == 6
    assert len([name for name in marked if name.endswith("stage0")]) == 3
    begin = text.index("module network_clock_crossing")
    assert begin < text.index("ASYNC_REG") <= text.rindex("ASYNC_REG")
    assert text.rindex("ASYNC_REG") < text.index("endmodule", begin)


@pytest.mark.long
@pytest.mark.parametrize("case", ["axis", long("streams"), long("one")])
def test_tools_have_nothing_to_say(case: str, tmp_path: Path) -> None:
    network = build("torus", k=3, n=1, payload=8)
    if case == "axis":
        fabric, clock = AxiStreamNetwork(network, TerminalClocks()).fabric, {"clock": AXI_CLOCK}
    else:
        word = "one" if case == "one" else "each"
        fabric, clock = MultiClockNetwork(network, TerminalClocks(word, depth=2)).fabric, {}
    path = tmp_path / "network.v"
    write_verilog(fabric, path, **clock)
    assert_lint_free([path])
    assert "Warning" not in check_with_yosys([path])


def test_command(call: Call) -> None:
    words = "export cube ports=2 payload=4 --terminal-clocks each --crossing-depth 4 -o x.v --json"
    done = call(*words.split())
    assert done.status == 0
    assert [port["name"] for port in json.loads(done.out)["ports"]][:3] == [
        *("clk", "rst"),
        "terminal_0_clk",
    ]
    text = Path("x.v").read_text()
    assert "// Module network: cube of 2 terminals with their own clock" in text
    assert "depth=4" in text
    assert "The clocks need no relation" in text


test_command_rejects = command_refusals(
    "export -o net.v",
    ("cube --terminal-clocks own", "Terminal clocks must be one of each, one, not 'own'"),
    (
        "cube --terminal-clocks each --crossing-depth 6",
        "Depth of a clock crossing must be a power of two, not 6",
    ),
    ("cube --crossing-depth 8", "Option --crossing-depth needs --terminal-clocks"),
    ("cube --terminal-clocks one --node", "Option --terminal-clocks does not go with --node"),
    (
        "cube --terminal-clocks one --partitions",
        "Option --terminal-clocks does not go with --partitions",
    ),
    ("combining --terminal-clocks one", "need a network that carries packets, not combining"),
    part=True,
)
