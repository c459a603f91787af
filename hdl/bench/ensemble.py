# amaranth: UnusedElaboratable=no
"""An ensemble machine: nodes of a processor and a communication controller, on a graph's links.

The nodes run programs of communication steps (`graphs.schedules.node_programs`), one step per
cycle.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Self

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin
from ..graphs.graph import Graph
from ..graphs.schedules.communication_steps import successors
from ..graphs.schedules.node_programs import OWN, RESULT, ROWS, Instruction, StepProgram
from ..links.controller_port import ControllerPort
from ..operations.folds import Fold
from ..routers.communication_controller import CommunicationController, SilentLane
from .instruments import COUNT_BITS

__all__ = ["EnsembleMachine", "StepProcessor"]


class _Row(data.StructLayout):
    """A row of a program: an `Instruction` whose neighbours are numbers of links."""

    def __init__(self, links: int, rows: int) -> None:
        link, place = max(1, (links - 1).bit_length()), (ROWS + rows - 1).bit_length()
        super().__init__(
            {
                "sends": 1,
                "output": link,
                "source": place,
                "receives": 1,
                "input": link,
                "target": place,
                "combines": 1,
            }
        )

    def encoded(self, program: Sequence[Instruction], near: Sequence[int]) -> tuple[int, ...]:
        """The rows of a program as numbers; `near` has the neighbours by number of link."""
        at = {name: self[name].offset for name in self.members}
        link = {neighbour: number for number, neighbour in enumerate(near)}
        rows = []
        for one in program:
            row = one.source << at["source"] | one.target << at["target"]
            if one.to is not None:
                row |= 1 << at["sends"] | link[one.to] << at["output"]
            if one.from_ is not None:
                row |= 1 << at["receives"] | link[one.from_] << at["input"]
            rows.append(row | one.combines << at["combines"])
        return tuple(rows)


class StepProcessor(wiring.Component):
    """A processor that runs a program of communication steps, one per cycle.

    In a step it sends the word of one place and receives one into another: it stores the word, or
    merges it with the result. So the operation takes no time of its own. The program is read, and
    the word sent, received, merged and stored, within one cycle.

    Parameters
    ----------
    fold : Fold
        Merges words, and states their shape.
    links : int
        At least 1.
    rows : int
        Messages that it can store on their way, at least 0.
    steps : int
        Rows of the program, at least 1.
    code : tuple[int, ...]
        Initial rows of the program; the others do nothing.

    Members
    -------
    run : In(1)
        The program runs. While it is 0, `value` is loaded, and the program begins from step 1.
    value : In(word)
        Its own word.
    result : Out(word)
        Its own word, and then what the program makes of it.
    controller : Out(ControllerPort(word, links=links))
    latest : Out(32)
        Number of the step, from 1, in which the last word came; 0 if none has.
    words : Out(32)
        Number of words received.
    errors : Out(3)
        What has happened since `run` became 1, one bit each: a step was to receive a word, but none
        came; a word came on the link that one was sent on; a word came that was not received.
    """

    def __init__(
        self, fold: Fold, *, links: int, rows: int, steps: int, code: tuple[int, ...] = ()
    ) -> None:
        self.fold = fold
        self.links = links
        self.rows = check_integer("Rows", rows, 0)
        self.steps = check_integer("Steps", steps, 1)
        self._init = code
        super().__init__(
            {
                "run": In(1),
                "value": In(fold.shape),
                "result": Out(fold.shape),
                "controller": Out(ControllerPort(fold.shape, links=links)),
                "latest": Out(COUNT_BITS),
                "words": Out(COUNT_BITS),
                "errors": Out(3),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.controller
        layout = _Row(self.links, self.rows)
        m.submodules.code = code = Memory(shape=layout.size, depth=self.steps, init=self._init)
        fetch = code.read_port(domain="comb")
        step = Signal(range(self.steps + 1))
        active = Signal()
        row = data.View(layout, fetch.data)
        m.d.comb += [
            fetch.addr.eq(step),
            active.eq(self.run & (step != self.steps)),
            port.send.valid.eq(active & row.sends),
            port.output.eq(row.output),
            port.receives.eq(active & row.receives),
            port.input.eq(row.input),
        ]
        m.d.comb += port.send.word.eq(Mux(row.source == OWN, self.value, self.result))
        if self.rows:
            m.submodules.stored = stored = Memory(shape=self.fold.shape, depth=self.rows, init=[])
            read = stored.read_port(domain="comb")
            write = stored.write_port()
            m.d.comb += [
                read.addr.eq(row.source - ROWS),
                write.addr.eq(row.target - ROWS),
                write.data.eq(port.received.word),
                write.en.eq(port.received.valid & (row.target >= ROWS)),
            ]
            with m.If(row.source >= ROWS):
                m.d.comb += port.send.word.eq(read.data)

        word = port.received.word
        merged = Signal.like(self.result)
        m.d.comb += merged.eq(self.fold.build(self.result, word))
        with m.If(~self.run):
            m.d.sync += [
                step.eq(0),
                self.result.eq(self.value),
                self.latest.eq(0),
                self.words.eq(0),
                self.errors.eq(0),
            ]
        with m.Elif(active):
            m.d.sync += [
                step.eq(step + 1),
                self.errors.eq(
                    self.errors | Cat(port.receives & ~port.received.valid, port.clash, port.missed)
                ),
            ]
            with m.If(port.received.valid):
                m.d.sync += [self.latest.eq(step + 1), self.words.eq(self.words + 1)]
                with m.If(row.target == RESULT):
                    m.d.sync += self.result.eq(Mux(row.combines, merged, word))
        return m


class EnsembleMachine(Fabric):
    """A graph's nodes, each a `StepProcessor` and a `CommunicationController`, as one fabric.

    Two nodes with links to each other have one link that passes words in either direction; parallel
    links are one. Link k of a node leads to its neighbour number k, lowest first.

    Parameters
    ----------
    graph : Graph
    fold : Fold
        What merges words, and their shape.
    program : StepProgram
    rows, steps : int
        Room for other programs, if they need more of these than this one.

    Members
    -------
    run : In(1)
        Input of all processors.
    value_0, value_1, ... : In(word)
    result_0, result_1, ... : Out(word)

    Attributes
    ----------
    graph : Graph
    fold : Fold
    rows, steps : int
    processors : list[str]
        Names of the cells of the processors, by node.
    near : list[list[int]]
        For each node, its neighbour on each link.

    Raises
    ------
    ValueError
        If a node has no link, or the program is not one of this graph.
    """

    def __init__(
        self, graph: Graph, fold: Fold, program: StepProgram, *, rows: int = 0, steps: int = 1
    ) -> None:
        word: ShapeLike = fold.shape
        nodes = range(graph.nodes)
        ahead = successors(graph)
        around: list[set[int]] = [set(peers) for peers in ahead]
        for node, peers in enumerate(ahead):
            for peer in peers:
                around[peer].add(node)
        for node in nodes:
            if not around[node]:
                raise InvalidValue(f"Node {node} must have a link to another node")
        super().__init__(
            {"run": In(1)}
            | {f"value_{node}": In(word) for node in nodes}
            | {f"result_{node}": Out(word) for node in nodes}
        )
        self.graph = graph
        self.fold = fold
        self.rows = max(rows, program.rows)
        self.steps = max(steps, program.steps)
        self.near = [sorted(peers) for peers in around]
        self.processors = [f"processor_{node}" for node in nodes]
        controllers = [f"controller_{node}" for node in nodes]
        for node in nodes:
            links = len(self.near[node])
            size = {"rows": self.rows, "steps": self.steps}
            processor = CellType(StepProcessor, fold=fold, links=links, **size)
            controller = CellType(CommunicationController, word=word, links=links)
            self.place(Cell(self.processors[node], processor, title=f"processor {node}"))
            self.place(Cell(controllers[node], controller, title=f"node {node}"))
            own = {"value": f"value_{node}", "result": f"result_{node}", "run": "run"}
            for port, outside in own.items():
                self.link(Pin(self.processors[node], (port,)), Pin(None, (outside,)))
            ports = (
                Pin(self.processors[node], ("controller",)),
                Pin(controllers[node], ("processor",)),
            )
            self.link(*ports)
        silent = CellType(SilentLane, word=word)
        for node in nodes:
            for number, peer in enumerate(self.near[node]):
                here = Pin(controllers[node], ("i", number))
                if node in ahead[peer]:
                    output = self.near[peer].index(node)
                    self.link(Pin(controllers[peer], ("o", output)), here)
                else:
                    end = self.place(Cell(f"silent_{node}_{number}", silent))
                    self.link(Pin(end.name, ("o",)), here)
        self._load(program)

    def with_program(self, program: StepProgram) -> Self:
        """The same machine with another program, which must not need more rows or steps."""
        if program.rows > self.rows or program.steps > self.steps:
            raise InvalidValue(
                f"Program must need at most {self.rows} rows and {self.steps} steps, "
                f"not {program.rows} and {program.steps}"
            )
        other = copy(self)
        other.cells = dict(self.cells)
        other._load(program)
        return other

    def _load(self, program: StepProgram) -> None:
        if len(program.instructions) != self.graph.nodes:
            raise InvalidValue(
                f"Program must be for {self.graph.nodes} nodes, not {len(program.instructions)}"
            )
        for node, instructions in enumerate(program.instructions):
            cell = self.cells[self.processors[node]]
            rows = _Row(len(self.near[node]), self.rows).encoded(instructions, self.near[node])
            self.cells[cell.name] = replace(cell, contents={"code": rows})
