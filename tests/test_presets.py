# amaranth: UnusedElaboratable=no
"""The machines of section VII: what the paper says of them, and that their networks work."""

from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import FAMILIES, build, write_verilog
from multicube.hdl.families.machines import PRESETS
from multicube.hdl.networks.network import Network
from multicube.hdl.terminals.parity import protected
from multicube.sim import simulate
from verilog_tools import check_with_yosys

# What section VII says, in our words.
PAPER: dict[str, dict[str, Any]] = {
    # "a flip network with 2^n = 32 inputs, n = 5 control lines"; bit-serial processors.
    "aspro": {"ports": 32, "wiring": "flip", "payload": 1},
    # The same network, of 256 lines in the references 31 and 52.
    "staran": {"ports": 256, "wiring": "flip", "payload": 1},
    # "two stages of 8 x 8 interchange boxes form a network with 64 inputs", "one, two, or three
    # words long for read, write, and synchronization primitives", "each packet word is 64 bits",
    # "input and output buffers that can hold two packet words", "the access speed of the global
    # memory is eight cycles but is pipelined to service a read/write request every four cycles".
    "cedar": {
        **{"ports": 64, "radix": 8, "depth": 2, "output_depth": 2, "width": 64},
        **{"lengths": "1:2:3", "memory_latency": 8, "memory_interval": 4},
    },
    # "16 PEs", "extra-stage cube", "circuit switched", "destination tag routing scheme", "2 x 2
    # crossbar", "16 data bits plus two parity bits".
    "pasm": {
        **{"ports": 16, "radix": 2, "wiring": "cube", "extra_stage": 1, "switch": "circuit"},
        **{"routing": "destination", "payload": 16, "parity": "byte", "policy": "hold"},
    },
    # "4 x 4 interchange boxes", "butterfly", "wormhole", "destination tag", "blocked packets are
    # immediately dropped", "retransmitted after a random time delay", "four bits wide"; bandwidths
    # are for N = 128, which is no power of four: the last stage has smaller boxes.
    "gp1000": {
        **{"ports": 128, "radix": "4x4x4x2", "wiring": "butterfly", "switch": "wormhole"},
        **{"policy": "drop", "routing": "destination", "payload": 4},
    },
    # "8 x 8 interchange boxes", "eight bits wide"; otherwise "similar to the GP1000".
    "tc2000": {
        **{"ports": 128, "radix": "8x8x2", "wiring": "butterfly", "switch": "wormhole"},
        **{"policy": "drop", "routing": "destination", "payload": 8},
    },
    # "a 256-processor machine", "2 x 2 interchange boxes", "the network path width will be 32
    # bits; memory requests will use two or four network words".
    "ultracomputer": {
        **{"ports": 256, "radix": 2, "width": 32, "lengths": "2:4", "queues": "output"},
        **{"combine": "ultracomputer", "operations": "ultracomputer-sizes", "delay": 1, "beats": 1},
    },
    # "the combining network uses 2 x 2 interchange boxes", "each memory request is for two or three
    # words", "only like operations can be combined, but loads are treated as fetch-and-adds of 0".
    "rp3-combining": {
        **{"radix": 2, "lengths": "2:3", "combine": "rp3", "operations": "rp3"},
        "processors_per_port": 4,
    },
    # "four stages of 4 x 4 interchange boxes", "128 ports", "dual paths between the ports", "the
    # buffers on the input ports", "32 bytes, which is nominally eight words", "a latency of two
    # cycles", "a subsequent byte arrives each cycle", "fetch-and-OP at the memory modules".
    "rp3": {
        **{"ports": 128, "radix": 4, "paths": 2, "queues": "input", "depth": 8, "delay": 2},
        **{"lengths": "2:3", "beats": 4, "combine": "none", "operations": "rp3"},
        "processors_per_port": 1,  # of the prototype: "each PME has its own port"
    },
    # The same network in the architectural design: "512 PMEs", "each port is connected to four
    # PMEs through a multiplexer and a demultiplexer".
    "rp3-design": {
        **{"ports": 128, "radix": 4, "paths": 2, "queues": "input", "depth": 8, "delay": 2},
        **{"lengths": "2:3", "beats": 4, "combine": "none", "operations": "rp3"},
        "processors_per_port": 4,
    },
    # Dandamudi and Eager, II-B: "50 processor memory pairs", "five clusters", "communication within
    # a cluster is via a parallel bus", "these communicate via an intercluster bus".
    "cm-star": {"level1": "bus:ports=10", "level2": "bus:ports=5", "level3": "none"},
}
CLOCKS = {"cedar": 85, "gp1000": 1e3 / 8, "tc2000": 1e3 / 38, "rp3": 70}  # ns
POTENTIAL = {"gp1000": 32, "tc2000": 304}  # Mbit/s of a path
EFFECTIVE = {  # Mbit/s of a path, by data bits of a packet
    "gp1000": {16: 5.3, 256: 24.4},
    "tc2000": {32: 86.9, 128: 187.1},
}
STAGES = {"aspro": 5, "staran": 8, "cedar": 2, "pasm": 4, "gp1000": 4, "tc2000": 3}
STAGES |= {"ultracomputer": 8, "rp3-combining": 7, "rp3": 4, "rp3-design": 4}
CASE_STUDIES = frozenset(STAGES)
STAGES["cm-star"] = 6  # cells on the longest way: a bus's arbiter and receivers, thrice

QUICK = ("aspro", "pasm", "gp1000")
OTHERS = tuple(name for name in PAPER if name not in QUICK)


def test_there_is_a_row_for_each_preset() -> None:
    assert set(PRESETS) == set(PAPER) == {name for name in FAMILIES if FAMILIES[name].preset}


