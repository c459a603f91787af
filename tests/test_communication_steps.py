# amaranth: UnusedElaboratable=no
"""Communication in steps: the rules, schedules, and the machine of controllers that runs them."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from driving import exercise
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench.ensemble import EnsembleMachine
from multicube.hdl.export.verilog import write_verilog
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.graphs.graph import Graph, Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.schedules.communication_steps import (
    Transfer,
    check_broadcast,
    check_concentration,
    check_delivery,
    check_schedule,
    concentration_of,
    one_message,
)
from multicube.hdl.graphs.schedules.node_programs import ROWS, Instruction, accumulating, delivering
from multicube.hdl.graphs.schedules.permutation_steps import StepRouter, crossing_capacity
from multicube.hdl.operations.folds import Fold
from multicube.hdl.routers.communication_controller import CommunicationController
from multicube.sim import SimulationError
from multicube.sim.run.communication import (
    StepTask,
    broadcast_task,
    concentration_task,
    permutation_task,
    run_tasks,
)
from verilog_tools import assert_lint_free, check_with_yosys

NETWORKS = [
    long("torus", {"k": 5, "n": 1}),
    long("torus", {"k": 4, "n": 2}),
    long("torus", {"k": 2, "n": 3}),
    ("ring", {"k": 5}),
    long("complete", {"nodes": 8}),
    long("star", {"nodes": 9}),
    long("tree", {"nodes": 15}),
    long("chordal-ring", {"nodes": 16}),
    ("psnn", {"n": 3}),
    long("pse", {"n": 3}),
]
"""Those of the paper, small."""


def graph_of(name: str, parameters: dict[str, Any]) -> Graph:
    network = build(name, **parameters)
    assert network.relation is not None
    return network.relation.graph


def near(graph: Graph) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(graph.nodes)]
    for link in graph.links():
        found[link.node].add(link.peer)
    return found


def is_legal(graph: Graph, schedule: Sequence[Sequence[Transfer]]) -> bool:
    """The model's rules once more, counted: words sent and received, and words on each link."""
    links = near(graph)
    return all(
        max(Counter(t.sender for t in step).values(), default=0) <= 1
        and max(Counter(t.receiver for t in step).values(), default=0) <= 1
        and max(Counter(frozenset(t[:2]) for t in step).values(), default=0) <= 1
        and all(t.sender != t.receiver and t.receiver in links[t.sender] for t in step)
        for step in schedule
    )


def simple_broadcast(graph: Graph, root: int, seed: int) -> list[list[Transfer]]:
    """Whoever has the word sends it to any neighbour that has not."""
    rng, links = random.Random(seed), near(graph)
    has, steps = [root], []
    while len(has) < graph.nodes:
        step: list[tuple[int, int]] = []
        for node in list(has):
            if open_ := sorted(links[node] - set(has)):
                step.append((node, rng.choice(open_)))
                has.append(step[-1][1])
        steps.append(step)
    return one_message(steps)


def turned(graph: Graph) -> Graph:
    """The graph with its links turned around."""
    return ListedGraph(
        graph.nodes, [Link(x.peer, x.peer_port, x.node, x.port) for x in graph.links()]
    )


