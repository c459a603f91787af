"""What cocotb does to an exported network with AXI4-Stream ports. Runs inside the simulator.

The environment names the list of ports that was exported beside the Verilog (PORTS), the address of
each terminal as `tdest` has it (ADDRESSES), the most beats of a packet (BEATS), whether flows keep
their order (ORDERED), and permutations in which beats follow each other without a gap (GAPLESS).
"""

import json
import os
import random
from collections import defaultdict, deque
from pathlib import Path
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

ADDRESSES = json.loads(os.environ["ADDRESSES"])
TERMINALS = range(len(ADDRESSES))
BEATS = int(os.environ["BEATS"])
PACKETS = 40 // BEATS + 10
"""Packets from each terminal."""
LONGEST = 8000
"""Cycles in which all must have arrived."""


class Beat(NamedTuple):
    """What an output showed when it was taken."""

    cycle: int
    data: int
    last: bool
    source: int | None


class Network:
    """The network, a source and a sink at each terminal, and a monitor on all outputs."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        ports = json.loads(Path(os.environ["PORTS"]).read_text())["ports"]
        self.widths = {port["name"]: port["width"] for port in ports}
        assert all(len(getattr(dut, name)) == width for name, width in self.widths.items())
        data = next(port for port in ports if port["name"] == "s_axis_0_tdata")
        self.bytes = data["width"] // 8
        self.payload = data.get("fields", {"payload": {"width": data["width"]}})["payload"]["width"]
        reset = {"reset": dut.aresetn, "reset_active_level": False}
        self.sources, self.sinks = (
            [
                kind(AxiStreamBus.from_prefix(dut, f"{side}_axis_{t}"), dut.aclk, **reset)
                for t in TERMINALS
            ]
            for side, kind in (("s", AxiStreamSource), ("m", AxiStreamSink))
        )
        for device in (*self.sources, *self.sinks):
            device.log.setLevel("WARNING")
        self.beats: list[list[Beat]] = [[] for _ in TERMINALS]
        self.cycle = 0

    async def start(self) -> None:
        """Start the clock and the monitor, and reset; leave on a falling edge."""
        self.dut.aresetn.value = 0
        cocotb.start_soon(Clock(self.dut.aclk, 10, "ns").start())
        await FallingEdge(self.dut.aclk)
        await FallingEdge(self.dut.aclk)
        cocotb.start_soon(self._monitor())
        await self.reset()

    async def reset(self) -> None:
        self.dut.aresetn.value = 0
        await self.cycles(2)
        for t in TERMINALS:
            assert self.get("m", t, "tvalid") == 0, f"m_axis_{t} is valid in reset"
        await self.cycles(1)
        self.dut.aresetn.value = 1
        await self.cycles(2)

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await FallingEdge(self.dut.aclk)

    def get(self, side: str, terminal: int, name: str) -> int:
        return int(getattr(self.dut, f"{side}_axis_{terminal}_{name}").value)

    def send(self, source: int, destination: int, beats: list[int], mask: int = 0) -> None:
        data = b"".join(beat.to_bytes(self.bytes, "little") for beat in beats)
        frame = AxiStreamFrame(data, tdest=ADDRESSES[destination], tuser=mask)
        self.sources[source].send_nowait(frame)

    def carried(self, beat: int) -> int:
        """What arrives of a beat: the bits above the payload do not."""
        return beat & (1 << self.payload) - 1

    async def _monitor(self) -> None:
        """The rules of AXI4-Stream. Inputs change behind rising edges, so that what is there at a
        falling edge is what the next rising edge will see."""
        waiting: list[tuple[int, ...] | None] = [None for _ in TERMINALS]
        names = [
            name.removeprefix("m_axis_0_")
            for name in self.widths
            if name.startswith("m_axis_0_") and not name.endswith("ready")
        ]
        while True:
            await FallingEdge(self.dut.aclk)
            self.cycle += 1
            for t in TERMINALS:
                if not self.get("m", t, "tvalid"):
                    let_go = waiting[t] is not None and self.dut.aresetn.value == 1
                    assert not let_go, f"m_axis_{t}_tvalid fell, cycle {self.cycle}"
                    waiting[t] = None
                    continue
                shown = tuple(self.get("m", t, name) for name in names)
                changed = waiting[t] not in (None, shown)
                assert not changed, f"m_axis_{t} changed while it waited, cycle {self.cycle}"
                assert self.get("m", t, "tdest") == ADDRESSES[t]
                waiting[t] = shown
                if self.get("m", t, "tready"):
                    waiting[t] = None
                    source = self.get("m", t, "tid") if "tid" in names else None
                    last = self.get("m", t, "tlast") == 1
                    self.beats[t].append(Beat(self.cycle, self.get("m", t, "tdata"), last, source))


@cocotb.test()
async def axi4_stream(dut: Any) -> None:
    network = Network(dut)
    await network.start()
    await _valid_waits_for_nobody(network)
    await _nothing_survives_a_reset(network)
    for permutation in json.loads(os.environ["GAPLESS"]):
        await _beats_follow_without_a_gap(network, permutation)
    await _every_packet_arrives(network)


async def _valid_waits_for_nobody(network: Network) -> None:
    """All outputs become valid with none of them ready."""
    for sink in network.sinks:
        sink.pause = True
    for t in TERMINALS:
        network.send(t, t, list(range(1, BEATS + 1)))
    await network.cycles(100)
    for t in TERMINALS:
        assert network.get("m", t, "tready") == 0
        assert network.get("m", t, "tvalid") == 1, f"m_axis_{t}_tvalid waits for tready"


async def _nothing_survives_a_reset(network: Network) -> None:
    await network.reset()
    for sink in network.sinks:
        sink.pause = False
    await network.cycles(30)
    assert not any(network.beats), "a packet survived a reset"


async def _beats_follow_without_a_gap(network: Network, permutation: list[int]) -> None:
    """One a cycle, wherever packets meet no others."""
    packets = 24 // BEATS
    network.beats = [[] for _ in TERMINALS]
    for source, destination in enumerate(permutation):
        for packet in range(packets):
            first = packet * BEATS
            network.send(source, destination, list(range(first, first + BEATS)))
    await network.cycles(24 + 60)
    for beats in network.beats:
        assert [beat.data for beat in beats] == list(range(packets * BEATS))
        assert [beat.last for beat in beats] == ([False] * (BEATS - 1) + [True]) * packets
        gaps = beats[-1].cycle - beats[0].cycle - (len(beats) - 1)
        assert gaps == 0, f"{gaps} cycles without a beat, permutation {permutation}"
    for sink in network.sinks:
        sink.clear()


async def _every_packet_arrives(network: Network) -> None:
    """From all sources at once, with pauses on both sides of every stream; once, whole, at `tdest`,
    in the order of its flow; or once at each destination of a broadcast."""
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    network.beats = [[] for _ in TERMINALS]

    def pauses(odds: float) -> Any:
        while True:
            yield rng.random() < odds

    for device in (*network.sources, *network.sinks):
        device.set_pause_generator(pauses(rng.choice([0.0, 0.3, 0.7])))
    broadcasts = "s_axis_0_tuser" in network.widths
    due: dict[tuple[int, int], deque[list[int]]] = defaultdict(deque)
    for source in TERMINALS:
        for number in range(PACKETS):
            # One terminal is everyone's favourite for a while, so that queues fill and block.
            destination = 1 if number % 9 > 5 else rng.choice(TERMINALS)
            beats = [rng.getrandbits(8 * network.bytes) for _ in range(rng.randint(1, BEATS))]
            mask = rng.choice(ADDRESSES) if broadcasts and rng.random() < 0.3 else 0
            network.send(source, destination, beats, mask)
            for t in TERMINALS:
                if not (ADDRESSES[t] ^ ADDRESSES[destination]) & ~mask:
                    due[source, t].append([network.carried(beat) for beat in beats])
    expected = sum(map(len, due.values()))
    arrived = [0 for _ in TERMINALS]
    for _ in range(LONGEST // 20):
        await network.cycles(20)
        arrived = [sum(beat.last for beat in beats) for beats in network.beats]
        if sum(arrived) == expected:
            break
    await network.cycles(60)
    for t, beats in enumerate(network.beats):
        packet: list[Beat] = []
        for beat in beats:
            packet.append(beat)
            if beat.last:
                _strike_off(due, t, packet)
                packet = []
        assert not packet, f"the last packet at {t} has no end"
        data = b"".join(beat.data.to_bytes(network.bytes, "little") for beat in beats)
        frames = [network.sinks[t].recv_nowait() for _ in range(arrived[t])]
        assert b"".join(bytes(frame.tdata) for frame in frames) == data
    lost = {flow: len(packets) for flow, packets in due.items() if packets}
    assert not lost, f"packets lost, by source and destination: {lost}"
    network.dut._log.info(f"{expected} packets in {network.cycle} cycles")


def _strike_off(
    due: dict[tuple[int, int], deque[list[int]]], output: int, packet: list[Beat]
) -> None:
    """An arrival must be of a flow to this output, whole, and the oldest of it if flows keep their
    order; if the beats say of which source it is, they must all be right."""
    data = [beat.data for beat in packet]
    said = {beat.source for beat in packet}
    for source in TERMINALS:
        flow = due[source, output]
        if data in list(flow)[: 1 if os.environ["ORDERED"] == "1" else None]:
            assert said in ({None}, {ADDRESSES[source]}), f"tid {said}, but from {source}"
            flow.remove(data)
            return
    raise AssertionError(f"m_axis_{output} showed {packet}, which is not due")
