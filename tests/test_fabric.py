# amaranth: UnusedElaboratable=no
"""The fabric: what it accepts, what it refuses, and that its component does as it says."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from driving import evaluate, exercise
from long_runs import long
from multicube.hdl import FAMILIES, MultistageNetwork, build, write_verilog
from multicube.hdl.fabric.cell import Cell, CellType, Meter
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Pin, Pins
from multicube.hdl.graphs.plans.named_plans import PLANS
from refusals import refusals

BYTE = data.StructLayout({"low": 4, "high": 4})
OTHER_BYTE = data.StructLayout({"low": 2, "high": 6})


class Adder(wiring.Component):
    """o = a + offset, where the offset is meant for a strap."""

    def __init__(self, width: int = 8) -> None:
        super().__init__({"a": In(width), "offset": In(4), "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.a + self.offset)
        return m


class Table(wiring.Component):
    """Reads a memory of four rows."""

    def __init__(self, rows: tuple[int, ...] = ()) -> None:
        self.rows = rows
        super().__init__({"address": In(2), "o": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = memory = Memory(shape=8, depth=4, init=self.rows)
        read = memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(self.address), self.o.eq(read.data)]
        return m


class Pipe(wiring.Component):
    """A stream passed on as it is."""

    def __init__(self, shape: Any = 8) -> None:
        link = stream.Signature(shape)
        super().__init__({"i": In(link), "o": Out(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o))
        return m


ADDER = CellType(Adder)


def fabric_of(
    cells: Mapping[str, Cell | CellType], boundary: Mapping[str, wiring.Member] | None = None
) -> Fabric:
    fabric = Fabric(boundary or {})
    for name, cell in cells.items():
        fabric.place(cell if isinstance(cell, Cell) else Cell(name, cell))
    return fabric


def answers(fabric: Fabric, inputs: str, output: str, words: list[int]) -> list[int]:
    component = FabricComponent(fabric)
    shown = []

    async def testbench(ctx: Any) -> None:
        for word in words:
            ctx.set(getattr(component, inputs), word)
            await ctx.delay(1e-9)
            shown.append(ctx.get(getattr(component, output)))

    evaluate(component, testbench)
    return shown


def chain(*offsets: int) -> Fabric:
    """Adders in a row, each with its own strap."""
    fabric = Fabric({"a": In(8), "o": Out(8)})
    end = Pin(None, ("a",))
    for number, offset in enumerate(offsets):
        cell = fabric.place(Cell(f"add_{number}", ADDER, {"offset": offset}))
        fabric.link(end, Pin(cell.name, ("a",)))
        end = Pin(cell.name, ("o",))
    fabric.link(end, Pin(None, ("o",)))
    return fabric


def test_straps_tell_cells_of_one_type_apart() -> None:
    fabric = chain(1, 2, 15)
    fabric.check()
    assert [cell.name for cell in fabric.types()[ADDER]] == ["add_0", "add_1", "add_2"]
    assert len(fabric.types()) == 1
    assert answers(fabric, "a", "o", [0, 5, 250]) == [18, 23, 268 % 256]


def test_contents_fill_the_memories_of_each_cell() -> None:
    table = CellType(Table)
    rows = {"left": (1, 2, 3, 4), "right": (9, 8)}
    fabric = fabric_of(
        {name: Cell(name, table, contents={"rows": row}) for name, row in rows.items()},
        {"address": In(2), "left": Out(8), "right": Out(8)},
    )
    for name in rows:
        fabric.link(Pin(None, ("address",)), Pin(name, ("address",)))
        fabric.link(Pin(name, ("o",)), Pin(None, (name,)))
    assert answers(fabric, "address", "left", [0, 1, 2, 3]) == [1, 2, 3, 4]
    assert answers(fabric, "address", "right", [0, 1, 2, 3]) == [9, 8, 0, 0]


def test_link_connects_every_leaf_of_an_interface_either_way_round() -> None:
    link = stream.Signature(BYTE)
    fabric = fabric_of({"pipe": CellType(Pipe, shape=BYTE)}, {"i": In(link), "o": Out(link)})
    fabric.link(Pin("pipe", ("i",)), Pin(None, ("i",)))
    fabric.link(Pin("pipe", ("o",)), Pin(None, ("o",)))
    fabric.check()
    assert fabric.drivers == {
        Pin("pipe", ("i", "payload")): Pin(None, ("i", "payload")),
        Pin("pipe", ("i", "valid")): Pin(None, ("i", "valid")),
        Pin(None, ("i", "ready")): Pin("pipe", ("i", "ready")),
        Pin(None, ("o", "payload")): Pin("pipe", ("o", "payload")),
        Pin(None, ("o", "valid")): Pin("pipe", ("o", "valid")),
        Pin("pipe", ("o", "ready")): Pin(None, ("o", "ready")),
    }
    assert fabric.links == [
        (Pin("pipe", ("i",)), Pin(None, ("i",))),
        (Pin("pipe", ("o",)), Pin(None, ("o",))),
    ]


def test_one_output_may_drive_many_inputs() -> None:
    fabric = fabric_of({"one": ADDER, "two": ADDER, "three": ADDER})
    for name in ("two", "three"):
        fabric.link(Pin("one", ("o",)), Pin(name, ("a",)))
    assert set(fabric.drivers.values()) == {Pin("one", ("o",))}


def test_cell_types_are_equal_when_class_and_parameters_are() -> None:
    assert CellType(Adder, width=4) == CellType(Adder, width=4)
    assert hash(CellType(Adder, width=4)) == hash(CellType(Adder, width=4))
    assert CellType(Adder, width=4) != CellType(Adder, width=5)
    assert CellType(Adder) != CellType(Table)
    assert CellType(Pipe, shape=BYTE) != CellType(Pipe, shape=OTHER_BYTE)
    assert repr(CellType(Adder, width=4)) == "Adder(width=4)"
    assert repr(CellType(Adder, like=Adder)) == "Adder(like=Adder)"  # wherever its module is


def rejected(error: type[Exception], message: str) -> Any:
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def test_place_rejects_a_name_that_is_taken() -> None:
    fabric = fabric_of({"one": ADDER})
    with rejected(ValueError, "Cell name 'one' is already taken by another cell"):
        fabric.place(Cell("one", CellType(Table)))


@pytest.mark.parametrize("value", [-1, 16])
def test_place_rejects_a_strap_out_of_its_range(value: int) -> None:
    message = f"Strap 'offset' of cell 'one' must fit 4 bits, not {value}"
    with rejected(ValueError, message):
        Fabric({}).place(Cell("one", ADDER, {"offset": value}))


def test_a_strap_is_an_integer_of_any_type(tmp_path: Path) -> None:
    """In Verilog True was 4'dTrue, and 1.0 was 4'd1.0."""
    alike = [chain(value) for value in (1, True, np.int64(1))]
    texts = set()
    for fabric in alike:
        write_verilog(fabric, tmp_path / "a.v", name="a")
        texts.add((tmp_path / "a.v").read_text() + rtlil.convert(FabricComponent(fabric)))
    assert len(texts) == 1
    with rejected(TypeError, "Strap 'offset' of cell 'add_0' must be an integer, not 1.0"):
        chain(1.0)


test_cell_type_rejects = refusals(
    CellType,
    (Table(), "Component must be a class of components, not <..."),
    (lambda: Table(), "Component must be a class of components, not <function ..."),
    error=TypeError,
)


class Counted(wiring.Component):
    def __init__(self, meters: tuple[Any, ...]) -> None:
        super().__init__({"i": In(1), "o": Out(1), "p": Out(1)})
        self.meters = meters


def counted(*meters: Any) -> None:
    Fabric.alone(CellType(Counted, meters=meters)).metered()


test_meter_rejects = refusals(
    counted,
    ("passed", TypeError, "Meter of counted must be a Meter, not 'passed'"),
    (Meter("passed", "x", "pulses"), "Meter of counted must count an output, not 'x'"),
    (Meter("passed", "i", "number"), "Meter of counted must count an output, not 'i'"),
    (Meter("passed", "o", "events"), "Kind of a meter of counted must be one of pulses, ..."),
    *[
        (Meter("a", "o", "pulses"), Meter(*other, "pulses"), "Meters of counted must be of diff...")
        for other in (("a", "p"), ("b", "o"))
    ],
)


def test_a_statistic_is_of_levels_or_of_events() -> None:
    fabric = Fabric({})
    for number, kind in enumerate(("level", "number")):
        fabric.place(Cell(f"cell_{number}", CellType(Counted, meters=(Meter("a", "o", kind),))))
    with pytest.raises(ValueError, match=r"^Meters of a must be all of kind level, or none$"):
        fabric.metered()


def test_a_component_without_elaborate_is_named() -> None:
    class Abstract(wiring.Component):
        o: Out(1)

    with rejected(TypeError, "Component Abstract must have an elaborate()"):
        Fabric.alone(CellType(Abstract)).check()


def test_parameters_of_a_cell_type_are_hashable() -> None:
    with rejected(TypeError, "Parameters of Table(rows=[1]) must be hashable"):
        CellType(Table, rows=[1])


@pytest.mark.parametrize("name", ["o", "missing"])
def test_place_rejects_a_strap_that_is_no_input(name: str) -> None:
    with rejected(ValueError, f"Strap '{name}' of cell 'one' is not an input of it"):
        Fabric({}).place(Cell("one", ADDER, {name: 0}))


def test_link_rejects_a_second_driver() -> None:
    fabric = fabric_of({"one": ADDER, "two": ADDER, "three": ADDER})
    fabric.link(Pin("one", ("o",)), Pin("three", ("a",)))
    message = "Pin three.a can't be driven by two.o: it is already driven by one.o"
    with rejected(ValueError, message):
        fabric.link(Pin("two", ("o",)), Pin("three", ("a",)))


def test_place_all_and_link_all_do_each_cell_and_pair() -> None:
    apart, together = chain(1, 2, 15), Fabric({"a": In(8), "o": Out(8)})
    offsets = (1, 2, 15)
    together.place_all(
        [Cell(f"add_{number}", ADDER, {"offset": each}) for number, each in enumerate(offsets)]
    )
    assert together.cells == apart.cells
    cells = [f"add_{number}" for number in range(3)]
    drivers = [Pin(None, ("a",)), *(Pin(cell, ("o",)) for cell in cells)]
    receivers = [*(Pin(cell, ("a",)) for cell in cells), Pin(None, ("o",))]
    together.link_all(Pins.of(drivers), Pins.of(receivers))
    together.check()
    assert together.drivers == apart.drivers
    assert together.links == apart.links
    together.link_all(Pins.of([]), Pins.of([]))
    assert len(together.links) == 4


def test_place_all_rejects_what_place_rejects() -> None:
    fabric = fabric_of({"one": Cell("one", ADDER, {"offset": 3})})
    good, twice = Cell("two", ADDER, {"offset": 1}), Cell("one", ADDER, {"offset": 1})
    with rejected(ValueError, "Cell name 'one' is already taken by another cell"):
        fabric.place_all([twice])
    with rejected(ValueError, "Cell name 'two' is already taken by another cell"):
        fabric.place_all([good, good])
    with rejected(ValueError, "Strap 'offset' of cell 'three' must fit 4 bits, not 16"):
        fabric.place_all([Cell("three", ADDER, {"offset": 16})])


@pytest.mark.parametrize("cell", ["three", "four"])  # driven before, and by the same call
def test_link_all_rejects_what_link_rejects(cell: str) -> None:
    names = ("one", "two", "three", "four")
    fabric = fabric_of({name: Cell(name, ADDER, {"offset": 3}) for name in names})
    fabric.link(Pin("one", ("o",)), Pin("three", ("a",)))
    message = f"Pin {cell}.a can't be driven by two.o: it is already driven by one.o"
    with rejected(ValueError, message):
        fabric.link_all(Pins.of_each(["one", "two"], ("o",)), Pins.of_each(["four", cell], ("a",)))
    with rejected(ValueError, "Pin five.a names a cell that does not exist"):
        fabric.link_all(Pins.of_each(["one"], ("o",)), Pins.of_each(["five"], ("a",)))


def test_check_rejects_an_input_without_a_driver() -> None:
    fabric = fabric_of({"one": Cell("one", ADDER, {"offset": 3})})
    with rejected(ValueError, "Pin one.a is not driven"):
        fabric.check()
    with rejected(ValueError, "Pin one.a is not driven"):
        rtlil.convert(FabricComponent(fabric))


def test_check_rejects_an_output_without_a_driver() -> None:
    with rejected(ValueError, "Pin (boundary).o is not driven"):
        Fabric({"i": In(1), "o": Out(1)}).check()


@pytest.mark.parametrize(
    ("shape", "other"),
    [(BYTE, OTHER_BYTE), (BYTE, 8), (8, 9)],
    ids=["two-layouts-of-equal-width", "layout-and-bits", "two-widths"],
)
def test_link_rejects_two_shapes(shape: Any, other: Any) -> None:
    fabric = fabric_of({"a": CellType(Pipe, shape=shape), "b": CellType(Pipe, shape=other)})
    pattern = r"^Pins a\.o\.payload and b\.i\.payload can't be linked: their shapes are .* and .*$"
    with pytest.raises(TypeError, match=pattern):
        fabric.link(Pin("a", ("o",)), Pin("b", ("i",)))


def test_link_rejects_two_interfaces_of_other_members() -> None:
    fabric = fabric_of({"a": CellType(Pipe), "b": ADDER})
    with rejected(TypeError, "Pins a.o and b.a can't be linked: their members differ"):
        fabric.link(Pin("a", ("o",)), Pin("b", ("a",)))


@pytest.mark.parametrize(("port", "what"), [("o", "outputs"), ("i", "inputs")])
def test_link_rejects_two_ends_of_one_direction(port: str, what: str) -> None:
    fabric = fabric_of({"a": CellType(Pipe), "b": CellType(Pipe)})
    message = f"Pins a.{port}.payload and b.{port}.payload can't be linked: both are {what}"
    with rejected(ValueError, message):
        fabric.link(Pin("a", (port,)), Pin("b", (port,)))


def test_link_rejects_a_cell_that_does_not_exist() -> None:
    fabric = fabric_of({"a": ADDER})
    with rejected(ValueError, "Pin nobody.a names a cell that does not exist"):
        fabric.link(Pin("a", ("o",)), Pin("nobody", ("a",)))


@pytest.mark.parametrize(
    "pin", [Pin("a", ("missing",)), Pin(None, ("missing",)), Pin("a", ("o", 0))]
)
def test_link_rejects_a_pin_that_does_not_exist(pin: Pin) -> None:
    fabric = fabric_of({"a": ADDER, "b": ADDER})
    with rejected(ValueError, f"Pin {pin} does not exist"):
        fabric.link(pin, Pin("b", ("a",)))


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("wiring_", "switch", "radix", "depth"),
    [
        case
        # The wirings have the same boxes: a quick run has all sizes of two.
        if case[0] == "butterfly" or case[2:] == (2, 1)
        else long(*case)
        for case in (
            (wiring_, switch, *size)
            for wiring_ in PLANS
            for switch in ("output-queued", "input-queued")
            for size in ((2, 1), (2, 2), (3, 1))
        )
    ],
)
def test_network_has_no_combinational_loop(
    wiring_: str, switch: str, radix: int, depth: int
) -> None:
    """Conversion refuses loops, which the simulator would not notice."""
    ports = radix * radix
    network = MultistageNetwork(ports, radix=radix, wiring=wiring_, switch=switch, depth=depth)
    assert rtlil.convert(network).count("\nmodule ") > ports


def test_conversion_finds_a_combinational_loop() -> None:
    fabric = fabric_of({"a": Cell("a", ADDER, {"offset": 1}), "b": Cell("b", ADDER, {"offset": 1})})
    fabric.link(Pin("a", ("o",)), Pin("b", ("a",)))
    fabric.link(Pin("b", ("o",)), Pin("a", ("a",)))
    with pytest.raises(Exception, match="cycle"):
        rtlil.convert(FabricComponent(fabric))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_network_is_placed_twice_in_scopes(name: str) -> None:
    """Each in a scope of its own: together they are two networks side by side."""
    network = build(name, **FAMILIES[name].example)
    fabric = Fabric({})
    for side in ("left", "right"):
        network.place(fabric.scope(side))
    single = network.fabric
    assert fabric.cells.keys() == {
        f"{side}_{cell}" for side in ("left", "right") for cell in single.cells
    }
    assert len(fabric.types()) == len(single.types())
    inner = {
        (receiver, driver)
        for receiver, driver in single.drivers.items()
        if receiver.cell is not None and driver.cell is not None
    }
    for side in ("left", "right"):
        scope = fabric.scope(side)
        assert {(scope.pin(a), scope.pin(b)) for a, b in inner} <= set(fabric.drivers.items())
    assert len(fabric.drivers) == 2 * len(inner)


@pytest.mark.long
def test_networks_in_scopes_follow_each_other() -> None:
    """Packets pass an omega network, and then its mirror image, to the terminal they came from."""
    networks = [MultistageNetwork(8, wiring=wiring, payload=8) for wiring in ("omega", "cube")]
    link = stream.Signature(networks[0].packet)
    fabric = Fabric({"i": In(link).array(8), "o": Out(link).array(8)})
    scopes = [fabric.scope("first"), fabric.scope("second")]
    first, second = (
        [[scope.pin(pin) for pin in pins] for pins in network.place(scope)]
        for network, scope in zip(networks, scopes)
    )
    for terminal in range(8):
        fabric.link(Pin(None, ("i", terminal)), first[0][terminal])
        fabric.link(first[1][terminal], second[0][terminal])
        fabric.link(second[1][terminal], Pin(None, ("o", terminal)))
    dut = FabricComponent(fabric)

    async def testbench(ctx: Any) -> None:
        tag = networks[0].tags.tag(3, 5)
        ctx.set(dut.i[3].payload, {"tag": tag, "payload": 77})
        ctx.set(dut.i[3].valid, 1)
        for port in dut.o:
            ctx.set(port.ready, 1)
        await ctx.tick()
        ctx.set(dut.i[3].valid, 0)
        for _ in range(5):
            await ctx.tick()
        arrived = [n for n, port in enumerate(dut.o) if ctx.get(port.valid)]
        # The tag is as it was once the first network has rotated it round: it says 5 again.
        assert arrived == [networks[1].tags.destination(tag, 5)]
        assert ctx.get(dut.o[arrived[0]].payload.payload) == 77

    exercise(dut, testbench)


def test_cells_declare_what_is_to_be_counted() -> None:
    network = build("cube", ports=4, switch="unbuffered")
    metered = network.fabric.metered()
    assert {name: [str(pin) for pin, _ in pins] for name, pins in metered.items()} == {
        "dropped": [f"{cell}.dropped" for cell in network.fabric.cells]
    }
    assert build("cube", ports=4).fabric.metered() == {}


def test_inputs_that_no_netlist_can_number_are_refused() -> None:
    class Wide(wiring.Component):
        def __init__(self, bits: int) -> None:
            super().__init__({"i": In(bits).array(2)})

    assert len(CellType(Wide, bits=2**15 - 2).leaves) == 2
    message = "^Inputs of a component must have at most 65532 bits together, not 65536 as .* wide$"
    with pytest.raises(ValueError, match=message):
        _ = CellType(Wide, bits=2**15).leaves
