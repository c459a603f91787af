# amaranth: UnusedElaboratable=no
"""Single-stage cubes: wiring, distances, routing in gates, buffer classes, partitions."""

import itertools
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from claims import Claims, needs_yosys
from driving import evaluate, exercise
from long_runs import long
from multicube.hdl import LoopSwitchingNetwork, PartitionedNetwork, build
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from multicube.hdl.families.single_stage.loop_partition_interface import LoopPartitionInterface
from multicube.hdl.families.single_stage.loop_partitions import LoopPartition
from multicube.hdl.families.single_stage.routing_ring import RoutingRing
from multicube.hdl.families.single_stage.single_stage_graph import (
    Lambda,
    LoopSwitching,
    ManYo,
    SingleStageCube,
)
from multicube.hdl.families.single_stage.single_stage_router import SingleStageLogic
from multicube.hdl.graphs.conversion import to_networkx
from multicube.hdl.graphs.graph import End
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.routing.sum_of_products import minimal_sum
from multicube.hdl.graphs.routing.survey import survey
from multicube.hdl.links.packet import Packet
from multicube.sim import simulate
from proof_table import proves

SEED = 21
KINDS = [ManYo, LoopSwitching, Lambda]


# Wiring and addresses.


def successors(stage: int, label: str) -> set[tuple[int, str]]:
    """The nodes ahead, by the rule of VIII-B, on the text of an address. In its last case the stage
    of the second node is printed as 1: it is 0."""
    count = len(label) + 1
    if stage == count - 1:
        return {(0, bit + label[:-1]) for bit in "01"}
    # l_{m-1} ... l_{i+2} are the first m - i - 2 digits, and l_{i-1} ... l_0 the last i.
    high, low = label[: count - stage - 2], label[count - stage - 1 :]
    return {(stage + 1, high + bit + low) for bit in "01"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [2, 3, 4, long(7), long(10)])
def test_links_are_those_of_the_paper(kind: type[SingleStageCube], stages: int) -> None:
    graph = kind(stages)
    check_graph(graph)
    expected: Counter[tuple[str, str]] = Counter()
    for stage, digits in itertools.product(
        range(stages), itertools.product("01", repeat=stages - 1)
    ):
        here = f"({stage}) {''.join(digits)}"
        for there in successors(stage, "".join(digits)):
            ends = here, "({}) {}".format(*there)
            expected[ends] += 1
            expected[ends[::-1]] += kind.two_way
    found = Counter((graph.name(link.node), graph.name(link.peer)) for link in graph.links())
    assert found == +expected
    assert graph.nodes == stages * 2 ** (stages - 1)
    assert graph.ports == graph.nodes * (2 if kind is LoopSwitching else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_loops_meet_where_their_bit_differs(kind: type[SingleStageCube]) -> None:
    graph = kind(4)
    for node in range(graph.nodes):
        one, other = graph.loops(node)
        assert one ^ other == 1 << graph.stage(node)
        assert {graph.node(graph.stage(node), loop) for loop in (one, other)} == {node}
    # Straight through the nodes, a loop comes back to where it began.
    for loop in range(16):
        node = graph.node(0, loop)
        for stage in range(4):
            link = graph.by_output[node, loop >> stage & 1]
            assert f"loop {loop:04b}" in graph.direction(link)
            assert link.peer_port == loop >> (stage + 1) % 4 & 1
            node = link.peer
        assert node == graph.node(0, loop)
    assert len({graph.position(node) for node in range(graph.nodes)}) == graph.nodes


def test_terminals_of_loops() -> None:
    """Each node has a terminal of each of its loops; a number is the stage, and then the loop."""
    graph = LoopSwitching(3)
    for stage, loop in itertools.product(range(3), range(8)):
        terminal = stage << 3 | loop
        assert graph.terminal(stage, loop) == terminal
        assert graph.loop(terminal) == loop
        assert loop in graph.loops(graph.homes[terminal])
    assert Counter(graph.homes) == dict.fromkeys(range(12), 2)


def test_names() -> None:
    assert build("cbar stages=3").parameters == build("hcsn stages=3").parameters
    assert build("man-yo").family == build("cbar").family == "man-yo"
    assert build("lssn stages=2").ports == 8
    for stages in (1, 11):
        with pytest.raises(ValueError, match=f"^Stages m must be from 2 to 10, not {stages}$"):
            build("lambda", stages=stages)


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_cube_connected_cycles_are_lambda_with_two_nodes_for_each(stages: int) -> None:
    """Node m w + p, at position p of the ring at corner w, is that of loop w in stage p. The links
    across are inside the nodes of Lambda."""
    graph, cycles = Lambda(stages), CubeConnectedCycles(stages)

    def node(number: int) -> int:
        corner, position = divmod(number, stages)
        return graph.node(position, corner)

    ends = ((node(link.node), node(link.peer)) for link in cycles.links())
    assert Counter(pair for pair in ends if pair[0] != pair[1]) == Counter(
        (link.node, link.peer) for link in graph.links()
    )


# Distances.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [2, 3, 4, long(5), long(6)])
def test_paths_are_the_shortest(kind: type[SingleStageCube], stages: int) -> None:
    """All pairs, by breadth-first search in networkx."""
    graph = kind(stages)
    distances = dict(nx.all_pairs_shortest_path_length(nx.DiGraph(to_networkx(graph))))
    for (source, here), (destination, there) in itertools.product(enumerate(graph.homes), repeat=2):
        assert len(graph.path(source, destination)) - 1 == distances[here][there]
    assert graph.diameter == max(max(row.values()) for row in distances.values())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [8, *map(long, (7, 9, 10))])
