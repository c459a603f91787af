"""Programs of communication steps, run on the hardware of an ensemble machine.

>>> from multicube.hdl import build
>>> from multicube.hdl.graphs.schedules.communication_steps import one_message
>>> from multicube.sim.run.communication import broadcast_task, run_tasks
>>> ring = build("torus", k=4, n=1).relation.graph
>>> task = broadcast_task(ring, one_message([[(0, 1)], [(0, 3), (1, 2)]]), root=0)
>>> (run,) = run_tasks(ring, [task])
>>> run.steps, run.words, len(set(run.results))
(2, 3, 1)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from amaranth.hdl import Shape

from ...hdl.bench.ensemble import EnsembleMachine
from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.graph import Graph
from ...hdl.graphs.permutations import Permutation
from ...hdl.graphs.schedules.communication_steps import (
    Schedule,
    check_broadcast,
    check_concentration,
    check_delivery,
)
from ...hdl.graphs.schedules.node_programs import StepProgram, accumulating, delivering
from ...hdl.operations.folds import Fold
from ..engines.engine_selection import open_engines
from ..measure.result import SimulationError

__all__ = [
    "StepRun",
    "StepTask",
    "broadcast_task",
    "concentration_task",
    "permutation_task",
    "run_tasks",
]

_WIDTH = 16
_ERRORS = ("a word did not come", "a link was used in both directions", "a word was not received")


@dataclass(frozen=True)
class StepTask:
    """A program of communication steps, the nodes' values, and what the results must be.

    Attributes
    ----------
    program : StepProgram
    values : Sequence[int]
        Value of each node at the beginning.
    expected : Sequence[int or None]
        Result of each node at the end; None if it does not matter.
    operation : str or None
        One of `operations.folds.FOLDS`; None if no values are combined.
    words : int
        Transfers of the schedule.
    """

    program: StepProgram
    values: Sequence[int]
    expected: Sequence[int | None]
    operation: str | None
    words: int


@dataclass(frozen=True)
class StepRun:
    """The result of a program of communication steps.

    Attributes
    ----------
    engine : str
        The name of the engine that ran it.
    steps : int
        The step in which the last word arrived, as the processors counted them. A step is a cycle.
    words : int
        Words received, by all nodes together.
    rows : int
        Messages that a node stored on their way: the most at a time, of any node.
    results : list[int]
        Result of each node.
    """

    engine: str
    steps: int
    words: int
    rows: int
    results: list[int]


def broadcast_task(graph: Graph, schedule: Schedule, root: int) -> StepTask:
    """A broadcast of the value of one node, which all nodes have at the end.

    Raises
    ------
    ValueError
        If the schedule is no broadcast of this graph (`check_broadcast`).
    """
    check_broadcast(graph, schedule, root)
    values = _values(graph.nodes)
    program = accumulating(graph.nodes, schedule, combines=False)
    words = sum(map(len, schedule))
    return StepTask(program, values, [values[root]] * graph.nodes, None, words)


def concentration_task(
    graph: Graph, schedule: Schedule, root: int, operation: str = "add"
) -> StepTask:
    """A concentration: one node gets the values of all, combined by an operation.

    The operation is associative and commutative: "add", "or" or "max". Of the order in which values
    are merged, nothing is promised.

    Raises
    ------
    ValueError
        If the schedule is no concentration of this graph (`check_concentration`), or there is no
        such operation.
    """
    check_concentration(graph, schedule, root)
    if operation == "overwrite":
        raise InvalidValue("Operation must be add, or or max, not 'overwrite'")
    values = _values(graph.nodes)
    expected: list[int | None] = [None] * graph.nodes
    expected[root] = reduce(Fold(operation, _WIDTH).perform, values)
    program = accumulating(graph.nodes, schedule, combines=True)
    return StepTask(program, values, expected, operation, sum(map(len, schedule)))


def permutation_task(graph: Graph, schedule: Schedule, destinations: Permutation) -> StepTask:
    """A permutation: each node has the value of another at the end.

    Raises
    ------
    ValueError
        If the schedule does not take each node's message to its destination (`check_delivery`).
    """
    check_delivery(graph, schedule, destinations)
    values = _values(graph.nodes)
    expected: list[int | None] = list(values)
    for node, destination in enumerate(destinations):
        if destination is not None:
            expected[destination] = values[node]
    program = delivering(schedule, destinations)
    return StepTask(program, values, expected, None, sum(map(len, schedule)))


def _values(nodes: int) -> list[int]:
    """A different value for each node, up to 2^16 nodes; neighbours differ in many bits."""
    return [(node * 40503 + 12345) % (1 << _WIDTH) for node in range(nodes)]


def run_tasks(graph: Graph, tasks: Sequence[StepTask], *, engine: str = "auto") -> list[StepRun]:
    """Run programs on the hardware of a graph's nodes, and check their results.

    Raises
    ------
    SimulationError
        If a result is not as expected, a word was lost, or a rule of the model was broken.
    ValueError
        If there is no such engine, or a program is not for this graph.
    """
    found: dict[int, StepRun] = {}
    rows = max((task.program.rows for task in tasks), default=0)
    steps = max((task.program.steps for task in tasks), default=0)
    # A program that combines nothing runs beside any others.
    some = next((task.operation for task in tasks if task.operation), "add")
    operations = [task.operation or some for task in tasks]
    for operation in dict.fromkeys(operations):
        own = [number for number, each in enumerate(operations) if each == operation]
        fold = Fold(operation, Shape.cast(_WIDTH))
        # With room for a power of two of rows and steps, one build serves many programs.
        machine = EnsembleMachine(
            graph, fold, tasks[own[0]].program, rows=_room(rows), steps=_room(steps)
        )
        machines = [machine.with_program(tasks[number].program) for number in own]
        engines = open_engines(engine, machines)
        for place, number in enumerate(own):
            opened = engines[0] if len(engines) == 1 else engines[place]
            for node, value in enumerate(tasks[number].values):
                opened.set(f"value_{node}", value, place if len(engines) == 1 else None)
        for opened in engines:
            opened.step(1)
            opened.set("run", 1)
            opened.step(machine.steps + 1)
        for place, number in enumerate(own):
            opened = engines[0] if len(engines) == 1 else engines[place]
            run = place if len(engines) == 1 else 0

            def read(port: str) -> list[int]:
                return opened.read(machine.processors, port, run)  # noqa: B023

            found[number] = StepRun(
                engine=opened.name,
                steps=max(read("latest")),
                words=sum(read("words")),
                rows=tasks[number].program.rows,
                results=read("result"),
            )
            _judge(tasks[number], found[number], read("errors"))
        for opened in engines:
            opened.close()
    return [found[number] for number in range(len(tasks))]


def _room(number: int) -> int:
    """The number itself or the next power of two; 0 remains 0."""
    return 1 << (number - 1).bit_length() if number else 0


def _judge(task: StepTask, run: StepRun, errors: Sequence[int]) -> None:
    """Raise SimulationError if a run's results are wrong."""
    for node, bits in enumerate(errors):
        for number, what in enumerate(_ERRORS):
            if bits >> number & 1:
                raise SimulationError(f"At node {node} {what}", run)
    if run.words != task.words:
        raise SimulationError(f"Nodes received {run.words} words, not {task.words}", run)
    for node, (result, expected) in enumerate(zip(run.results, task.expected)):
        if expected is not None and result != expected:
            raise SimulationError(f"Node {node} has {result}, not {expected}", run)