@pytest.mark.long
@pytest.mark.parametrize(("name", "parameters"), NETWORKS)
def test_schedules_and_hardware(name: str, parameters: dict[str, Any]) -> None:
    """Legal schedules do on the hardware what they do by the rules, in as many cycles as steps."""
    graph = graph_of(name, parameters)
    rng = random.Random(7)
    root = rng.randrange(graph.nodes)
    broadcast = simple_broadcast(graph, root, seed=1)
    concentration = concentration_of(simple_broadcast(turned(graph), root, seed=2))
    router = StepRouter(graph, [range(graph.nodes // 2)])
    schedules, tasks = [broadcast, concentration], []
    tasks.append(broadcast_task(graph, broadcast, root))
    tasks += [concentration_task(graph, concentration, root, name) for name in ("add", "max")]
    schedules.append(concentration)
    for number in range(3):
        permutation: list[int | None] = list(rng.sample(range(graph.nodes), graph.nodes))
        if number:
            permutation[number] = None
        schedule = router.schedule(permutation, tries=4, seed=number)
        assert len(schedule) >= router.bound(permutation).steps
        schedules.append(schedule)
        tasks.append(permutation_task(graph, schedule, permutation))
        at = {node: node for node, to in enumerate(permutation) if to is not None}
        for step in schedule:
            for sender, receiver, message in step:
                assert at[message] == sender
                at[message] = receiver
        assert at == {node: to for node, to in enumerate(permutation) if to is not None}
    assert all(is_legal(graph, schedule) for schedule in schedules)
    runs = run_tasks(graph, tasks, engine="compiled")
    assert [run.steps for run in runs] == [len(schedule) for schedule in schedules]
    assert set(runs[0].results) == {tasks[0].values[root]}
    assert runs[1].results[root] == sum(tasks[1].values) % 2**16
    assert runs[2].results[root] == max(tasks[2].values)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "parameters"), [("ring", {"k": 4}), long("psnn", {"n": 3}), long("star", {"nodes": 6})]
)
def test_engines_agree(name: str, parameters: dict[str, Any]) -> None:
    graph = graph_of(name, parameters)
    broadcast = simple_broadcast(graph, 1, seed=3)
    backwards = concentration_of(simple_broadcast(turned(graph), 1, seed=4))
    shift: list[int | None] = [(node + 2) % graph.nodes for node in range(graph.nodes)]
    tasks = [
        broadcast_task(graph, broadcast, 1),
        concentration_task(graph, backwards, 1, "or"),
        permutation_task(graph, StepRouter(graph).schedule(shift), shift),
    ]
    compiled, amaranth = (
        run_tasks(graph, tasks, engine=engine) for engine in ("compiled", "amaranth")
    )
    for one, other in zip(compiled, amaranth):
        assert one.engine != other.engine
        assert (one.steps, one.words, one.results) == (other.steps, other.words, other.results)


def test_controller() -> None:
    """Every choice of links: the word goes to one, and comes from the other, in the same cycle."""
    dut = CommunicationController(8, links=3)
    rng = random.Random(5)

    async def testbench(ctx: Any) -> None:
        for _ in range(200):
            came = [rng.random() < 0.5 for _ in range(3)]
            words = [rng.randrange(256) for _ in range(3)]
            sends, receives = rng.random() < 0.7, rng.random() < 0.7
            output, input_, word = rng.randrange(3), rng.randrange(3), rng.randrange(256)
            for lane, valid, each in zip(dut.i, came, words):
                ctx.set(lane, {"valid": valid, "word": each})
            port = dut.processor
            ctx.set(port.send, {"valid": sends, "word": word})
            for signal, value in (
                (port.output, output),
                (port.receives, receives),
                (port.input, input_),
            ):
                ctx.set(signal, value)
            on = [bool(ctx.get(lane.valid)) for lane in dut.o]
            assert on == [sends and output == link for link in range(3)]
            assert not sends or ctx.get(dut.o[output].word) == word
            assert ctx.get(port.received.valid) == (receives and came[input_])
            assert ctx.get(port.received.word) == words[input_]
            assert ctx.get(port.clash) == (sends and came[output])
            others = [valid for link, valid in enumerate(came) if not (receives and link == input_)]
            assert ctx.get(port.missed) == any(others)
            await ctx.tick()

    design = Module()
    design.submodules.dut = dut
    design.d.sync += Signal().eq(0)  # The testbench needs a clock, the controller has none.
    exercise(design, testbench)


def test_the_machine_reports_what_breaks_the_rules() -> None:
    """Programs that no schedule gives: each kind of error is found by the hardware itself."""
    graph = graph_of("torus", {"k": 4, "n": 1})
    idle = [Instruction()]
    for broken, message in (
        ({0: [Instruction(from_=1)]}, "At node 0 a word did not come"),
        ({0: [Instruction(to=1)]}, "At node 1 a word was not received"),
        (
            {0: [Instruction(to=1, from_=1)], 1: [Instruction(to=0, from_=0)]},
            "At node 0 a link was used in both directions",
        ),
        ({0: [Instruction(to=1)], 1: [Instruction(from_=0)]}, "Node 1 has 12345, not 1"),
    ):
        program = accumulating(4, [], combines=False)._replace(
            instructions=[broken.get(node, idle) for node in range(4)]
        )
        words = sum(one[0].from_ is not None for one in broken.values())
        task = StepTask(program, [12345, 1, 2, 3], [None, 1, 2, 3], "overwrite", words)
        with pytest.raises(SimulationError, match=re.escape(message)):
            run_tasks(graph, [task])


def test_messages_on_their_way_take_the_lowest_free_row() -> None:
    path = [[Transfer(0, 1, 0)], [Transfer(1, 2, 0), Transfer(0, 1, 3)], [Transfer(1, 2, 3)]]
    program = delivering([[Transfer(3, 0, 3)], *path], [2, None, None, 2])
    assert program.rows == 1
    assert program.steps == 4
    assert program.instructions[1][2] == Instruction(to=2, source=ROWS, from_=0, target=ROWS)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([[(0, 2)]], "Step 1 must use links of the graph: there is none from node 0 to node 2"),
        ([[], [(0, 1), (0, 3)]], "Step 2 must not let node 0 send to two nodes, 1 and 3"),
        ([[(0, 1), (2, 1)]], "Step 1 must not let node 1 receive from two nodes, 0 and 2"),
        ([[(0, 1), (1, 0)]], "Step 1 must not use the link of nodes 0 and 1 in both directions"),
        ([[(0, 4)]], "Step 1 must be of nodes from 0 to 3, not 4"),
    ],
)
def test_rules(steps: list[list[tuple[int, int]]], message: str) -> None:
    graph = graph_of("torus", {"k": 4, "n": 1})
    with pytest.raises(InvalidValue, match=f"^{re.escape(message)}$"):
        check_schedule(graph, one_message(steps))