def test_paths_of_large_networks_are_the_shortest(kind: type[SingleStageCube], stages: int) -> None:
    """From some node of each stage: an exclusive or of all loops maps any other one to it."""
    graph = kind(stages)
    edges = nx.DiGraph(to_networkx(graph))
    farthest = 0
    generator = random.Random(SEED)
    ends = generator.sample(range(graph.ports), 256)
    for stage in range(0, stages, 3):
        source = graph.terminal(stage, 0)
        distances = nx.single_source_shortest_path_length(edges, graph.homes[source])
        farthest = max(farthest, *distances.values())
        for destination in ends:
            path = graph.path(source, destination)
            assert len(path) - 1 == distances[graph.homes[destination]]
    assert farthest == graph.diameter
    if kind is not Lambda:
        assert graph.diameter == 2 * stages - 2


@pytest.mark.parametrize(("kind", "spread"), [(ManYo, 0.07), (LoopSwitching, 0), (Lambda, 0.36)])
def test_loops_carry_nearly_the_same(kind: type[SingleStageCube], spread: float) -> None:
    """Under uniform traffic, all links of a stage in one direction: don't cares are shared out."""
    graph = kind(4)
    loads = Counter(
        channel[:2]
        for pair in itertools.product(range(graph.ports), repeat=2)
        for channel in graph.path(*pair)[:-1]
    )
    for stage, backward in itertools.product(range(4), range(1 + kind.two_way)):
        alike = [
            loads[node, 2 * backward + bit]
            for node in range(graph.nodes)
            if graph.stage(node) == stage
            for bit in range(2)
        ]
        assert max(alike) - min(alike) <= spread * sum(alike) / len(alike)


# The routing ring and its logic.


def sums(inputs: int) -> list[list[tuple[int, int]]]:
    """All sums of products of so many inputs, as masks of ones and zeros; those of few first."""
    products = [
        (
            sum(1 << i for i, x in enumerate(kind) if x == 1),
            sum(1 << i for i, x in enumerate(kind) if x == 0),
        )
        for kind in itertools.product(range(3), repeat=inputs)
    ]
    return [
        list(some)
        for count in range(2 ** (inputs - 1) + 1)
        for some in itertools.combinations(products, count)
    ]


@pytest.mark.parametrize("inputs", [2, 3])
def test_sums_are_minimal(inputs: int) -> None:
    """By trying all sums of products, for random functions that are not given everywhere."""
    print("seed", SEED)
    generator = random.Random(SEED)
    tried = sums(inputs)
    for _ in range(30 if inputs == 2 else 4):
        values = {
            number: generator.random() < 0.5
            for number in range(1 << inputs)
            if generator.random() < 0.8
        }

        def fits(some: list[tuple[int, int]], values: dict[int, bool] = values) -> bool:
            return all(
                any(not ones & ~number and not zeros & number for ones, zeros in some) == value
                for number, value in values.items()
            )

        def cost(some: Any) -> tuple[int, int]:
            return len(some), sum((ones | zeros).bit_count() for ones, zeros in some)

        found = minimal_sum(inputs, values)
        assert fits([*map(tuple, found)])
        assert cost(found) == min(cost(some) for some in tried if fits(some))


