"""What cocotb does to an exported network of 8 terminals. Runs inside the simulator.

The environment names the list of ports that was exported beside the Verilog (PORTS), the routing
(ROUTING), the most flits of a packet (FLITS), whether flows keep their order (ORDERED) and, for the
second test, a recording of Amaranth's simulator (RECORDING).
"""

import json
import os
import random
from collections import defaultdict, deque
from pathlib import Path
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

PORTS = 8
PACKETS = 250
"""Packets from each terminal."""
LONGEST = 20_000
"""Cycles in which all must have arrived."""


class Cycle(NamedTuple):
    """What the network answered in one cycle: inputs that are ready, packets shown by outputs."""

    ready: list[bool]
    shown: list[int | None]


class Network:
    """The streams of the module under test, one cycle at a time."""

    def __init__(self, dut: Any) -> None:
        ports = json.loads(Path(os.environ["PORTS"]).read_text())["ports"]
        names = {port["name"] for port in ports}
        assert all(hasattr(dut, name) for name in names), "a port of the list does not exist"
        assert all(len(getattr(dut, port["name"])) == port["width"] for port in ports)
        self._dut = dut
        self.fields = {port["name"]: port["fields"] for port in ports if "fields" in port}
        self._in = [self._stream("i", index) for index in range(PORTS)]
        self._out = [self._stream("o", index) for index in range(PORTS)]

    def _stream(self, side: str, index: int) -> dict[str, Any]:
        members = ("payload", "valid", "ready")
        return {member: getattr(self._dut, f"{side}__{index}__{member}") for member in members}

    def pack(self, port: str, **values: int) -> int:
        """A packet from its fields."""
        return sum(value << self.fields[port][name]["offset"] for name, value in values.items())

    def unpack(self, port: str, packet: int) -> dict[str, int]:
        """The fields of a packet."""
        return {
            name: packet >> at["offset"] & (1 << at["width"]) - 1
            for name, at in self.fields[port].items()
        }

    async def start(self) -> None:
        """Start the clock and reset; leave on a falling edge."""
        self._dut.rst.value = 1
        for stream in self._in:
            stream["valid"].value = 0
            stream["payload"].value = 0
        for stream in self._out:
            stream["ready"].value = 0
        cocotb.start_soon(Clock(self._dut.clk, 10, "ns").start())
        for _ in range(3):
            await FallingEdge(self._dut.clk)
        self._dut.rst.value = 0

    async def cycle(self, offered: list[int | None], ready: list[bool], idle: int = 0) -> Cycle:
        """Offer packets and readiness from one falling edge to the next.

        An input that has nothing to offer shows `idle`.
        """
        for stream, packet in zip(self._in, offered):
            stream["valid"].value = packet is not None
            stream["payload"].value = idle if packet is None else packet
        for stream, flag in zip(self._out, ready):
            stream["ready"].value = flag
        await ReadOnly()
        answer = Cycle(
            [stream["ready"].value == 1 for stream in self._in],
            [
                int(stream["payload"].value) if stream["valid"].value == 1 else None
                for stream in self._out
            ],
        )
        await FallingEdge(self._dut.clk)
        return answer


class Packet(NamedTuple):
    """A packet to be sent. Of several flits the later ones carry their number as their tag."""

    destination: int
    payload: int
    length: int

    def flit(self, source: int, index: int) -> dict[str, int]:
        """The fields of a flit; `last` only where a network has it."""
        tag = index or tag_of(source, self.destination)
        last = {"last": index == self.length - 1} if os.environ["FLITS"] != "1" else {}
        return {"tag": tag, "payload": self.payload, **last}


def tag_of(source: int, destination: int) -> int:
    """The textbook's tag of a Generalized Cube; a torus has the destination's."""
    return source ^ destination if os.environ["ROUTING"] == "xor" else destination