@pytest.mark.parametrize("name", PAPER)
def test_parameters_are_the_papers(name: str) -> None:
    network, preset = build(name), PRESETS[name]
    assert network.parameters.items() >= PAPER[name].items()
    assert network.family == name
    assert network.stages == STAGES[name]
    given = network.parameters
    path = given["width"] // given.get("beats", 1) if "width" in given else given["payload"]
    assert preset.path_bits in (path, None)
    assert preset.cycle_ns == CLOCKS.get(name)
    assert preset.source.startswith("VII-" if name in CASE_STUDIES else "Dandamudi")


@pytest.mark.long
def test_rp3_was_designed_for_512_elements() -> None:
    """Four at each of 128 ports: those of a network of 256 ports, but for two paths."""
    for name, terminals in (("rp3", 128), ("rp3-design", 512), ("rp3-combining", 512)):
        network = build(name)
        memories = sum(cell.startswith("memory_") for cell in network.fabric.cells)
        assert (network.ports, memories) == (terminals, terminals)
    boxes = sum(cell.startswith("box_") for cell in build("rp3-design").fabric.cells)
    assert boxes == 4 * 256 // 2 // 4  # of four ports each; half of the ports of 256 lines


def test_aspro_has_a_control_line_a_stage() -> None:
    fabric = build("aspro").fabric
    assert fabric.cells["sequencer"].type.parameters == {"stages": 5}
    assert sum(name.startswith("box_") for name in fabric.cells) == 5 * 16


def test_pasm_has_two_parity_bits_for_data() -> None:
    """And one for the tag, which has lines of its own here; two ways between any terminals."""
    network = build("pasm")
    words = protected(network.packet, "byte")
    tag = network.packet.members["tag"]
    assert words.size == tag + 16 + 2 + 1
    assert sum(name.startswith("box_") for name in network.fabric.cells) == 5 * 8


# "Routing bits, control bits": the tag of 128 ports, the PE to answer, the byte of 4 or 16 MB, read
# or write and request or reply, and 16 or 4 amounts of data.
HEADERS = {"gp1000": 7 + 7 + 22 + 2 + 4, "tc2000": 7 + 7 + 24 + 2 + 2}


@pytest.mark.parametrize("name", EFFECTIVE)
def test_lengths_follow_from_the_fields(name: str) -> None:
    network, preset = build(name), PRESETS[name]
    assert preset.path_bits / preset.cycle_ns * 1e3 == pytest.approx(POTENTIAL[name])
    assert {row.data_bits: row.megabits for row in preset.bandwidths} == EFFECTIVE[name]
    bits = {field.name: field.bits for field in preset.fields}
    assert bits["destination"] == network.packet.members["tag"]
    assert sum(bits.values()) == HEADERS[name] == 42
    lengths = tuple(-(-(42 + data) // preset.path_bits) for data in EFFECTIVE[name])
    assert network.lengths == lengths == {"gp1000": (15, 75), "tc2000": (10, 22)}[name]
    # "Long enough such that the head reaches the destination before the last portion leaves."
    assert network.lengths[0] > network.stages
    assert network.drops
    assert network.resubmits


@pytest.mark.parametrize("name", EFFECTIVE)
def test_all_printed_bandwidths_imply_80_bits(name: str) -> None:
    """What the documentation says of them; they have three digits at most."""
    for data, megabits in EFFECTIVE[name].items():
        assert data * POTENTIAL[name] / megabits - data == pytest.approx(80, rel=0.01)
    low, high = EFFECTIVE[name]
    network = build(name, length=f"bits:80+{low}:{high}")
    assert network.lengths == {"gp1000": (24, 84), "tc2000": (14, 26)}[name]


def options(network: Network) -> dict[str, Any]:
    if network.has_memory:
        return {"load": 0.1, "cycles": 60, "warmup": 20, "bins": 64, "operations": ["all"]}
    mean = sum(network.lengths) / 2
    return {
        **{"load": min(0.7, 0.8 / mean), "cycles": int(40 + 10 * mean), "warmup": 20},
        **{"bins": 64, "source_depth": 8},
    }


@pytest.mark.long
@pytest.mark.parametrize("name", ["gp1000", *(long(name) for name in PAPER if name != "gp1000")])
def test_books_of_the_whole_machine_balance(name: str) -> None:
    network = build(name)
    result = simulate(network, engine="compiled", **options(network))
    assert (result.lost, result.misrouted, result.duplicated, result.reordered) == (0, 0, 0, 0)
    assert (result.damaged, result.corrupted) == (0, 0)
    assert result.serializable in (None, True)
    assert result.injected == result.delivered > 100
    assert (result.dropped > 0) == (name in EFFECTIVE)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("gp1000", {"ports": 16, "radix": 4, "length": 30}),
        ("pasm", {"parity": "none"}),
        ("aspro", {"ports": 4}),
    ],
)
def test_what_is_given_comes_first(name: str, given: dict[str, Any]) -> None:
    words = {word: str(value) for word, value in given.items()}
    assert build(name, **words).parameters == build(name).parameters | given


@pytest.fixture(
    scope="module", params=[QUICK[:1], long((*QUICK[1:], *OTHERS))], ids=["quick", "others"]
)
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    folder = tmp_path_factory.mktemp("exported")
    paths = [folder / f"{name}.v" for name in request.param]
    for path in paths:
        write_verilog(build(path.stem, **FAMILIES[path.stem].example).fabric, path)
    return paths


@pytest.mark.long
def test_yosys_reads_and_checks_it(exported: list[Path]) -> None:
    """Nothing is undriven or doubly driven, and there is no combinational loop."""
    check_with_yosys(exported)
