# amaranth: UnusedElaboratable=no
"""Multidimensional-access memory: rows, columns and blocks of a square, each in one access.

The memory of STARAN and ASPRO (Siegel et al., VII-A; K. E. Batcher, "The multidimensional access
memory in STARAN", IEEE Trans. Comput. C-26, 1977). The element of row r and column c is in module
r XOR c: the elements of a row are in different modules, and so are those of a column. The flip
network restores the order of the elements that come from the modules.
"""

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Cell, CellType
from ...fabric.checks import check_integer, check_limit, check_power_of_two
from ...fabric.fabric import Fabric
from ...fabric.fabric_component import FabricComponent
from ...fabric.payload_shape import check_payload
from ...fabric.pins import Pin
from ...graphs.plans.named_plans import multistage_plan
from ...primitives.interchange_box import InterchangeBox
from .stage_controlled import place_stage_controlled

__all__ = ["MultidimensionalMemory"]

_MOST_MODULES = 2**12


class _Register(wiring.Component):
    """Delays its input by one cycle."""

    def __init__(self, width: int) -> None:
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


class _Split(wiring.Component):
    """The elements of an array as separate outputs. Wires only."""

    def __init__(self, layout: data.ArrayLayout) -> None:
        self.layout = layout
        super().__init__({"i": In(layout), "o": Out(layout.elem_shape).array(layout.length)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [port.eq(self.i[index]) for index, port in enumerate(self.o)]
        return m


class _Merge(wiring.Component):
    """An array of separate inputs. Wires only."""

    def __init__(self, layout: data.ArrayLayout) -> None:
        self.layout = layout
        super().__init__({"i": In(layout.elem_shape).array(layout.length), "o": Out(layout)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.o[index].eq(port) for index, port in enumerate(self.i)]
        return m


def _request(size: int, planes: int) -> dict[str, wiring.Member]:
    """The inputs of an access that all modules share."""
    bits = size.bit_length() - 1
    plane = {"plane": In(range(planes))} if planes > 1 else {}
    return {"mask": In(bits), "index": In(bits), **plane, "write": In(1)}


class _MemoryModule(wiring.Component):
    """One of the modules, between the outputs and the inputs of the flip network.

    An access takes two cycles, the second of which overlaps with the first of the next access. In
    the first, the module computes its address and starts to read. In the second, `o` shows the
    element that was read, or the element to be written by the port of the same number; the flip
    network carries the latter to its module, which stores it from `i`. An access that reads what
    the one before it writes reads the new value.

    Members
    -------
    number : In(n)
        Number of this module. Constant.
    mask, index, plane, write
        As in `MultidimensionalMemory`.
    data_in : In(shape)
    i : In(shape)
        From the flip network. Nothing depends on it combinationally.
    o : Out(shape)
        Into the flip network, from registers and a multiplexer.
    """

    def __init__(self, size: int, shape: ShapeLike, planes: int) -> None:
        self.size = size
        self.shape = shape
        self.planes = planes
        bits = size.bit_length() - 1
        super().__init__(
            {
                "number": In(bits),
                **_request(size, planes),
                "data_in": In(shape),
                "i": In(shape),
                "o": Out(shape),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = Memory(shape=self.shape, depth=self.size * self.planes, init=[])
        store = rows.write_port()
        read = rows.read_port(transparent_for=[store])
        writing = Signal()
        written = Signal(self.shape)
        # Rows of the square; where the mask is 1, each module uses a different row.
        row = self.index ^ (self.number & self.mask)
        m.d.comb += read.addr.eq(row if self.planes == 1 else Cat(row, self.plane))
        m.d.sync += [
            writing.eq(self.write),
            store.addr.eq(read.addr),
            Value.cast(written).eq(Value.cast(self.data_in)),
        ]
        m.d.comb += [
            store.en.eq(writing),
            Value.cast(store.data).eq(Value.cast(self.i)),
            Value.cast(self.o).eq(Mux(writing, Value.cast(written), Value.cast(read.data))),
        ]
        return m


class MultidimensionalMemory(FabricComponent):
    """N x N elements in N memory modules; any row or column can be accessed in one cycle.

    Each cycle accesses N elements of one plane: it reads them, or writes them if `write` is 1. Port
    number p accesses the element whose row has the bits of p where `mask` is 1 and those of `index`
    elsewhere, and whose column has the bits of `index` where `mask` is 1 and those of p elsewhere:

    ==================  =====================================================
    mask                elements of an access
    ==================  =====================================================
    0                   row `index`; port p has column p
    N - 1               column `index`; port p has row p
    others, m ones      2^m rows by N / 2^m columns
    ==================  =====================================================

    A reset leaves the elements as they are.

    Latency: `data_out` shows in the next cycle what is read in this one (or, after a write, what
    was written, in the order of the modules). Throughput is one access per cycle in any order; a
    read sees all writes of earlier cycles. `data_out` depends only on registers and memories,
    through a multiplexer and the n stages of one flip network, which carries either the elements
    read or the elements to be written. The modules are synchronous memories of N x `planes` rows
    with one read port and one write port.

    Parameters
    ----------
    size : int
        N: number of rows, columns and modules, a power of two from 2 to 4,096.
    shape : ShapeLike
        Shape of an element; 1 is a single bit.
    planes : int
        Number of squares, at least 1. ASPRO's 32 x 4096 bits are 128 planes of 32 x 32.

    Members
    -------
    mask : In(n)
        The bits of a row number that come from the port. n = log2 N.
    index : In(n)
    plane : In(range(planes))
        Only if there is more than one.
    write : In(1)
    data_in : In(data.ArrayLayout(shape, size))
    data_out : Out(data.ArrayLayout(shape, size))

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or the memory would have too many elements.

    Examples
    --------
    >>> from multicube.hdl import MultidimensionalMemory
    >>> MultidimensionalMemory(32, planes=128).size
    32
    """

    def __init__(self, size: int = 32, *, shape: ShapeLike = 1, planes: int = 1) -> None:
        size = check_integer("Size", size, 2)
        check_limit("Size", size, _MOST_MODULES)
        check_power_of_two("Size", size)
        check_payload(shape)
        planes = check_integer("Planes", planes, 1, 2**16)
        self.size = size
        self.shape = shape
        self.planes = planes
        bits = size.bit_length() - 1
        layout = data.ArrayLayout(shape, size)
        request = _request(size, planes)
        fabric = Fabric({**request, "data_in": In(layout), "data_out": Out(layout)})

        fabric.place(Cell("split", CellType(_Split, layout=layout)))
        fabric.place(Cell("merge", CellType(_Merge, layout=layout)))
        fabric.place(Cell("register", CellType(_Register, width=bits)))
        fabric.link(Pin(None, ("data_in",)), Pin("split", ("i",)))
        fabric.link(Pin(None, ("index",)), Pin("register", ("i",)))
        plan = multistage_plan("flip", size)
        flip = place_stage_controlled(
            fabric,
            plan,
            CellType(InterchangeBox, radix=2, shape=shape),
            Pin("register", ("o",)),
            plan.tags("xor").destination_digits,
        )
        module = CellType(_MemoryModule, size=size, shape=shape, planes=planes)
        for number, (entry, exit_) in enumerate(zip(flip.inputs, flip.outputs)):
            cell = fabric.place(Cell(f"module_{number}", module, {"number": number}))
            for name in request:
                fabric.link(Pin(None, (name,)), Pin(cell.name, (name,)))
            fabric.link(Pin("split", ("o", number)), Pin(cell.name, ("data_in",)))
            fabric.link(Pin(cell.name, ("o",)), entry)
            fabric.link(exit_, Pin(cell.name, ("i",)))
            fabric.link(exit_, Pin("merge", ("i", number)))
        fabric.link(Pin("merge", ("o",)), Pin(None, ("data_out",)))
        super().__init__(fabric)