@cocotb.test()
async def every_packet_arrives(dut: Any) -> None:
    """Random packets and gaps in, random back-pressure out, and books on all of it."""
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    network = Network(dut)
    await network.start()
    width = network.fields["i__0__payload"]["payload"]["width"]
    flits = int(os.environ["FLITS"])
    waiting = [
        deque(
            Packet(rng.randrange(PORTS), rng.getrandbits(width), rng.randint(1, flits))
            for _ in range(PACKETS // flits)
        )
        for _ in range(PORTS)
    ]
    # One terminal is everyone's favourite for a while, so that queues fill and block.
    for queue in waiting:
        for index in range(len(queue) // 2, len(queue) // 2 + 30):
            queue[index] = queue[index]._replace(destination=5)
    sent = [0] * PORTS  # flits of the first packet that waits
    under_way: dict[tuple[int, int], deque[Packet]] = defaultdict(deque)
    arriving: list[list[dict[str, int]]] = [[] for _ in range(PORTS)]
    offered: list[int | None] = [None] * PORTS
    before: list[int | None] = [None] * PORTS
    pace = [1.0] * PORTS
    patience = [1.0] * PORTS
    expected = PORTS * (PACKETS // flits)
    arrived = 0
    for cycle in range(LONGEST):
        if cycle % 60 == 0:
            pace = [rng.choice([0.1, 0.5, 1.0]) for _ in range(PORTS)]
            patience = [rng.choice([0.0, 0.2, 0.7, 1.0]) for _ in range(PORTS)]
        for i, queue in enumerate(waiting):
            if offered[i] is None and queue and rng.random() < pace[i]:
                offered[i] = network.pack(f"i__{i}__payload", **queue[0].flit(i, sent[i]))
        ready = [rng.random() < odds for odds in patience]
        answer = await network.cycle(offered, ready, idle=rng.getrandbits(width))
        # Arrivals first: nothing may leave in the cycle in which it enters.
        for o, packet in enumerate(answer.shown):
            assert before[o] in (None, packet), f"output {o} let go of a packet, cycle {cycle}"
            before[o] = None if ready[o] else packet
            if packet is not None and ready[o]:
                arriving[o].append(network.unpack(f"o__{o}__payload", packet))
                if arriving[o][-1].get("last", 1):
                    _deliver(o, arriving[o], under_way)
                    arriving[o] = []
                    arrived += 1
        for i, taken in enumerate(answer.ready):
            if taken and offered[i] is not None:
                packet = waiting[i][0]
                if sent[i] == 0:
                    under_way[i, packet.destination].append(packet)
                sent[i] += 1
                if sent[i] == packet.length:
                    waiting[i].popleft()
                    sent[i] = 0
                offered[i] = None
        if arrived == expected:
            break
    lost = {flow: len(queue) for flow, queue in under_way.items() if queue}
    assert not lost, f"packets lost, by source and destination: {lost}"
    assert arrived == expected, f"only {arrived} packets in {LONGEST} cycles"
    for _ in range(50):
        answer = await network.cycle([None] * PORTS, [True] * PORTS)
        assert answer.shown == [None] * PORTS, "packets come out that never went in"
    dut._log.info(f"{arrived} packets in {cycle} cycles, seed {os.environ['COCOTB_RANDOM_SEED']}")


def _deliver(
    output: int, flits: list[dict[str, int]], under_way: dict[tuple[int, int], deque[Packet]]
) -> None:
    """Strike an arrival off the books; it must be of a flow to this output, whole, and the oldest
    of it if flows keep their order."""
    tag = flits[0]["tag"]
    if os.environ["ROUTING"] == "xor":
        sources = [tag ^ output]  # the tag says where the packet comes from
    else:
        assert tag == output, f"packet for {tag} arrived at {output}"
        sources = list(range(PORTS))
    for source in sources:
        flow = under_way[source, output]
        for packet in list(flow)[: 1 if os.environ["ORDERED"] == "1" else None]:
            if flits == [packet.flit(source, index) for index in range(packet.length)]:
                flow.remove(packet)
                return
    raise AssertionError(f"output {output} shows {flits}, which is not due from {sources}")


@cocotb.test()
async def follows_the_recording(dut: Any) -> None:
    """Cycle by cycle what Amaranth's simulator showed for the same inputs."""
    network = Network(dut)
    await network.start()
    for number, entry in enumerate(json.loads(Path(os.environ["RECORDING"]).read_text())):
        answer = await network.cycle(entry["offered"], entry["ready"])
        assert answer.ready == entry["accepted"], f"inputs' ready differs in cycle {number}"
        assert answer.shown == entry["shown"], f"outputs differ in cycle {number}"
