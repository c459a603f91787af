"""The gates of a route as a module of its own, and all that they say, computed exhaustively."""

import json
from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...hdl.export.verilog_module import module_text
from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.children import scratch_folder
from ...hdl.switch.routed_switch import RoutedSwitch
from ..synthesis.tools import run_yosys

__all__ = ["RouteGates", "gates_text", "route_rows"]

_MOST_BITS = 22
"""Most bits of a position and a tag of which all values are tried."""


class RouteGates(wiring.Component):
    """The outputs that a header with a tag may take, at each input of a switch.

    Members
    -------
    tag : In(width)
    address : In(width)
        If the route needs it.
    exits : Out(outputs).array(inputs)
    """

    def __init__(self, switch: RoutedSwitch) -> None:
        assert switch.logic is not None
        self.switch, self.logic = switch, switch.logic
        shape = switch.shape
        members = {
            "tag": In(switch.packet.members["tag"]),
            "exits": Out(len(shape.outputs)).array(len(shape.inputs)),
        }
        if switch.logic.address:
            members["address"] = In(switch.logic.address)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        here = self.address if self.logic.address else Const(0, 0)
        none = Const(0, 1)
        shape = self.switch.shape
        for i, entry in enumerate(shape.inputs):
            came = None if entry.is_terminal else entry.end
            found = self.logic.exits(m, f"{i}", came, here, self.tag)
            # Only where there is a turn: nothing else is stored.
            bits = (found.get(out.end, none) if i in out.inputs else none for out in shape.outputs)
            m.d.comb += self.exits[i].eq(Cat(*bits))
        return m


def gates_text(switch: RoutedSwitch, name: str) -> str:
    """The gates as Verilog."""
    exits = [f"exits__{i}" for i in range(len(switch.shape.inputs))]
    return module_text(RouteGates(switch), name, ["tag", "address", *exits])


def route_rows(switch: RoutedSwitch) -> dict[str, object]:
    """What the gates say for all positions and tags.

    Returns
    -------
    dict
        `exits`: lists of outputs. `of`: for each input a text with a character for each position
        and tag, which is the number in `exits` and 48; tags vary fastest.
    """
    assert switch.logic is not None
    tag, address = switch.packet.members["tag"], switch.logic.address
    if tag + address > _MOST_BITS:
        raise InvalidValue(f"Routes in gates must have at most {_MOST_BITS} bits")
    values = _evaluated(gates_text(switch, "gates"), tag, address)
    count = 1 << (tag + address)
    known: dict[tuple[int, ...], int] = {}
    texts: list[str] = []
    for i in range(len(switch.shape.inputs)):
        columns = [format(value, f"0{count}b")[::-1] for value in values[f"exits__{i}"]]
        row = []
        for column in zip(*columns):
            outputs = tuple(j for j, bit in enumerate(column) if bit == "1")
            row.append(chr(48 + known.setdefault(outputs, len(known))))
        texts.append("".join(row))
    return {"exits": [list(one) for one in known], "of": texts}


def _evaluated(text: str, tag: int, address: int) -> dict[str, list[int]]:
    """Each bit of each output as a number, of which bit n is its value for input n: all at once."""
    with scratch_folder() as folder:
        (folder / "gates.v").write_text(text, "utf-8")
        script = "read_verilog gates.v; prep -flatten -top gates; opt -full; techmap; simplemap; "
        script += "abc -g AND,OR,XOR,MUX; opt_clean; write_json gates.json"
        run_yosys(script, folder, 600)
        module = json.loads((folder / "gates.json").read_text("utf-8"))["modules"]["gates"]
    count = 1 << (tag + address)
    values: dict[object, int] = {"0": 0, "1": (1 << count) - 1, "x": 0}
    everything = values["1"]
    inputs = [*module["ports"]["tag"]["bits"]] if "tag" in module["ports"] else []
    inputs += module["ports"]["address"]["bits"] if "address" in module["ports"] else []
    for at, bit in enumerate(inputs):
        # Runs of 2^at zeros and as many ones.
        run = ((1 << (1 << at)) - 1) << (1 << at)
        size = 2 << at
        while size < count:
            run |= run << size
            size *= 2
        values[bit] = run
    cells = {cell["connections"]["Y"][0]: cell for cell in module["cells"].values()}
    found = {}
    for name, port in module["ports"].items():
        if port["direction"] == "output":
            for bit in port["bits"]:
                _fill(bit, cells, values, everything)
            found[name] = [values[bit] for bit in port["bits"]]
    return found


def _fill(
    bit: object, cells: Mapping[object, dict], values: dict[object, int], everything: int
) -> None:
    """Compute a bit, and first those that it depends on."""
    stack = [bit]
    while stack:
        at = stack[-1]
        if at in values:
            stack.pop()
            continue
        cell = cells[at]
        pins = {pin: bits[0] for pin, bits in cell["connections"].items() if pin != "Y"}
        left = [one for one in pins.values() if one not in values]
        if left:
            stack += left
            continue
        a = values[pins["A"]]
        b = values[pins["B"]] if "B" in pins else 0
        kind = cell["type"].strip("$_")
        if kind == "NOT":
            found = a ^ everything
        elif kind == "MUX":
            s = values[pins["S"]]
            found = (b & s) | (a & (s ^ everything))
        else:
            found = {"AND": a & b, "OR": a | b, "XOR": a ^ b}[kind]
        values[at] = found
        stack.pop()
