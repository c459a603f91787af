"""The machines of section VII of Siegel et al.: the paper's figures beside measured presets.

The RTL is measured in cycles, with a single terminal sending. The cycle time printed in the paper
converts them to bandwidths and times.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ....hdl.catalogue.catalogue import build
from ....hdl.families.machines import PRESETS
from ....hdl.networks.packet_network import PacketNetwork
from ...run.program_requests import Program, Request
from ...run.programs import run_programs
from ...run.run import Run
from ...run.simulation import whole_runs
from ...run.workload_run import run_workload
from ...workload.traffic import Trace, TracePacket
from ...workload.workload import Workload, WorkloadMessage
from ..item import Item, Options, Row, deviation
from . import SOURCE

__all__ = ["MACHINES"]

_PACKETS = 9


def _times(name: str, length: int, options: Options) -> tuple[int, float]:
    """Cycles until a packet has arrived, and between the arrivals of two successive packets.

    Packets go from terminal 1 to itself, straight through all stages.
    """
    network = build(name) if length == 1 else build(name, length=length)
    trace = Trace("machine", tuple(TracePacket(0, 1, 1, length) for _ in range(_PACKETS)))
    run = Run(trace)
    bins = 2 * (_PACKETS + 1) * (network.ports + length)
    latency = whole_runs(network, [run], engine=options.engine, bins=bins)[0].latency
    first = next(cycles for cycles, packets in enumerate(latency.histogram) if packets)
    assert latency.max is not None
    return first, (latency.max - first) / (_PACKETS - 1)


def _bandwidths(name: str, options: Options) -> list[dict[str, Any]]:
    """Effective bandwidth of a path for each packet in the paper, and its upper limit."""
    preset = PRESETS[name]
    assert preset.cycle_ns is not None
    assert preset.path_bits is not None
    rows = []
    for figure, length in zip(preset.bandwidths, build(name).lengths):
        _, cycles = _times(name, length, options)
        rows.append(
            {
                "figure": f"bandwidth, {figure.data_bits} data bits per packet",
                "unit": "Mbit/s",
                "published": figure.megabits,
                "cycles": cycles,
                "measured": figure.data_bits / (cycles * preset.cycle_ns) * 1000,
            }
        )
    longest = 256
    flits = _times(name, longest, options)[1] / longest
    rows.append(
        {
            "figure": "bandwidth, nothing but data",
            "unit": "Mbit/s",
            "published": {"gp1000": 32, "tc2000": 304}[name],
            "cycles": flits,
            "measured": preset.path_bits / (flits * preset.cycle_ns) * 1000,
        }
    )
    return [*rows, _remote_read(name, options)]


def _remote_read(name: str, options: Options) -> dict[str, Any]:
    """A PE reads a word of another one: a request without data, and the shortest reply with data.

    Both cross the same network. The memory takes no time, since none is printed.
    """
    network, preset = build(name), PRESETS[name]
    assert isinstance(network, PacketNetwork)
    assert preset.cycle_ns is not None
    assert preset.path_bits is not None
    request = -(-sum(field.bits for field in preset.fields) // preset.path_bits)
    messages = (
        WorkloadMessage(0, 1, 2, request),
        WorkloadMessage(1, 2, 1, network.lengths[0], after=(0,)),
    )
    run = run_workload(network, Workload("remote read", messages), engine=options.engine)
    return {
        "figure": f"remote read of {preset.bandwidths[0].data_bits} bits: request and reply",
        "unit": "us",
        "cycles": run.cycles,
        "measured": run.cycles * preset.cycle_ns / 1000,
    }


def _round_trip(name: str, operation: str, options: Options, **parameters: int) -> int:
    """Cycles until the first word of the reply to a request that meets no other."""

    def program() -> Program:
        yield Request(operation, 1)

    run = run_programs(build(name, **parameters), [program()], engine=options.engine)
    (access,) = (each for word in run.history.values() for each in word)
    return int(access.answered - access.sent)


def _rp3(options: Options) -> list[dict[str, Any]]:
    """What a stage and a byte add to a round trip: a fourth stage, and a third word of a request.

    With a fourth of the ports there is a stage less, in both directions.
    """
    preset = PRESETS["rp3"]
    assert preset.cycle_ns is not None
    assert preset.path_bits is not None
    stages, bytes_ = build("rp3").stages, preset.defaults["width"] // preset.path_bits
    load, store = (_round_trip("rp3", each, options) for each in ("load", "store"))
    fewer = _round_trip("rp3", "load", options, ports=preset.defaults["ports"] // 4)
    box, byte = (load - fewer) / 2, (store - load) / bytes_
    return [
        {
            "figure": figure,
            "unit": "cycles",
            "published": published,
            "cycles": cycles,
            "measured": cycles,
        }
        for figure, published, cycles in (
            ("latency of a box", 2, box),
            ("a request through all stages", 8, stages * box),
            ("a further byte", 1, byte),
        )
    ] + [
        {
            "figure": f"{operation}, to the first word of the reply",
            "unit": "ns",
            "cycles": cycles,
            "measured": cycles * preset.cycle_ns,
        }
        for operation, cycles in (("load", load), ("store", store))
    ]


def _ultracomputer(options: Options) -> list[dict[str, Any]]:
    """Round trips in cycles, and in time at the two ends of the cycle time that is expected."""
    found = {each: _round_trip("ultracomputer", each, options) for each in ("load", "store")}
    return [
        {
            "figure": f"{operation}, at {cycle_ns} ns",
            "unit": "ns",
            "cycles": cycles,
            "measured": cycles * cycle_ns,
        }
        for operation, cycles in found.items()
        for cycle_ns in (30, 50)
    ]


def _cedar(options: Options) -> list[dict[str, Any]]:
    """A read of global memory, and how soon the next read of the same module is answered."""
    network, cycle_ns = build("cedar"), PRESETS["cedar"].cycle_ns
    assert cycle_ns is not None

    def reads(module: int) -> Program:
        rows = range(network.parameters["rows"])
        yield [Request("load", module + row * network.ports) for row in rows]

    run = run_programs(network, [reads(9)], engine=options.engine)
    times = [(each.sent, each.answered) for word in run.history.values() for each in word]
    first = min(answered - sent for sent, answered in times)
    answers = [answered for _, answered in times]
    apart = (max(answers) - min(answers)) / (len(answers) - 1)
    read, next_ = "read of global memory", "from one read of a memory module to the next"
    return [
        {"figure": read, "unit": "cycles", "published": 12, "cycles": first, "measured": first},
        {
            "figure": read,
            "unit": "ns",
            "published": 1020,
            "cycles": first,
            "measured": first * cycle_ns,
        },
        {"figure": next_, "unit": "cycles", "published": 4, "cycles": apart, "measured": apart},
    ]


def _pasm(options: Options) -> list[dict[str, Any]]:
    """Setting up a path, and sending words through it, at the clock that the printed rate implies.

    A word of 16 bits in each cycle is 24 Mbit/s if a cycle takes 667 ns.
    """
    words, rate = 64, 24
    bits = PRESETS["pasm"].path_bits
    assert bits is not None
    microseconds = bits / rate
    arrived, _ = _times("pasm", words, options)
    one, _ = _times("pasm", 1, options)
    return [
        {
            "figure": "setting up a path, at 24 Mbit/s",
            "unit": "us",
            "published": 2,
            "cycles": one - 1,
            "measured": (one - 1) * microseconds,
        },
        {
            "figure": f"a circuit of {words} words, all with parity",
            "unit": "cycles",
            "cycles": arrived,
        },
    ]


def _aspro(options: Options) -> list[dict[str, Any]]:
    _, turn = _times("aspro", 1, options)
    return [{"figure": "one packet to the same terminal", "unit": "cycles", "cycles": turn}]


def _rows(options: Options) -> Iterator[Row]:
    for name, measure in (
        ("gp1000", partial(_bandwidths, "gp1000")),
        ("tc2000", partial(_bandwidths, "tc2000")),
        ("cedar", _cedar),
        ("pasm", _pasm),
        ("aspro", _aspro),
        ("rp3", _rp3),
        ("ultracomputer", _ultracomputer),
    ):
        preset = PRESETS[name]
        for row in measure(options):
            yield row | {
                "machine": name,
                "cycle_ns": preset.cycle_ns,
                "path_bits": preset.path_bits,
                "deviation": deviation(row.get("measured"), row.get("published")),
            }


def _draw(rows: Sequence[dict[str, Any]]) -> Figure:
    shown = [row for row in rows if row["unit"] == "Mbit/s"]
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    places = range(len(shown))
    for shift, key, label in ((-0.2, "published", "paper"), (0.2, "measured", "RTL")):
        bars = axes.barh(
            [place + shift for place in places], [row[key] for row in shown], 0.38, label=label
        )
        axes.bar_label(bars, fmt="%.1f", padding=3, fontsize="small")
    axes.set_yticks(list(places), [f"{row['machine']}: {row['figure']}" for row in shown])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="Mbit/s, at the printed cycle time", xlim=(3, 800))
    axes.legend()
    return figure


MACHINES = Item(
    "siegel-machines",
    "GP1000, TC2000, Cedar, PASM, ASPRO, RP3, Ultracomputer: the paper's figures and the presets",
    f"{SOURCE}, VII",
    columns="machine | cycle_ns = cycle, ns : .4g | path_bits = bits | figure"
    " | cycles = RTL, cycles : .4g | measured = RTL : .1f | published = paper : .4g"
    " | unit | deviation = differs : +.1%",
    rows=_rows,
    draw=_draw,
    notes=(
        "Packets of the GP1000 and TC2000 have the fields whose width follows from the paper: "
        "42 bits besides the data in both (destination, origin, address, kind, amount). The "
        "paper names checksums and further control bits too, but not how many there are, so "
        "the hardware is faster. All four printed bandwidths imply 80 bits besides the data. "
        "Both machines have 128 ports, as in these figures: stages of 4 x 4 and one of 2 x 2 "
        "boxes (GP1000), of 8 x 8 and one of 2 x 2 boxes (TC2000).",
        "The paper gives no cycle time for PASM's and ASPRO's boxes. PASM's 24 Mbit/s are one "
        "word of 16 bits every 667 ns. A read through ASPRO's flip network takes 600 ns (one "
        "cycle in `hdl/families/multistage/multidimensional_memory.py`).",
        "A remote read of the GP1000 or TC2000 goes through the network twice, which is all that "
        "the paper says of both directions; it gives no time. The TC2000's network is "
        "bidirectional: whether replies have paths of their own is not said.",
        "Round trips of RP3 and the Ultracomputer end with the first word of the reply, and meet "
        "no other request. The paper prints none. RP3's: 8 cycles to the memory, 7 for the other "
        "bytes of a load, 1 there, and 8 back. The Ultracomputer's cycle is expected to take "
        "30 to 50 ns.",
    ),
    ignores=("cycles", "seed"),
)
