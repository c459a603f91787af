# amaranth: UnusedElaboratable=no
"""Partitions of networks between processors and memory: each is a machine of its own."""

import itertools
import random
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Value
from command_line import Call
from disturbance import Disturbed
from driving import exercise
from long_runs import long
from multicube.hdl import CombiningNetwork, PartitionedNetwork
from multicube.hdl.export.top_ports import port_list
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.families.processor_memory_network import ProcessorMemoryNetwork
from multicube.hdl.graphs.partitions import Partition, Subnetwork
from multicube.hdl.networks.memory_network import MemoryNetwork
from multicube.hdl.terminals.memory_partition import MemoryPartitionInterface
from multicube.sim.measure.serial_order import Access, serial_order

SMALL = {"width": 6, "rows": 2, "outstanding": 128, "depth": 2, "wait": 2}


class Leaks(MemoryPartitionInterface):
    """Sends the tag that it is given."""

    def effective_tag(self, tag: Value) -> Value:
        return tag


def place_of(network: MemoryNetwork, part: Subnetwork, processor: int, word: int) -> int:
    """The word that a request reaches: bits of the module's number are the processor's where the
    members agree."""
    row, module = divmod(word, network.ports)
    given, own = network.code.encode(module), network.code.encode(processor)
    reached = given & part.mask | own & ~part.mask
    return row * network.ports + next(
        number for number in range(network.ports) if network.code.encode(number) == reached
    )


class Processors:
    """What the processors of a part send: requests for any word of any memory, most for one."""

    def __init__(self, network: MemoryNetwork) -> None:
        self.network = network
        self.sent: dict[int, int] = defaultdict(int)

    def __call__(self, generator: random.Random, processor: int) -> int:
        network = self.network
        words = network.ports * network.parameters.rows
        word = generator.choice([1, generator.randrange(words)])
        # One path for each word keeps a processor's requests for it in order.
        tag, address = network.locate(word, word % network.paths)
        identity, self.sent[processor] = self.sent[processor], self.sent[processor] + 1
        fields = {
            "tag": tag,
            "identity": identity,
            "address": address,
            "operation": generator.randrange(len(network.operations)),
            "operand": generator.getrandbits(network.parameters.width),
        }
        return network.link.request_layout.const(fields).as_value().value


def histories(
    network: MemoryNetwork, part: Subnetwork, seen: list[dict[tuple, int]]
) -> dict[int, list[Access]]:
    """The accesses to each word that the processors of a part have really reached."""
    requests, replies = network.link.request_layout, network.link.reply_layout
    words = {
        network.locate(word, word % network.paths): word
        for word in range(network.ports * network.parameters.rows)
    }
    waiting: dict[tuple[int, int], tuple[Any, int]] = {}
    found = defaultdict(list)
    for cycle, values in enumerate(seen):
        for processor in part.members:
            link = "i", processor, "reply"
            if values[*link, "valid"] and values[*link, "ready"]:
                reply = replies.from_bits(values[*link, "payload"])
                request, sent = waiting.pop((processor, reply.identity))
                word = place_of(network, part, processor, words[request.tag, request.address])
                operation = network.operations[request.operation]
                value = reply.value if operation.replies else None
                found[word].append(
                    Access(processor, operation, request.operand, value, sent, cycle)
                )
            link = "i", processor, "request"
            if values[*link, "valid"] and values[*link, "ready"]:
                request = requests.from_bits(values[*link, "payload"])
                waiting[processor, request.identity] = request, cycle
    assert not waiting
    return {word: sorted(each, key=lambda access: access.sent) for word, each in found.items()}


