# amaranth: UnusedElaboratable=no
"""A reset at any moment: what is accepted after it arrives once, and nothing from before it does.

Memories do not hear a reset, in hardware and in all engines. So these tests pulse it amid traffic:
in every network of the catalogue on the compiled engine and in its Verilog (`test_conformance.py`
does on Amaranth's engine), and in all that stands between a network and its terminals.
"""

import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from example_networks import WORDS, example, skip_if_combining
from long_runs import ALIKE, families, long
from multicube.hdl import FAMILIES, Network, PartitionedNetwork, build, write_verilog
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.graph_network import GraphNetwork
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.routing.rewritable import Rewritable
from multicube.hdl.graphs.routing.up_down import UpDown
from multicube.hdl.networks.buses import AxiNetwork, WishboneNetwork
from multicube.sim import Run, pattern
from multicube.sim.engines import ResetEngine
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.verilator import VerilatorEngine
from multicube.sim.measure.access_history import access_histories
from multicube.sim.measure.serial_order import is_serializable
from multicube.sim.run.checkpoint import Checkpoint
from multicube.sim.run.observers import Observed
from multicube.sim.run.rerouting import write_tables
from multicube.sim.workload.random_faults import network_links
from random_modules import flat
from resets import AxisEnds, Ends, Scoreboard, check_resets, counters, pulses, reset_bench, start

SEED = 44

MORE = [
    "torus recovery=discard length=1:3",
    "omega switch=unbuffered resubmit=8",
    "omega switch=wormhole policy=drop resubmit=4",
    "omega parity=byte",
    "omega switch=circuit parity=packet length=2:4",
    "torus pipeline=2",
    "cube broadcast=1",
]
"""Networks whose memories, or further parts, matter after a reset."""


def network_of(words: str) -> Network:
    network = example(words)
    skip_if_combining(network)
    return network


# Engines.


class Registers(wiring.Component):
    """Registers that hear a reset, wholly, in part or not, and memories with all kinds of ports."""

    def __init__(self) -> None:
        outputs = {f"o{number}": Out(40) for number in range(9)}
        super().__init__({"a": In(40), "b": In(3), "e": In(1), **outputs})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        heard, kept = Signal(40, init=0x5_0000_0003), Signal(40, init=9, reset_less=True)
        halves, bit = Signal(40, init=0x12_3456_789A), Signal(init=1)
        m.d.sync += [heard.eq(heard + self.a), kept.eq(kept ^ self.a), bit.eq(self.e & ~bit)]
        m.d.sync += halves[:20].eq(self.a[20:])
        m.submodules.part = part = Module()
        part.d.sync += halves[20:].eq(halves[20:] + 1)
        with m.If(self.e & heard[0]):
            m.d.sync += heard.eq(0)
        shown = [heard, kept, halves, bit]
        for depth in (3, 8):  # the smaller one is kept in registers
            m.submodules[f"memory_{depth}"] = memory = Memory(shape=40, depth=depth, init=[5, 6])
            write = memory.write_port()
            reads = [memory.read_port(domain="comb"), memory.read_port(transparent_for=[write])]
            m.d.comb += [write.addr.eq(self.b), write.data.eq(heard), write.en.eq(self.e)]
            m.d.comb += [*(port.addr.eq(self.b) for port in reads), reads[1].en.eq(bit)]
            shown += [port.data for port in reads]
        m.d.comb += [getattr(self, f"o{number}").eq(value) for number, value in enumerate(shown)]
        return m


def alone(component: type) -> Fabric:
    type_ = CellType(component)
    fabric = Fabric(
        {str(path[0]): type_.build().signature.members[path[0]] for path in type_.leaves}
    )
    fabric.place(Cell("it", type_))
    for path in type_.leaves:
        fabric.link(Pin(None, path), Pin("it", path))
    return fabric


