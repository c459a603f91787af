# amaranth: UnusedElaboratable=no
"""The width of payloads as a parameter of exported Verilog."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import signed
from long_runs import long
from multicube.hdl import build
from multicube.hdl.export.parametric import with_parameter
from multicube.hdl.export.style import Style
from multicube.hdl.export.verilog import verilog_text, write_verilog
from multicube.hdl.export.yosys_text import in_order
from refusals import refused
from verilog_tools import assert_lint_free, read_with_icarus, run_yosys

WORDS = [
    "cube ports=2 depth=2",
    *map(
        long,
        (
            "cube ports=4 switch=input-queued parity=packet",
            "omega ports=4 switch=wormhole",
            "torus k=3 n=1",
            "dcsh k=2 n=1",
            "hypercube n=2",
            "deflection",
            # What Yosys narrows in an order of its own.
            "crossbar ports=8",
            "torus k=5 n=1",
            "spanning-bus-hypercube k=2 n=1",
        ),
    ),
]
"""In that of `deflection`, wires are as wide as three words."""


Written = Callable[[str], tuple[Path, dict[str, Any]]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The file of a network with the parameter, those beside it, and the summary."""

    @cache
    def write(words: str) -> tuple[Path, dict[str, Any]]:
        path = tmp_path_factory.mktemp("parametric") / "gate.v"
        return path, write_verilog(build(words), path, "gate", parameter=True, core=True)

    return write


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("width", [5, long(1), long(40)])
def test_it_is_the_network_with_this_payload(
    words: str, width: int, written: Written, tmp_path: Path
) -> None:
    """Yosys proves it, register by register, for widths that the text was not made from."""
    text = written(words)[0].read_text()
    other = verilog_text(build(words).altered(payload=width), "gold")
    assert_equivalent(text, other, width, tmp_path)


def assert_equivalent(text: str, other: str, width: int, folder: Path) -> None:
    (folder / "gate.v").write_text(text)
    (folder / "gold.v").write_text(other)
    script = [
        "read_verilog gold.v gate.v",
        f"chparam -set PAYLOAD {width} gate",
        "hierarchy; proc; setattr -mod -unset keep_hierarchy; flatten",
        "memory -nordff; opt_clean; async2sync",
        # Wires without a name are numbered in orders of their own.
        *(f"rename -hide w:*_{role} w:*_{role}_*" for role in ("part", "next")),
        "equiv_make gold gate equiv; hierarchy -top equiv",
        "equiv_simple -undef; equiv_induct -undef; equiv_status -assert",
    ]
    run_yosys(script, folder, "-q")


def test_names_of_a_netlist_follow_its_cells() -> None:
    """Which name of a wire stays, and so the order of the wires, depends on the width."""
    netlist = """autoidx 9
module \\m
  attribute \\unused_bits "1"
  wire width 2 $b$1
  wire $a$2
  wire width 2 output 2 \\o
  wire input 1 \\i
  cell $not $4
    connect \\A \\i
    connect \\Y $a$2
  end
  connect \\o $b$1
  connect $b$1 [1] \\i
  connect $b$1 [0] $a$2
end
"""
    other = netlist.replace("$a$2", "$auto$99").replace("$4", "$100")
    other = other.replace("  wire $auto$99\n", "").replace("\\m\n", "\\m\n  wire $auto$99\n")
    line = "  connect \\o $b$1\n"
    other = other.replace(line, "").replace("end\n", f"end\n{line}", 1)
    assert in_order(other) == in_order(netlist)
    assert in_order(netlist).count("wire$0000001") == 3


@pytest.mark.long
def test_the_proof_finds_a_bit_that_is_missing(tmp_path: Path) -> None:
    network = build("cube ports=2 depth=2")
    text = verilog_text(network, "gate", parameter=True)
    broken = text.replace(
        "assign o__0__payload = box_0_0__o__0__payload", "assign o__0__payload = 0"
    )
    assert broken != text
    other = verilog_text(network.altered(payload=5), "gold")
    with pytest.raises(AssertionError, match="unproven"):
        assert_equivalent(broken, other, 5, tmp_path)


@pytest.mark.long
def test_other_tools_read_it(tmp_path: Path) -> None:
    """With memories as modules too, whose width is a sum."""
    path = tmp_path / "network.v"
    network = build("cube ports=2 depth=8 switch=input-queued")
    text = verilog_text(network, style=Style("modules"), parameter=True)
    path.write_text(text)
    assert_lint_free([path])
    read_with_icarus([path])
    assert "localparam WIDTH = PAYLOAD+1;" in text
    assert ".WIDTH(PAYLOAD+1)" in text
    assert "// Parameter PAYLOAD is the width of payloads; widths below are for 16." in text


def test_default_of_a_single_bit() -> None:
    """Only the default and the comments differ from those of a network with wider payloads."""
    text = cache(lambda width: verilog_text(build("cube ports=2 depth=2", payload=width)))
    one, two = (with_parameter(width, text(width), text).partition("\nmodule ") for width in (1, 2))
    assert "widths below are for 1." in one[0]
    assert "PAYLOAD = 1)" in one[2]
    assert one[2].replace("PAYLOAD = 1)", "PAYLOAD = 2)") == two[2]


def test_files_beside_name_the_parameter(written: Written) -> None:
    """The template is read beside the module, with a width that is not the default."""
    path, summary = written(WORDS[0])
    assert summary["parameters"] == {"PAYLOAD": 16}
    assert json.loads((path.parent / "gate.v.json").read_text())["parameters"] == {"PAYLOAD": 16}
    instance = (path.parent / "gate.veo").read_text()
    assert "\ngate #(.PAYLOAD(16)) gate_0 (\n" in instance
    wires = "".join(
        f"  wire [{21 if port['name'].endswith('payload') else 0}:0] {port['name']};\n"
        for port in summary["ports"]
    )
    wider = f"module user;\n{wires}{instance.replace('(16)', '(21)')}endmodule\n"
    (path.parent / "user.v").write_text(wider)
    read = run_yosys(["read_verilog gate.v user.v", "hierarchy -check -top user"], path.parent)
    assert "Resizing" not in read


def test_what_a_payload_does_else_is_refused(call: Callable, tmp_path: Path) -> None:
    message = (
        "Payload can't be the parameter PAYLOAD: it does more in this network than widen wires, "
        "registers and memories"
    )
    network = build("cube ports=2 depth=1")
    only = "Only a network's payload that is a number of bits can be a parameter, not that of "
    with refused(f"{only}<Fabric of ..."):
        verilog_text(network.fabric, parameter=True)
    for other in build("combining ports=4"), build("cube", ports=2, payload=signed(9)):
        with refused(f"{only}<{other.family} ..."):
            write_verilog(other, tmp_path / "net.v", parameter=True)
    output = tmp_path / "net.v"
    # Payloads of 10 to 16 bits have as many bits of parity.
    words = ("cube", "ports=2", "depth=1", "parity=byte", "payload=10")
    said = call("export", *words, "--parameter", "-o", output)
    assert (said.status, said.err) == (2, f"multicube: {message}\n")
    assert not list(tmp_path.iterdir())
    said = call("export", "cube", "ports=2", "--parameter", "--node", "-o", output)
    assert said.status == 2


def test_numbers_that_do_not_grow_with_the_width_are_refused() -> None:
    def text(width: int) -> str:
        return f"module m (\n  input [{width * width}:0] i\n);\nendmodule\n"

    with pytest.raises(ValueError, match=r"^Payload can't be the parameter"):
        with_parameter(4, text(4), text)