@pytest.mark.parametrize(
    ("stages", "products", "most"), [(4, 2, 2), (6, 4, 3), (8, 11, 4), long(10, 28, 6)]
)
def test_logic_is_as_small_as_the_paper_says(stages: int, products: int, most: int) -> None:
    """Eleven products of at most four inputs for eight stages (VIII-D)."""
    logic = RoutingRing(stages).logic
    assert (len(logic), max(product.literals for product in logic)) == (products, most)


@pytest.mark.parametrize("stages", [*range(2, 9), *map(long, (9, 10))])
def test_ring_takes_a_shortest_way(stages: int) -> None:
    """Its steps are those to each stage where a loop must be changed, by trying how far to go."""
    ring = RoutingRing(stages)
    generator = random.Random(SEED)
    for _ in range(300):
        difference, resultant = generator.randrange(stages), generator.randrange(1 << stages)
        needed = {k for k in range(1, stages) if resultant >> k & 1} - {difference}
        # So far forward and backward, which one first, and on to the destination. To pass each
        # stage that way it takes at least so many steps; and some way is as short.
        ways = []
        for ahead, behind in itertools.product(range(stages + 1), repeat=2):
            passed = {k % stages for k in range(-behind, ahead + 1)}
            if needed <= passed:
                for end in range(-behind, ahead + 1):
                    if end % stages == difference:
                        ways += [2 * ahead + 2 * behind + end, 2 * ahead + 2 * behind - end]
        left = ring.distance(difference, resultant)
        assert left == min(ways)
        for _ in range(left):
            backward = ring.backward(difference, resultant)
            difference, resultant = ring.step(difference, resultant, backward=backward)
        assert (difference, resultant & ~1) == (0, 0)


# The gates.


class Decision:
    """The gates of all inputs of a router, and what they decide at a node."""

    def __init__(self, plan: SingleStageCube) -> None:
        self.plan, self.logic, self.m = plan, SingleStageLogic(plan), Module()
        self.here = Signal(self.logic.address)
        self.tag = Signal((plan.ports - 1).bit_length())
        channels = range(plan.channels_per_link)
        ends = itertools.product(range(4 if plan.two_way else 2), channels)
        self.exits: dict[End | None, dict[End, Signal]] = {}
        for number, came in enumerate([None, *ends]):
            found = self.logic.exits(self.m, f"{number}", came, self.here, self.tag)
            self.exits[came] = {end: Signal(name=f"exit_{number}") for end in found}
            for end, value in found.items():
                self.m.d.comb += self.exits[came][end].eq(value)


@pytest.mark.parametrize(
    "plan",
    [
        *(kind(stages) for kind in KINDS for stages in (2, 3)),
        *(Lambda(stages, "table") for stages in (2, 3)),
        *(long(plan) for plan in (ManYo(5), LoopSwitching(4), Lambda(5), Lambda(5, "table"))),
    ],
    ids=str,
)
def test_gates_decide_as_the_description(plan: SingleStageCube) -> None:
    """For every node, destination, and channel by which a header can come."""
    gates = Decision(plan)
    wanted: dict[tuple[int, int], list[tuple[End | None, set[End]]]] = {}
    for destination in range(plan.ports):
        port, number = plan.exits[destination][1:]
        for node, came, nexts in plan.steps(destination):
            entry = None if came is None else (plan.link_of(came).peer_port, came.number)
            ends = {(channel.port, channel.number) for channel in nexts}
            wanted.setdefault((node, destination), []).append((entry, ends or {(port, number)}))

    async def bench(context: Any) -> None:
        for (node, destination), decisions in wanted.items():
            context.set(gates.here, gates.logic.position(node))
            context.set(gates.tag, destination)
            for came, ends in decisions:
                exits = gates.exits[came].items()
                assert {end for end, signal in exits if context.get(signal)} == ends

    evaluate(gates.m, bench)