@pytest.mark.parametrize("verilog", [False, long(True)])
def test_engines_reset_alike(verilog: bool) -> None:
    """Registers get their initial values, other state lives on, in each engine and in Verilog."""
    fabric = alone(Registers)
    generator = random.Random(SEED)
    engines: list[Any] = [AmaranthEngine(fabric), CompiledEngine(fabric)]
    engines += [VerilatorEngine(fabric, optimise="-O0")] if verilog else []
    outputs = [Pin(None, (f"o{number}",)) for number in range(9)]
    seen = set()
    for _ in range(150):
        values = {
            name: generator.getrandbits(bits) for name, bits in (("a", 40), ("b", 3), ("e", 1))
        }
        length = generator.choice((0, 0, 0, 1, 2))
        for engine in engines:
            assert isinstance(engine, ResetEngine)
            for name, value in values.items():
                engine.set(name, value)
            if length:
                engine.reset(length)
            else:
                engine.step(1)
        shown = [tuple(engine.get(pin) for pin in outputs) for engine in engines]
        assert shown == [shown[0]] * len(engines), (engines[0].cycle, length)
        assert len({engine.cycle for engine in engines}) == 1
        if length:
            assert (shown[0][0], shown[0][2], shown[0][3]) == (0x5_0000_0003, 0x12_3456_789A, 1)
            seen.add(shown[0][1])
    assert len(seen) > 20, "what does not hear the reset goes on"
    for engine in engines:
        engine.close() if hasattr(engine, "close") else None


@pytest.mark.parametrize("cycles", [0, -1, 1.5])
def test_engines_reject_cycles(cycles: Any) -> None:
    fabric = alone(Registers)
    for engine in (AmaranthEngine(fabric), CompiledEngine(fabric)):
        with engine, pytest.raises((TypeError, ValueError), match=r"^Cycles must be "):
            engine.reset(cycles)
        assert engine.cycle == 0


@pytest.mark.long
def test_reset_of_all_runs() -> None:
    """Runs that share vectors, and those that do not."""
    network = build("cube", ports=4)
    benches = [reset_bench(network, seed=seed) for seed in range(80)]
    pins = counters(benches[0])
    with CompiledEngine(benches) as engine:
        start(engine)
        engine.step(25)
        first = [[engine.get(pin, run) for pin in pins] for run in range(80)]
        engine.step(9)
        engine.reset()
        engine.step(25)
        assert [[engine.get(pin, run) for pin in pins] for run in range(80)] == first
        assert first[0] != first[79]


def test_a_checkpoint_knows_of_resets(tmp_path: Path) -> None:
    """A run that goes on from its checkpoint has had its reset, and one without it is another."""
    bench = reset_bench(build("cube", ports=4))
    path = tmp_path / "run.npz"

    def run(resets: int, seconds: float) -> list[int]:
        with Observed(
            CompiledEngine(bench), [Checkpoint(path, about="it", seconds=seconds)]
        ) as engine:
            start(engine)
            engine.step(30)
            for _ in range(resets):
                engine.reset(2)
            engine.step(40)
            assert engine.cycle == 70 + 2 * resets
            return [engine.get(pin) for pin in counters(bench)]

    whole = run(1, 0)  # which leaves a checkpoint
    assert run(1, 1000) == whole
    path.unlink()
    assert run(0, 1000) != whole
    run(1, 0)
    with pytest.raises(ValueError, match=r" is the checkpoint of another run$"):
        run(0, 1000)


# Networks.


@pytest.mark.one_in(16)
@pytest.mark.parametrize(
    "words",
    [
        *families("crossbar", "lssn", "bus", "dragonfly", "delta", "dcsh"),
        *map(long, MORE[:5]),
        *MORE[5:],
        *map(long, WORDS),
    ],
)
def test_a_network_is_new_after_a_reset(words: str) -> None:
    """All counters are those of a new one, cycle by cycle; in the end the books balance."""
    print("seed", SEED)
    network = network_of(words)
    check_resets(network, list(pulses(SEED, 3 if network.reset_cycles == 1 else 8)), seed=SEED)


def icarus(bench: Any, pins: Sequence[Pin], script: Sequence[int], folder: Path) -> list[list[int]]:
    """What exported Verilog shows at some pins after each span of cycles; negative spans are those
    of resets."""
    names = {f"seen_{number}": pin for number, pin in enumerate(pins)}
    fabric = bench.exposing(names)
    write_verilog(fabric, folder / "network.v")
    widths = {name: fabric.boundary[name,].width for name in names}
    wires = " ".join(f"wire [{width - 1}:0] {name};" for name, width in widths.items())
    ports = ", ".join(f".{name}({name})" for name in names)
    show = "; ".join(f'$write("%h ", {name})' for name in names)
    spans = [
        f"cycles({span});" if span > 0 else f"rst = 1; cycles({-span}); rst = 0;" for span in script
    ]
    lines = "\n".join(f'{span} #1 {show}; $display("");' for span in spans)
    (folder / "test.v").write_text(f"""
module test;
  reg clk = 0, rst = 0, on = 1; {wires} integer at;
  network it (.clk(clk), .rst(rst), .send(on), .measure(on), {ports});
  task cycles(input integer count);
    for (at = 0; at < count; at = at + 1) begin #1 clk = 1; #1 clk = 0; end
  endtask
  initial begin
    {lines}
  end
endmodule
""")
    for command in (["iverilog", "-o", "test", "test.v", "network.v"], ["vvp", "-n", "test"]):
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return [[int(word, 16) for word in line.split()] for line in done.stdout.splitlines()]