def test_one_way_links_are_not_used_backwards() -> None:
    ring = graph_of("ring", {"k": 4})
    check_schedule(ring, one_message([[(0, 1)]]))
    with pytest.raises(InvalidValue, match="there is none from node 1 to node 0"):
        check_schedule(ring, one_message([[(1, 0)]]))


def test_purposes() -> None:
    """A legal schedule that does something else is refused."""
    graph = graph_of("torus", {"k": 4, "n": 1})
    good = [[(0, 1)], [(1, 2), (0, 3)]]
    check_broadcast(graph, one_message(good), 0)
    check_concentration(graph, concentration_of(one_message(good)), 0)
    for steps, message in (
        ([[(0, 1)], [(1, 2)]], "Broadcast must reach all nodes; node 3 receives nothing"),
        ([[(0, 1), (1, 2)]], "Step 1 must not let node 1 send what it lacks"),
        ([*good, [(2, 3)]], "Step 3 must not send to node 3 a second time"),
    ):
        with pytest.raises(InvalidValue, match=f"^{message}$"):
            check_broadcast(graph, one_message(steps), 0)
    for steps, message in (
        ([[(2, 1)], [(1, 0)]], "Concentration must start at all nodes; node 3 sends nothing"),
        ([[(1, 0), (2, 1)]], "Step 1 must not send from node 2 to node 1"),
        ([[(1, 0)], [(1, 2)]], "Step 2 must not let node 1 send: it has sent already"),
        ([[(0, 1)]], "Step 1 must not let node 0 send: it has the result"),
    ):
        with pytest.raises(InvalidValue, match=f"^{message}"):
            check_concentration(graph, one_message(steps), 0)
    with pytest.raises(InvalidValue, match=r"^Message 0 must come to node 1, not to node 3$"):
        check_delivery(graph, [[Transfer(0, 3, 0)]], [1, None, None, None])
    with pytest.raises(InvalidValue, match=r"^Step 1 must not let node 1 send message 0"):
        check_delivery(graph, [[Transfer(1, 2, 0)]], [2, None, None, None])
    with pytest.raises(InvalidValue, match=r"^Operation must be add, or or max"):
        concentration_task(graph, concentration_of(one_message(good)), 0, "overwrite")


def most_across(graph: Graph, side: set[int]) -> int:
    """The capacity of a cut by trying all sets of directed links."""
    pairs = [
        (node, peer)
        for node, peers in enumerate(near(graph))
        for peer in peers
        if (node in side) != (peer in side)
    ]

    def most(rest: list[tuple[int, int]], used: frozenset[Any]) -> int:
        if not rest:
            return 0
        (node, peer), *others = rest
        marks = {("out", node), ("in", peer), frozenset((node, peer))}
        taken = 1 + most(others, used | marks) if not used & marks else 0
        return max(taken, most(others, used))

    return most(pairs, frozenset())