@pytest.mark.parametrize("lookup", ["logic", "table"])
def test_direction_of_1024_processors(lookup: str) -> None:
    """In gates, for all differences and resultants: the direction is a shortest one."""
    plan = Lambda(8, lookup)
    ring, module = plan.ring, Module()
    wanted, stage, differs, back = Signal(3), Signal(3), Signal(8), Signal()
    found = SingleStageLogic(plan)._backward(module, plan, wanted, stage, differs)
    module.d.comb += back.eq(found)

    async def bench(context: Any) -> None:
        context.set(stage, 5)
        for difference, resultant in itertools.product(range(8), range(256)):
            context.set(wanted, 5 + difference)
            context.set(differs, ring.turned(resultant, -5))
            taken = context.get(back)
            assert taken == ring.backward(difference, resultant)
            if ring.distance(difference, resultant):
                assert ring.shortest(difference, resultant)[taken]

    evaluate(module, bench)


@pytest.mark.parametrize("stages", [long(3), long(4)])
def test_table_and_logic_are_the_same_network(stages: int) -> None:
    """Every packet takes as long with both."""
    records = []
    for lookup in ("logic", "table"):
        network = build("lambda", stages=stages, lookup=lookup, length="1:6")
        result = simulate(network, load=0.2, cycles=1000, seed=SEED)
        assert (result.lost, result.misrouted, result.duplicated, result.reordered) == (0, 0, 0, 0)
        records.append(result.to_json())
        assert records[-1]["parameters"].pop("lookup") == lookup
    for record in records:
        record.pop("wall_seconds", None)
        record["run"].pop("network_digest")
    assert records[0] == records[1]


# Buffer classes.


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("kind", "channels"),
    [(ManYo, [2, 2, 3, 3]), (LoopSwitching, [2, 2, 3]), (Lambda, [2, 2, 2, 3])],
)
def test_buffer_classes(kind: type[SingleStageCube], channels: list[int]) -> None:
    """Free of deadlock, as described; and routers have wires for all turns that headers make."""
    for stages, count in enumerate(channels, 2):
        graph = kind(stages)
        found = survey(graph)
        assert found.cycle is None
        assert graph.deadlock_free
        assert graph.channels_per_link == count
        turns = graph.turns()
        assert all(found.turns[node] <= turns[node] for node in range(graph.nodes))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [5, 6, 7, long(8), long(9), long(10)])
def test_channels_of_large_networks(kind: type[SingleStageCube], stages: int) -> None:
    """All are in the order, so that packets always use a later one."""
    graph = kind(stages)
    assert graph.channels_per_link == 3
    assert {len(places) for places in graph.order.values()} == {3}
    assert all(places == sorted(places) for places in graph.order.values())


@pytest.mark.parametrize(("kind", "stages"), [(ManYo, 4), (Lambda, 5)])
def test_one_class_less_can_deadlock(kind: type[SingleStageCube], stages: int) -> None:
    """If packets stay in the second of three classes."""
    graph = kind(stages, channels=2)
    assert graph.channels_per_link == 2
    assert survey(graph).cycle is not None


# Partitions.


def parts_of(plan: SingleStageCube) -> list[tuple[int, list[int]]]:
    """For all masks, the members of each subnetwork, from the words of VIII-F: terminals of the
    same bits in all closed stages; where a node has one, not those in closed stages."""
    found = []
    for mask in range(1 << plan.stages):
        groups: dict[int, list[int]] = {}
        for terminal in range(plan.ports):
            if plan.terminals_of_node == 2 or mask >> plan.stage(plan.homes[terminal]) & 1:
                groups.setdefault(plan.loop(terminal) & ~mask, []).append(terminal)
        found += [(mask, members) for members in groups.values()]
    return found


def effective_destination(plan: SingleStageCube, mask: int, source: int, tag: int) -> int:
    """The terminal that a packet is for in the subnetwork of its sender, whatever its tag.

    Bit i of the mask M of this subnetwork is that of stage i.
    """
    if tag >= plan.ports:
        return source
    stage, own = plan.stage(plan.homes[tag]), plan.stage(plan.homes[source])
    if plan.terminals_of_node == 1 and not mask >> stage & mask >> own & 1:
        return source
    loop = plan.loop(tag) & mask | plan.loop(source) & ~mask
    return plan.terminal(stage, loop)


@pytest.mark.parametrize("kind", KINDS)
def test_effective_tags_stay_inside(kind: type[SingleStageCube]) -> None:
    """For all masks, members and tags, also of no terminal; and what is inside is not changed."""
    plan = kind(3)
    for mask, members in parts_of(plan):
        for source, tag in itertools.product(members, range(1 << (plan.ports - 1).bit_length())):
            found = effective_destination(plan, mask, source, tag)
            assert found in members
            if tag in members:
                assert found == tag
    closed = LoopPartition.closing(plan, [1])
    for terminal in range(plan.ports):
        if plan.stage(plan.homes[terminal]) == 1 and kind is not LoopSwitching:
            assert effective_destination(plan, 0b101, terminal, 0) == terminal
            assert closed.of(terminal).members == [terminal]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [3, long(4), long(5)])