VERILOG = (
    *("omega ports=2 switch=unbuffered resubmit=4", *MORE),
    *(name for name in FAMILIES if name not in ALIKE),
)


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
@pytest.mark.parametrize("words", VERILOG)
@pytest.mark.long
def test_verilog_resets_as_the_engine_does(words: str, tmp_path: Path) -> None:
    """All counters, before, in and after resets at random moments."""
    print("seed", SEED)
    bench = reset_bench(network_of(words), seed=SEED)
    script = [span for wait, length in pulses(SEED, 4, within=40) for span in (wait, -length)]
    script += [60]
    pins = counters(bench)
    expected = []
    with CompiledEngine(bench) as engine:
        start(engine)
        for span in script:
            engine.step(span) if span > 0 else engine.reset(-span)
            expected.append([engine.get(pin) for pin in pins])
    assert sum(expected[-1]) > 0
    assert icarus(bench, pins, script, tmp_path) == expected


# Memories.


def test_every_memory_is_in_the_table() -> None:
    """Who adds a memory says in the documentation what a reset means for its contents."""
    root = Path(__file__).parent.parent
    makers = {
        path.stem
        for path in (root / "hdl").rglob("*.py")
        if re.search(r"[ (]Memory\($|[ (]Memory\(\w", path.read_text(), re.M)
        or "AsyncFIFO(" in path.read_text()
    }
    text = (root / "docs" / "design" / "architecture.md").read_text()
    table = text.partition("\n## A reset\n")[2].partition("\n## ")[0]
    assert makers == set(re.findall(r"`(\w+)\.py`", table))


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    ["combining", "combining hashing=polynomial", long("processor-memory")]
    + [long(name) for name in ("cedar", "ultracomputer", "rp3-combining", "rp3")],
)
def test_fetch_and_add_is_conserved(words: str) -> None:
    """A reset leaves the words as they are. From then on each is what it was and the sum of what
    was added, all of it once; the replies have a serial order."""
    print("seed", SEED)
    network = example(words)
    add = "fetch-and-add"
    run = Run(
        pattern("hotspot:0.5:0", network.ports), 0.7, seed=SEED, source_depth=4, operations=(add,)
    )
    bench = bench_for(network, run.sources(network), bins=8)
    width = network.link.width

    def memory(engine: CompiledEngine) -> list[list[int]]:
        return [engine.memory(name, "words") for name in bench.memories]

    with CompiledEngine(bench) as engine:
        for wait, length in pulses(SEED, 4):
            engine.set("send", 1)
            engine.step(wait)
            engine.reset(length)
            before = memory(engine)
            engine.step(60)
            engine.set("send", 0)
            engine.step(3000)
            after = memory(engine)
            injected, delivered = (engine.read(bench.sinks, at) for at in ("injected", "delivered"))
            assert injected == delivered
            assert min(injected) > 0
            histories = access_histories(engine, bench)
            assert histories is not None
            assert sum(map(len, histories.values())) == sum(delivered)
            initial, final = (
                {word: rows[at[0]][at[1]] for word in histories for at in [network.stored(word)]}
                for rows in (before, after)
            )
            for word, accesses in histories.items():
                total = sum(access.operand for access in accesses)
                if not any(access.bits for access in accesses):  # of parts of a word
                    assert final[word] == (initial[word] + total) % (1 << width)
            untouched = [list(rows) for rows in before]
            for word in histories:
                module, row = network.stored(word)
                untouched[module][row] = after[module][row]
            assert untouched == after
            assert is_serializable(histories, width=width, initial=initial, final=final)


# What is between a network and its terminals.


RECOVERY = {"recovery": "discard", "length": "1:3"}
REJECTING = {"policy": "drop", "resubmit": 4, "length": "1:3"}


