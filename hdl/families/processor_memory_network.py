# amaranth: UnusedElaboratable=no
"""Processors and memory modules between two unidirectional networks (Siegel et al., VII-B)."""

from dataclasses import dataclass

from ..boxes.wormhole import WormholeSwitch
from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.layout import Layout
from ..fabric.numerals import integer_of
from ..fabric.parameter_fields import integer, text, word
from ..fabric.parameters import Parameters
from ..fabric.pins import Pin
from ..graphs.plans.multistage import MultistagePlan
from ..graphs.plans.named_plans import PLANS, multistage_plan
from ..graphs.tags import TagScheme
from ..networks.family import Family, Group
from ..networks.memory_network import MemoryNetwork, tag_bits
from ..networks.memory_parameters import (
    interval_of_memory,
    latency_of_memory,
    memory_operations,
    module_rows,
    unanswered_requests,
)
from ..networks.plan_diagram import plan_path
from ..networks.stage_columns import place_columns
from ..networks.stage_layout import Part, stage_layout
from ..operations.memory import Operation
from ..terminals.memory_module import MemoryModule
from ..terminals.memory_words import Lengths, MemoryEnd, ProcessorEnd, request_words, word_packet

__all__ = ["FAMILIES", "ProcessorMemoryNetwork", "ProcessorMemoryParameters"]

_MOST_WORDS = 64


@dataclass(frozen=True, eq=False)
class ProcessorMemoryParameters(Parameters):
    """The parameters of `ProcessorMemoryNetwork`.

    The identities of requests have log2(outstanding) bits, rounded up, but at least one.
    `operations` may also be a tuple of `Operation`.
    """

    ports: int = integer(
        8, "processors, and memory modules: a power of the radix", least=2, most=2**16
    )
    radix: int = integer(2, "inputs and outputs of a box", least=2, most=16)
    wiring: str = word("omega", "wiring plan of both networks", tuple(PLANS))
    depth: int = integer(2, "words that fit into the buffer of an input", least=1, most=2**16)
    output_depth: int = integer(
        2, "words that fit into the buffer of an output; 0: there is none", least=0, most=2**16
    )
    width: int = integer(64, "bits of a word, of a link and of memory", least=1, most=64)
    lengths: str = text(
        "1:2:3", "words of a load, a store, and any other request", "LOAD:STORE:OTHER"
    )
    memory_latency: int = latency_of_memory()
    memory_interval: int = interval_of_memory()
    rows: int = module_rows()
    outstanding: int = unanswered_requests()
    operations: str | tuple[Operation, ...] = memory_operations("the memory modules")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._resolve(lengths=":".join(map(str, self.words)))

    @property
    def words(self) -> Lengths:
        """Words of a load, of a store, and of any other request."""
        try:
            load, store, other = (integer_of(each) for each in self.lengths.split(":"))
        except ValueError:
            raise InvalidValue(
                f"Lengths must be three numbers of words LOAD:STORE:OTHER, not {self.lengths!r}"
            ) from None
        return (
            check_integer("Words of a load", load, 1, _MOST_WORDS),
            check_integer("Words of a store", store, 2, _MOST_WORDS),
            check_integer("Words of other requests", other, 2, _MOST_WORDS),
        )


class ProcessorMemoryNetwork(MemoryNetwork):
    """N processors, N memory modules, a network of wormhole boxes to the memory, and one back.

    Links are as wide as a word of memory, and control lines (`terminals.memory_words`). A request
    crosses them word by word; a reply is one word. A word takes one cycle per box. So a request of
    c words that never waits is answered 2 n + c - 1 cycles plus the memory's latency after its
    first word was offered, where n is the number of stages of one network.

    Each box has a buffer at each input and one at each output. A word that need not wait passes the
    latter in the same cycle. Blocked packets wait in them wherever their words are. Requests wait
    only for requests before them, and replies only for replies: every request is answered.

    Requests of a processor for one memory module are performed in the order in which it sent them.
    Box x of stage s is the cell `box_{s}_{x}` on the way to the memory, and `back_{s}_{x}` on the
    way back; the ends of both networks are `processor_end_{p}` and `memory_end_{d}`.

    Attributes
    ----------
    plan : MultistagePlan
        The wiring of both networks.
    tags : TagScheme
        How tags are computed.
    box : CellType
        The type of all boxes.

    Raises
    ------
    TypeError, ValueError
        If a field does not allow an argument, or a word has no room for the header of a request.
    """

    parameters_type = ProcessorMemoryParameters
    parameters: ProcessorMemoryParameters
    family = "processor-memory"
    plan: MultistagePlan
    tags: TagScheme

    def _set_up(self) -> None:
        given = self.parameters
        self.plan = self.wiring_plan = multistage_plan(given.wiring, given.ports, given.radix)
        self.tags = self.plan.tags()
        self._code = self.tags.code
        self.tag_bits = tag_bits(self.tags)
        self.ports = given.ports
        self.stages = len(self.plan.stages)
        self.lengths = min(given.words), max(given.words)
        self._set_operations(given.operations)
        self.link = self._memory_link(self.tags.code.width)
        packet = word_packet(self.link)
        depths = {"depth": given.depth, "output_depth": given.output_depth}
        self.box = CellType(WormholeSwitch, packet=packet, radix=given.radix, **depths)
        ends = {"link": self.link, "tags": self.tags}
        self._ends = (
            CellType(ProcessorEnd, **ends, lengths=given.words),
            CellType(MemoryEnd, **ends),
        )
        for type_ in (self.box, *self._ends):
            type_.build()  # An invalid cell must be rejected now, not during elaboration.

    def request_length(self, operation: Operation) -> int:
        return request_words(operation, self.parameters.words)

    def place(self, fabric: Fabric | Scope) -> list[Pin]:
        given = self.parameters
        boxes = [self.box] * self.stages
        there = place_columns(fabric, self.plan, boxes, within="to memory, ")
        back = place_columns(fabric, self.plan, boxes, name="back", within="from memory, ")
        module = CellType(
            MemoryModule,
            link=self.link,
            rows=self.memory_rows,
            latency=given.memory_latency,
            interval=given.memory_interval,
        )
        processors = []
        for number in range(self.ports):
            address = {"address": self.code.encode(number)}
            first, last = (
                fabric.place(Cell(f"{name}_{number}", type_, address)).name
                for name, type_ in zip(("processor_end", "memory_end"), self._ends)
            )
            memory = fabric.place(Cell(f"memory_{number}", module)).name
            fabric.link(Pin(first, ("o",)), there.inputs[number])
            fabric.link(there.outputs[number], Pin(last, ("i",)))
            fabric.link(Pin(last, ("o",)), Pin(memory, ("i",)))
            fabric.link(Pin(last, ("back",)), back.inputs[number])
            fabric.link(back.outputs[number], Pin(first, ("back",)))
            processors.append(Pin(first, ("i",)))
        return processors

    @property
    def layout(self) -> Layout:
        """The way to the memory above, and the way back below it."""
        parts = [Part(self.plan), Part(self.plan, "back", mirrored=True)]
        return stage_layout(parts, self.fabric)

    def _path(self, source: int, destination: int) -> list[Pin]:
        ends = [Pin(f"memory_end_{destination}", ("o", "request"))]
        return [*plan_path(self.plan, source, destination), *ends]


FAMILIES = (
    Family(
        "processor-memory",
        "processors and memory modules, joined by one network of wormhole boxes each way",
        ProcessorMemoryNetwork,
        Group.MEMORY,
        example={"ports": 4},
    ),
)