def test_subnetworks_are_networks_of_the_other_stages(
    kind: type[SingleStageCube], stages: int
) -> None:
    """2^r of them, which share no link; their members are as far apart as in a smaller network,
    without the stages in between that are only passed."""
    plan = kind(stages)
    for closed in itertools.combinations(range(stages), stages - 2):
        partition = LoopPartition.closing(plan, closed)
        assert len(partition.subnetworks) == 2 ** len(closed)
        used: list[set[Any]] = []
        for part in partition.subnetworks:
            paths = [plan.path(*pair) for pair in itertools.product(part.members, repeat=2)]
            used.append({channel[:2] for path in paths for channel in path})
            # The open stages that links lead to are the steps of the smaller network.
            homes = {plan.homes[member] for member in part.members}
            steps = nx.DiGraph()
            for path in paths:
                passed = [channel.node for channel in path]
                stops = [node for node in passed if plan.stage(node) not in closed]
                steps.add_edges_from(itertools.pairwise(stops))
            if kind is not LoopSwitching:
                assert set(steps) == homes
                assert nx.is_isomorphic(steps, nx.DiGraph(to_networkx(kind(2))))
        for one, other in itertools.combinations(used, 2):
            assert not one & other


@pytest.mark.parametrize("kind", KINDS)
def test_interface_sends_effective_tags(kind: type[SingleStageCube]) -> None:
    """For all masks, senders and tags; only headers are changed."""
    plan = kind(3 if kind is not LoopSwitching else 2)
    width = (plan.ports - 1).bit_length()
    interface = LoopPartitionInterface(Packet(width, 4, flits=True), plan)
    members = parts_of(plan)

    async def bench(context: Any) -> None:
        context.set(interface.i.valid, 1)
        context.set(interface.i.payload.last, 1)
        for mask, sources in members:
            context.set(interface.o.ready, 1)
            context.set(interface.mask, mask)
            for source in sources:
                context.set(interface.address, interface.position(plan, source))
                context.set(interface.mask_member, plan.loop(source))
                context.set(interface.mask_write, 1)
                await context.tick()
                context.set(interface.mask_write, 0)
                # A loop of another subnetwork: this write is not for it.
                context.set(interface.mask_member, ~plan.loop(source))
                context.set(interface.mask_write, mask != (1 << plan.stages) - 1)
                assert context.get(interface.in_force) == mask
                for tag in range(1 << width):
                    context.set(interface.i.payload.tag, tag)
                    expected = effective_destination(plan, mask, source, tag)
                    assert context.get(interface.o.payload.tag) == expected

    exercise(interface, bench)


@pytest.mark.long
@needs_yosys
@pytest.mark.parametrize(
    "plan",
    [
        ManYo(3),
        *map(long, (LoopSwitching(3), Lambda(3), Lambda(3, "table"))),
        *map(long, (ManYo(6), LoopSwitching(5), Lambda(5))),
    ],
    ids=str,
)
@pytest.mark.parametrize("holds", [True, long(False)])
def test_gates_keep_packets_inside(tmp_path: Path, plan: SingleStageCube, holds: bool) -> None:
    """The step of an induction over the links of a path, for all nodes, inputs, tags and masks M.

    A packet is inside while its loop agrees with that of its tag where M is 0: so it sets out, with
    an effective tag. Then it goes on only by links of such loops, and leaves only for members. (But
    not if it may be for a terminal in a closed stage, or come on any loop.)
    """
    claims = Claims()
    m, gates = claims.m, Decision(plan)
    m.submodules.gates = gates.m
    mask, node = claims.symbol(plan.stages, "mask"), claims.free(len(gates.tag), "node")
    tag = claims.free(len(gates.tag), "tag")
    claims.assume((node < plan.nodes) & (tag < plan.ports))
    m.d.comb += [
        gates.here.eq(Array(map(gates.logic.position, range(plan.nodes)))[node]),
        gates.tag.eq(tag),
    ]

    def looked_up(values: Iterable[int], index: Value) -> Signal:
        found = Signal(plan.stages)
        m.d.comb += found.eq(Array(values)[index])
        return found

    own = looked_up((1 << plan.stage(node) for node in range(plan.nodes)), node)
    loops = [looked_up((plan.loops(node)[b] for node in range(plan.nodes)), node) for b in range(2)]
    goal = looked_up(map(plan.loop, range(plan.ports)), tag)
    stage = looked_up((1 << plan.stage(plan.homes[t]) for t in range(plan.ports)), tag)
    single = plan.terminals_of_node == 1
    agrees = [((loop ^ goal) & ~mask) == 0 for loop in loops]
    # Where a node has one terminal, a member is in an open stage.
    member = (own & mask).any() & agrees[0] if single else None
    if holds and single:
        claims.assume((stage & mask).any())
    for came, exits in gates.exits.items():
        if came is not None:
            inside = agrees[came[0] % 2]
        else:
            inside = member if single else agrees[0] | agrees[1]
        if not holds:
            inside = Const(1)
        for (port, _), taken in exits.items():
            to_member = member if single else agrees[-1 - port]
            claims.claim(~(inside & taken) | (to_member if port < 0 else agrees[port % 2]))
    assert claims.hold(tmp_path, 1, inductive=True) == holds