def scored(ends: Ends, seed: int, count: int) -> None:
    with CompiledEngine(ends.fabric) as engine:
        board = Scoreboard(engine, ends, seed)
        for wait, length in pulses(seed, count, within=60):
            board.step(wait)
            board.reset(length)
        board.step(60)
        board.finish()
        assert board.arrived > 30


LOSSY = {"ports": 4, "switch": "circuit", "parity": "byte", "length": "2:4"}
"""Parameters of a network that discards damaged packets: it has no AXI4-Streams."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("ends", "family", "parameters"),
    [
        *(
            make(ends, family, parameters)
            for make, family, parameters in [
                (pytest.param, "torus", {"k": 2, "n": 1, "channels": 1, **RECOVERY}),
                (long, "torus", {"k": 3, "n": 2, **RECOVERY, "timeout": 4, "window": 2}),
                (pytest.param, "omega", {"ports": 4, "switch": "unbuffered", "resubmit": 8}),
                (long, "omega", {"ports": 8, "switch": "wormhole", **REJECTING}),
                (long, "connection-machine", {"n": 2, "processors": 2}),
            ]
            for ends in (Ends, AxisEnds)
        ),
        (Ends, "omega", LOSSY),
        long(Ends, "cube", {"ports": 8, "parity": "packet"}),
    ],
)
def test_what_is_sent_after_a_reset_arrives_once(
    ends: type[Ends], family: str, parameters: dict[str, Any]
) -> None:
    """With streams, and with AXI4-Streams."""
    print("seed", SEED)
    scored(ends(build(family, payload=24, **parameters)), SEED, 6)


class BusPort:
    """A port of a bus at the boundary of an engine's fabric."""

    def __init__(self, engine: CompiledEngine, prefix: str) -> None:
        self.engine = engine
        self.prefix = prefix
        self.jobs: list[tuple[int, int]] = []
        self.done: list[int] = []
        self.idle()

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self.engine.set(self.prefix + name, value)

    def get(self, name: str) -> int:
        return self.engine.get(Pin(None, (self.prefix + name,)))

    def idle(self) -> None:
        """Forget what is under way."""
        raise NotImplementedError

    def before(self) -> None:
        """Show what is to be seen in this cycle, and see what is shown."""
        raise NotImplementedError


class WishbonePort(BusPort):
    def idle(self) -> None:
        self.waits = False
        self.set(cyc=0, stb=0)

    def before(self) -> None:
        self.waits = not self.ended if self.waits else bool(self.jobs)
        if self.waits:
            address, operand = self.jobs[0]
            self.set(adr=address, dat_w=max(operand, 0), we=operand >= 0, sel=15)
        self.set(cyc=self.waits, stb=self.waits)
        self.ended = self.waits and bool(self.get("ack"))
        assert not self.get("err")
        assert self.waits or not self.get("ack")
        if self.ended:
            self.jobs.pop(0)
            self.done.append(self.get("dat_r"))


class AxiPort(BusPort):
    """One beat at a time: a write on AW and W at once, or a read."""

    def idle(self) -> None:
        self.pending: set[str] = set()
        self.waits = False
        self.set(awvalid=0, wvalid=0, arvalid=0, bready=1, rready=1)

    def before(self) -> None:
        if self.jobs and not self.waits:
            self.waits = True
            self.pending = {"aw", "w"} if self.jobs[0][1] >= 0 else {"ar"}
        address, operand = (self.jobs or [(0, 0)])[0]
        for channel in ("aw", "ar"):
            self.set(**{f"{channel}{name}": 0 for name in ("len", "id")})
            self.set(**{f"{channel}addr": 4 * address, f"{channel}size": 2, f"{channel}burst": 1})
        self.set(wdata=max(operand, 0), wstrb=15, wlast=1)
        for channel in ("aw", "w", "ar"):
            self.set(**{f"{channel}valid": channel in self.pending})
        self.pending = {one for one in self.pending if not self.get(f"{one}ready")}
        for channel, value in (("b", None), ("r", "rdata")):
            if self.get(f"{channel}valid"):
                assert self.waits, "nothing was asked"
                assert (channel == "r") == (self.jobs[0][1] < 0)
                assert not self.get(f"{channel}resp")
                self.jobs.pop(0)
                self.done.append(self.get(value) if value else 0)
                self.waits = False


