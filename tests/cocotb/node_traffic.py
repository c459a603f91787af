"""What cocotb does to an exported node of the Connection Machine. Runs inside the simulator.

The environment names the list of ports that was exported beside the Verilog (PORTS). The node has
word wires, serves all of them in a cycle, and sends the oldest messages first.
"""

import json
import os
import random
from pathlib import Path
from typing import Any, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

ADDRESS = 0b101
CYCLES = 400

Fields = dict[str, int]


class Seen(NamedTuple):
    """What left the node in one cycle, and which of its inputs took what they were offered."""

    wires: dict[int, Fields]
    outputs: dict[int, Fields]
    taken: set[int]
    referred: int
    level: int


class Node:
    """The streams of the module under test, one cycle at a time."""

    def __init__(self, dut: Any) -> None:
        ports = json.loads(Path(os.environ["PORTS"]).read_text())["ports"]
        assert all(len(getattr(dut, port["name"])) == port["width"] for port in ports)
        self.dut = dut
        self.fields = {port["name"]: port["fields"] for port in ports if "fields" in port}
        self.processors = sum(port["name"].startswith("i__") for port in ports) // 3
        self.wires = sum(port["name"].startswith("i_wire__") for port in ports) // 3

    def __getitem__(self, name: str) -> Any:
        return getattr(self.dut, name)

    def offer(self, stream: str, values: Fields | None) -> None:
        """The fields of a stream, or nothing."""
        at = self.fields[f"{stream}__payload"]
        word = sum(value << at[name]["offset"] for name, value in (values or {}).items())
        self[f"{stream}__valid"].value = values is not None
        self[f"{stream}__payload"].value = word

    def shown(self, stream: str) -> Fields | None:
        if self[f"{stream}__valid"].value != 1:
            return None
        word = int(self[f"{stream}__payload"].value)
        return {
            name: word >> at["offset"] & (1 << at["width"]) - 1
            for name, at in self.fields[f"{stream}__payload"].items()
        }

    async def start(self) -> None:
        """Start the clock and reset; leave on a falling edge."""
        self["address"].value = ADDRESS
        self["rst"].value = 1
        for side, count in (("o", self.processors), ("o_wire", self.wires)):
            for index in range(count):
                self[f"{side}__{index}__ready"].value = 1
        cocotb.start_soon(Clock(self["clk"], 10, "ns").start())
        for _ in range(3):
            await self.cycle({}, {})
        self["rst"].value = 0

    async def cycle(
        self,
        wires: dict[int, Fields],
        packets: dict[int, Fields],
        ready: set[int] | None = None,
    ) -> Seen:
        """From one falling edge to the next: messages from neighbours, packets from processors."""
        for k in range(self.wires):
            self.offer(f"i_wire__{k}", wires.get(k))
        for p in range(self.processors):
            self.offer(f"i__{p}", packets.get(p))
            self[f"o__{p}__ready"].value = ready is None or p in ready
        await ReadOnly()
        crossed = {k: self.shown(f"o_wire__{k}") for k in range(self.wires)}
        given = {p: self.shown(f"o__{p}") for p in range(self.processors)}
        seen = Seen(
            {k: fields for k, fields in crossed.items() if fields},
            {p: fields for p, fields in given.items() if fields and (ready is None or p in ready)},
            {p for p in packets if self[f"i__{p}__ready"].value == 1},
            int(self["referred"].value),
            int(self["level"].value),
        )
        await FallingEdge(self["clk"])
        return seen


@cocotb.test()
async def messages_come_and_go(dut: Any) -> None:
    """One message in each direction: injected, passing through, delivered."""
    node = Node(dut)
    await node.start()

    # From processor 1 to processor 0 of node 6: the lowest dimension that differs comes first.
    seen = await node.cycle({}, {1: {"tag": 0b110 << 1 | 0, "payload": 0xA5}})
    assert seen.taken == {1}
    assert (await node.cycle({}, {})).level == 1
    wires = (await node.cycle({}, {})).wires
    assert wires.keys() == {0}
    assert (wires[0]["relative"], wires[0]["processor"], wires[0]["payload"]) == (0b010, 0, 0xA5)

    # From a neighbour, with one more wire to cross: it is sent on in the next cycle.
    message = {"relative": 0b100, "processor": 1, "born": 3, "payload": 0x5A}
    assert not (await node.cycle({1: message}, {})).wires
    assert (await node.cycle({}, {})).wires == {2: {**message, "relative": 0}}

    # From a neighbour, for processor 1 of this node: the tag says where it is.
    await node.cycle({2: {**message, "relative": 0}}, {})
    assert (await node.cycle({}, {})).outputs == {1: {"tag": ADDRESS << 1 | 1, "payload": 0x5A}}
    assert await node.cycle({}, {}) == Seen({}, {}, set(), 0, 0)


@cocotb.test()
async def nothing_is_lost(dut: Any) -> None:
    """Neighbours and processors send as they like, and processors take as they like: each message
    leaves once, delivered if it is at its destination, else over a wire, with its bit flipped."""
    rng = random.Random(int(os.environ["COCOTB_RANDOM_SEED"]))
    node = Node(dut)
    await node.start()
    inside: dict[int, Fields] = {}
    offered: dict[int, Fields] = {}
    referred = delivered = number = 0
    for cycle in range(CYCLES + 100):
        sending = cycle < CYCLES
        load = rng.random() if sending else 0
        came = {}
        for k in range(node.wires):
            if rng.random() < load:
                number += 1
                came[k] = {
                    "relative": rng.randrange(8),
                    "processor": rng.randrange(2),
                    "born": cycle % 16,
                    "payload": number,
                }
        for p in range(node.processors):
            if p not in offered and rng.random() < load:
                number += 1
                offered[p] = {"tag": rng.randrange(16), "payload": number}
        ready = {p for p in range(node.processors) if not sending or rng.random() < 0.5}
        seen = await node.cycle(came, offered, ready)
        # Departures first: nothing leaves in the cycle in which it comes.
        for k, message in seen.wires.items():
            known = inside.pop(message["payload"])
            assert message["relative"] == known["relative"] ^ 1 << k
            assert message["processor"] == known["processor"]
            assert message["born"] == known.get("born", message["born"])
        for p, packet in seen.outputs.items():
            known = inside.pop(packet["payload"])
            assert (known["relative"], known["processor"]) == (0, p)
            assert packet["tag"] == ADDRESS << 1 | p
            delivered += 1
        for message in came.values():
            inside[message["payload"]] = message
        for p in seen.taken:
            packet = offered.pop(p)
            relative, processor = packet["tag"] >> 1 ^ ADDRESS, packet["tag"] & 1
            inside[packet["payload"]] = {"relative": relative, "processor": processor}
        referred += seen.referred
    assert not inside
    assert not offered
    assert referred > 0
    assert delivered > 0
    dut._log.info(f"{number} messages, {delivered} delivered here, {referred} referred")