@pytest.mark.parametrize(
    ("name", "parameters", "side"),
    [
        ("torus", {"k": 6, "n": 1}, {0, 1, 2}),
        ("torus", {"k": 2, "n": 3}, {0, 1, 2, 3}),
        ("complete", {"nodes": 4}, {0, 1}),
        ("star", {"nodes": 7}, {0, 1, 2}),
        ("tree", {"nodes": 7}, {1, 3, 4}),
        ("chordal-ring", {"nodes": 8}, {0, 2, 5, 7}),
    ],
)
def test_crossing_capacity(name: str, parameters: dict[str, Any], side: set[int]) -> None:
    graph = graph_of(name, parameters)
    assert crossing_capacity(graph, side) == most_across(graph, side)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_bounds(seed: int) -> None:
    """No schedule of a small graph is shorter than the bound: all of that length are tried."""
    rng = random.Random(seed)
    for name, parameters in (
        ("torus", {"k": 4, "n": 1}),
        ("star", {"nodes": 4}),
        ("complete", {"nodes": 4}),
        ("tree", {"nodes": 5}),
    ):
        graph = graph_of(name, parameters)
        sides = [{0, 1}, {0, 2}]
        router = StepRouter(graph, sides)
        for _ in range(4):
            permutation: list[int | None] = list(rng.sample(range(graph.nodes), graph.nodes))
            best = fewest(graph, permutation)
            assert router.bound(permutation).steps <= best
            assert len(router.schedule(permutation)) >= best, (name, permutation, seed)


def fewest(graph: Graph, destinations: list[int | None]) -> int:
    """Fewest steps of a permutation, by trying all: sets of states, step by step."""
    links = near(graph)
    states, steps = {tuple(range(graph.nodes))}, 0
    goal = tuple(destinations)
    while goal not in states:
        new = set()
        for state in states:

            def extend(message: int, at: tuple, used: frozenset[Any]) -> None:
                if message == len(at):
                    new.add(at)  # noqa: B023
                    return
                extend(message + 1, at, used)
                node = at[message]
                for peer in links[node]:
                    marks = {("out", node), ("in", peer), frozenset((node, peer))}
                    if not used & marks:
                        moved = (*at[:message], peer, *at[message + 1 :])
                        extend(message + 1, moved, used | marks)

            extend(0, state, frozenset())
        states, steps = new, steps + 1
    return steps


@pytest.mark.long
@pytest.mark.parametrize("name", ["ring", long("psnn")])
def test_verilog(name: str, tmp_path: Path) -> None:
    graph = graph_of(name, {"k": 4} if name == "ring" else {"n": 3})
    reverse: list[int | None] = list(range(graph.nodes))[::-1]
    program = delivering(StepRouter(graph).schedule(reverse), reverse)
    path = tmp_path / "network.v"
    write_verilog(EnsembleMachine(graph, Fold("add", 16), program), path)
    assert_lint_free([path])
    check_with_yosys([path])


def test_machine_refuses() -> None:
    graph = graph_of("torus", {"k": 4, "n": 1})
    program = accumulating(4, one_message([[(0, 1)]]), combines=False)
    machine = EnsembleMachine(graph, Fold("add", 8), program)
    long_one = accumulating(4, one_message([[(0, 1)]] * 2), combines=False)
    with pytest.raises(InvalidValue, match=r"^Program must need at most 0 rows and 1 steps"):
        machine.with_program(long_one)
    with pytest.raises(InvalidValue, match=r"^Program must be for 4 nodes, not 5$"):
        EnsembleMachine(graph, Fold("add", 8), accumulating(5, [], combines=False))
    alone = ListedGraph(3, [Link(0, 0, 1, 0), Link(1, 0, 0, 0)])
    with pytest.raises(InvalidValue, match=r"^Node 2 must have a link to another node$"):
        EnsembleMachine(alone, Fold("add", 8), accumulating(3, [], combines=False))
    with pytest.raises(InvalidValue, match=r"^Graph must have a way from each node"):
        StepRouter(alone)


def test_values_are_folded_in_turn() -> None:
    assert reduce(Fold("max", 8).perform, [3, 200, 7]) == 200