WITNESS = data.StructLayout({"source": 3, "mask": 2})


class Leaks(LoopPartitionInterface):
    """Does not enforce the tag."""

    def effective_tag(self, tag: Any) -> Any:
        return tag


def confinement(interface: type[LoopPartitionInterface], length: int) -> Claims:
    """Claims about the terminals of the smallest LSSN, of four nodes and eight terminals.

    Anything may be sent, in packets of any length, and any masks written, at any time. What set out
    from S under the mask M only ever arrives on loops that agree with S where M is 0. Each flit of
    a packet tells who sent it, and the mask that was in force at its header. Where packets should
    have a `length` of 1, each flit is a packet, whatever it says.
    """
    claims = Claims()
    m = claims.m
    network = LoopSwitchingNetwork(2, depth=1, length=length, payload=WITNESS, allow_deadlock=1)
    plan = network.relation
    assert isinstance(plan, SingleStageCube)
    fabric = PartitionedNetwork(network).fabric
    for name, cell in fabric.cells.items():
        if cell.type.component is LoopPartitionInterface:
            kind = CellType(interface, **cell.type.parameters)
            fabric.cells[name] = replace(cell, type=kind)
    dut = FabricComponent(fabric)
    m.submodules.dut = dut.elaborate(None)
    for port in ("mask", "mask_member"):
        m.d.comb += getattr(dut, port).eq(claims.free(2, port))
    m.d.comb += dut.mask_write.eq(claims.free(1, "mask_write"))
    for terminal in range(8):
        sent, received = dut.i[terminal], dut.o[terminal]
        in_force = dut.instances[f"partition_{terminal}"].in_force
        header, mask = Signal(init=1), Signal(2)
        with m.If(sent.valid & sent.ready):
            m.d.sync += header.eq(sent.payload.last | (length == 1))
            with m.If(header):
                m.d.sync += mask.eq(in_force)
        m.d.comb += [
            sent.valid.eq(claims.free(1, f"valid_{terminal}")),
            sent.payload.tag.eq(claims.free(3, f"tag_{terminal}")),
            sent.payload.last.eq(claims.free(1, f"last_{terminal}")),
            sent.payload.payload.source.eq(terminal),
            sent.payload.payload.mask.eq(Mux(header, in_force, mask)),
            received.ready.eq(claims.free(1, f"ready_{terminal}")),
        ]
        witness = received.payload.payload
        inside = ((witness.source ^ terminal)[: plan.stages] & ~witness.mask) == 0
        claims.claim(~received.valid | inside)
    return claims


@needs_yosys
@proves(
    LoopPartitionInterface,
    says="No packet leaves its partition, whatever is sent and whatever masks are written.",
    sizes="the LSSN of 4 nodes and 8 terminals, depth 1, packets of a flit and of several",
    cycles=6,
)
@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.long
def test_no_packet_leaves_its_partition(length: int, tmp_path: Path) -> None:
    assert confinement(LoopPartitionInterface, length).hold(tmp_path, 6)


@needs_yosys
@pytest.mark.long
def test_proof_finds_a_packet_that_leaves(tmp_path: Path) -> None:
    assert not confinement(Leaks, 2).hold(tmp_path, 7)