@pytest.mark.long
@pytest.mark.parametrize(("kind", "port"), [(WishboneNetwork, WishbonePort), (AxiNetwork, AxiPort)])
@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("combining", {"ports": 2}),
        long("cube", {"ports": 4}),
        long("torus", {"k": 2, "n": 1, "channels": 1, "recovery": "discard"}),
    ],
)
def test_buses_after_a_reset(
    kind: Any, port: type[BusPort], family: str, parameters: dict[str, Any]
) -> None:
    """All that is added in the window of fetch-and-add since the reset is added once to what the
    memory held, and each cycle or transaction has its own answer."""
    print("seed", SEED)
    generator = random.Random(SEED)
    width = "width" if family == "combining" else "payload"
    network = kind(build(family, **{width: 32}, **parameters), rows=2)
    words = range(network.ports)
    add = 1 << network.words.bits
    with CompiledEngine(network.fabric) as engine:
        ports = [port(engine, f"{kind.prefix}_{n}_") for n in range(network.ports)]

        def run(cycles: int) -> None:
            for _ in range(cycles):
                for one in ports:
                    one.before()
                engine.step(1)

        def read() -> list[int]:
            ports[0].done.clear()
            ports[0].jobs += [(word, -1) for word in words]
            while ports[0].jobs:
                run(1)
                assert engine.cycle < 100_000
            run(2)
            return [*ports[0].done]

        for wait, length in pulses(SEED, 6, within=80):
            for one in ports:
                one.jobs += [
                    (add + generator.choice(words), generator.getrandbits(32)) for _ in range(40)
                ]
            run(wait)
            for one in ports:
                one.jobs.clear()
                one.idle()
            engine.reset(length)
            before = read()
            added: Counter[int] = Counter()
            for one in ports:
                one.done.clear()
                one.jobs += [
                    (add + generator.choice(words), generator.getrandbits(32)) for _ in range(12)
                ]
                for word, operand in one.jobs:
                    added[word - add] += operand
            while any(one.jobs for one in ports):
                run(1)
                assert engine.cycle < 100_000
            run(2)
            assert all(len(one.done) == 12 for one in ports)
            assert read() == [(old + added[word]) % 2**32 for word, old in enumerate(before)]
        assert sum(before) > 0


def test_a_reset_makes_one_subnetwork() -> None:
    """Masks are written anew after a reset; a header that waits does not keep the old one."""
    parted = PartitionedNetwork(build("cube", ports=4, payload=24))
    fabric = flat(parted.fabric)
    masks = [Pin(f"partition_{terminal}", ("in_force",)) for terminal in range(4)]
    with CompiledEngine(fabric) as engine:
        for wait in range(8):
            for member in (0, 2):
                for name, value in (("mask", 1), ("mask_member", member), ("mask_write", 1)):
                    engine.set(name, value)
                engine.step(1)
            engine.set("mask_write", 0)
            engine.step(1)
            assert [engine.get(mask) for mask in masks] == [1, 1, 1, 1]
            for terminal in range(4):
                engine.set(f"i_{terminal}_valid", 1)
            engine.step(wait)
            # A write in the cycle of a reset is not heard.
            engine.set("mask_write", 1)
            engine.reset()
            engine.set("mask_write", 0)
            assert [engine.get(mask) for mask in masks] == [3, 3, 3, 3]
            for terminal in range(4):
                engine.set(f"i_{terminal}_valid", 0)
            engine.step(1)
            assert [engine.get(mask) for mask in masks] == [3, 3, 3, 3]
        engine.reset()
        ends = Ends(parted.network)
        board = Scoreboard(engine, ends, SEED)
        board.step(60)
        board.finish()
        assert board.arrived > 30, "packets go everywhere again"


@pytest.mark.long
def test_a_reset_leaves_routing_tables() -> None:
    """Also as they were rewritten: they are configuration, which no packet changes."""
    network = GraphNetwork(graph=Rewritable(UpDown, Torus(3, 1)), payload=24)
    dead = network_links(network)[0]
    tables = network.tables_around([dead])
    ends = Ends(network)
    with CompiledEngine(ends.fabric) as engine:
        board = Scoreboard(engine, ends, SEED)
        board.step(20)
        board.reset(2)
        write_tables(engine, tables)
        for wait, length in pulses(SEED, 3, within=40):
            board.step(wait)
            board.reset(length)
        for _ in range(100):
            board.step(1)
            assert not engine.get(Pin(dead.cell, (*dead.path, "valid")))
        board.finish()
        assert board.arrived > 30
        for cell, memories in tables.items():
            for name, rows in memories.items():
                assert engine.memory(cell, name) == list(rows)