CASES = [
    long({"ports": 4}, [[0, 2], [1, 3]]),
    long({"ports": 8, "wiring": "omega"}, [[4, 5, 6, 7], [0, 2], [1]]),
    long({"ports": 8, "wiring": "flip", "merge": "unlimited"}, [[1, 3, 5, 7], [0, 2], [4, 6]]),
    long({"ports": 9, "radix": 3}, [[0, 3, 6], [1, 4, 7], [2, 5, 8]]),
    long({"ports": 16, "radix": 4, "combine": "rp3"}, [range(0, 16, 2), range(1, 16, 2)]),
    long({"ports": 4, "queues": "input", "combine": "none", "depth": 4}, [[0, 1], [2, 3]]),
    long({"ports": 8, "lengths": "2:4"}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ({"ports": 4, "paths": 2}, [[0, 2], [1, 3]]),
    long({"ports": 8, "paths": 2}, [[0, 1, 4, 5], [2, 6], [3, 7]]),
    long({"ports": 4, "paths": 4, "radix": 4, "combine": "none"}, [[0, 1], [2, 3]]),
]


@pytest.mark.long
@pytest.mark.parametrize(("parameters", "groups"), CASES)
def test_each_part_is_a_machine_of_its_own(
    parameters: dict[str, Any], groups: list[list[int]]
) -> None:
    check_parts(CombiningNetwork(**{**SMALL, **parameters}), groups)


@pytest.mark.long
def test_so_is_a_part_with_a_network_each_way() -> None:
    check_parts(ProcessorMemoryNetwork(4, width=32, rows=2, outstanding=128), [[0, 2], [1, 3]])


def check_parts(network: MemoryNetwork, groups: list[list[int]]) -> None:
    """The requests of a part, for all words, are performed in a serial order on its own memory; and
    in every cycle it sees the same, and its memory holds the same, whatever the others do."""
    partition = Partition.of_members(network.code, groups)
    width = network.parameters.width
    for part in partition.subnetworks[:2]:
        disturbed = Disturbed(PartitionedNetwork(network), part.members, 3, Processors(network))
        for terminal in range(network.ports):
            if terminal == partition.of(terminal).members[0]:
                disturbed.write(partition.of(terminal))
        seen = disturbed.seen(120)
        disturbed.load = 0
        seen = [one + rest for one, rest in zip(seen, disturbed.seen(120))]
        memories = [
            {d: disturbed.engine.memory(f"memory_{d}", "words", run) for d in part.members}
            for run in disturbed.runs
        ]
        found = histories(network, part, seen[0])
        assert sum(map(len, found.values())) > 15 * part.size
        for word, history in found.items():
            row, module = divmod(word, network.ports)
            assert module in part.members
            assert serial_order(history, width=width, final=memories[0][module][row]) is not None
        for other, memory in zip(seen[1:], memories[1:]):
            assert other == seen[0]
            assert memory == memories[0]


@pytest.mark.long
def test_a_leak_is_seen() -> None:
    network = CombiningNetwork(4, **SMALL)
    fabric = PartitionedNetwork(network).fabric
    for name, cell in fabric.cells.items():
        if cell.type.component is MemoryPartitionInterface:
            fabric.cells[name] = replace(cell, type=CellType(Leaks, **cell.type.parameters))
    disturbed = Disturbed(FabricComponent(fabric), [0, 2], 3, Processors(network))
    for part in Partition.of_members(4, [[0, 2], [1, 3]]).subnetworks:
        disturbed.write(part)
    idle, anything, stalled = disturbed.seen(120)
    assert idle != anything
    assert idle != stalled


@pytest.mark.one_in(2)
@pytest.mark.parametrize("parameters", [{"wiring": "indirect-cube"}, {"paths": 2}])
def test_effective_tags_of_requests(parameters: dict[str, Any]) -> None:
    """All masks, processors and tags of eight: the module is D AND M OR S AND NOT M, and the path's
    bit is the processor's where its mask is 0. The rest of the request, and the reply, pass."""
    network = CombiningNetwork(8, **{**SMALL, **parameters})
    type_ = network.confinement().interface
    dut = type_.build()

    async def testbench(ctx: Any) -> None:
        for mask, own in itertools.product(range(8), range(8)):
            ctx.set(dut.address, own)
            ctx.set(dut.mask, mask)
            ctx.set(dut.mask_member, own)
            ctx.set(dut.mask_write, 1)
            await ctx.tick()
            for module, path in itertools.product(range(8), range(network.paths)):
                given = network.locate(module + 8, path)
                fields = {"tag": given.tag, "identity": own, "address": 1, "operand": module}
                ctx.set(dut.i.request.payload, fields)
                allowed = path & mask | own & ~mask & network.paths - 1
                reached = network.locate((module & mask | own & ~mask) + 8, allowed)
                sent = ctx.get(dut.o.request.payload)
                assert sent.tag == reached.tag
                assert (sent.identity, sent.address, sent.operand) == (own, 1, module)
                ctx.set(dut.o.reply.payload, {"tag": given.tag, "identity": own, "value": mask})
                assert ctx.get(dut.i.reply.payload) == ctx.get(dut.o.reply.payload)

    exercise(dut, testbench)


def test_subnetworks_that_would_share_links_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Partitions need a wiring whose stages replace each"):
        PartitionedNetwork(CombiningNetwork(8, wiring="baseline"))


@pytest.mark.long
def test_partitioned_memory_exports() -> None:
    """The ports of the network itself, and the privileged port."""
    network = CombiningNetwork(4, **SMALL, queues="input", combine="none")
    dut = PartitionedNetwork(network)
    text = verilog_text(dut.fabric, "divided")
    assert (
        len(re.findall(r"^  divided_memory_partition_interface partition_\d \($", text, re.M)) == 4
    )
    ports = {port["name"] for port in port_list(dut.fabric)}
    own = {port["name"] for port in port_list(network.fabric)}
    assert ports == own | {"mask", "mask_member", "mask_write"}


@pytest.mark.long
def test_command_exports_partitions_of_memory(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "parts.v"
    status, _, err = call("export", "ultracomputer", "ports=4", "--partitions", "-o", str(file))
    assert (status, err) == (0, "")
    assert "memory_partition_interface partition_3 (" in file.read_text()


def test_hashed_addresses_are_refused() -> None:
    """A hash moves requests to modules of other subnetworks, behind the masks."""
    with pytest.raises(ValueError, match=r"^Partitions need hashing=none, "):
        PartitionedNetwork(CombiningNetwork(ports=8, hashing="polynomial"))
