# amaranth: UnusedElaboratable=no
"""A multistage network of combining boxes between processors and memory modules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..boxes.combining import CombiningBox, InputBufferedBox
from ..boxes.unbuffered import later_bits
from ..fabric.cell import Cell, CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.layout import Layout
from ..fabric.parameter_fields import integer, word
from ..fabric.parameters import Parameters
from ..fabric.pins import Pin
from ..graphs.address_codes import MixedCode
from ..graphs.address_hash import AddressHash
from ..graphs.plans.multistage import MultistagePlan
from ..graphs.plans.named_plans import PLANS, multistage_plan
from ..graphs.plans.redundant_paths import RedundantPathPlan, TagBit, redundant_path_plan
from ..graphs.tags import TagScheme
from ..networks.family import Family, Group
from ..networks.flits import packet_length, parse_lengths
from ..networks.memory_network import MemoryNetwork, Place, tag_bits
from ..networks.memory_parameters import (
    combine_policy,
    memory_operations,
    merge_limit,
    module_rows,
    unanswered_requests,
    wait_records,
    word_width,
)
from ..networks.network_records import Confinement, Readings, Window
from ..networks.stage_columns import Columns, place_columns
from ..networks.stage_layout import Part, stage_layout
from ..operations.combining_rules import Policy, Rules
from ..operations.memory import Operation
from ..primitives.pacing import request_length
from ..terminals.address_hasher import AddressHasher
from ..terminals.memory_module import MemoryModule
from ..terminals.shared_port import MemoryDemultiplexer, ProcessorMultiplexer, shared_link

__all__ = ["FAMILIES", "HASHES", "QUEUES", "CombiningNetwork", "CombiningParameters", "Place"]

QUEUES = ("output", "input")
"""Where the boxes have their queues; only queues at the outputs can combine."""

HASHES = ("none", "polynomial")
"""How words are spread over the memory modules: in turn, or by `graphs.address_hash`."""


@dataclass(frozen=True, eq=False)
class CombiningParameters(Parameters):
    """The parameters of `CombiningNetwork`.

    `depth`, `wait` and `merge` are those of the boxes (`CombiningBox`). With `queues` at the inputs
    (`InputBufferedBox`) `depth` counts words, and must be at least those of the longest message;
    nothing combines, and only then can `delay` be more than 1. `combine` may also be a `Policy`,
    `operations` a tuple of `Operation`, and `lengths` a pair of numbers. The identities of requests
    have log2(outstanding) bits, rounded up, but at least one. Several `paths` are a power of two up
    to the radix; they need wiring cube, a radix that is a power of two, and two stages or more.
    `hashing` needs ports, a radix and processors per port that are powers of two.
    """

    ports: int = integer(
        8,
        "ports to processors, and to memory: a power of the radix, divided by the paths",
        least=2,
        most=2**16,
    )
    radix: int = integer(2, "inputs and outputs of a box", least=2, most=16)
    wiring: str = word("cube", "wiring plan", tuple(PLANS))
    depth: int = integer(4, "requests (at inputs words) that fit into a queue", least=1, most=64)
    wait: int = wait_records()
    combine: str | Policy = combine_policy()
    merge: Literal["pairwise", "unlimited"] = merge_limit()
    width: int = word_width()
    rows: int = module_rows()
    outstanding: int = unanswered_requests()
    operations: str | tuple[Operation, ...] = memory_operations("boxes and memories")
    lengths: int | str | Sequence[int] = packet_length(
        "words of a load or reply, and of other requests", "SHORT:LONG"
    )
    beats: int = integer(1, "cycles that a word takes on a link", least=1, most=64)
    queues: Literal["output", "input"] = word("output", "where a box has its queues", QUEUES)
    delay: int = integer(1, "cycles that a box takes", least=1, most=16)
    paths: int = integer(1, "paths per processor and memory module", least=1, most=16)
    hashing: Literal["none", "polynomial"] = word(
        "none", "how words are spread over the modules", HASHES
    )
    processors_per_port: int = integer(
        1, "processors, and memory modules, that share a port", least=1, most=16
    )

    def __post_init__(self) -> None:
        if isinstance(self.lengths, Sequence) and not isinstance(self.lengths, str):
            self._resolve(lengths=":".join(map(str, self.lengths)))
        super().__post_init__()
        if self.paths > 1 and self.wiring != "cube":
            raise InvalidValue(f"Several paths need wiring=cube, not {self.wiring}")
        if self.queues == "output" and self.delay != 1:
            raise InvalidValue(f"Delay must be 1 with queues=output, not {self.delay}")
        for name in ("ports", "radix", "processors_per_port") if self.hashing != "none" else ():
            if (value := getattr(self, name)) & (value - 1):
                title = name.capitalize().replace("_", " ")
                raise InvalidValue(f"{title} must be a power of two with hashing, not {value}")


class CombiningNetwork(MemoryNetwork):
    """Links for processors, log N columns of combining boxes, and as many memory modules.

    Requests and replies pass the same boxes on separate links. An unblocked request is answered
    2 n + 1 cycles after it was taken, where n is the number of stages: one per box and direction,
    and one in the memory.

    Messages may have several words. Each word takes one cycle on a link, or several `beats` if the
    link is narrower than a word (`primitives.pacing`). A box passes on the head of a message in the
    cycle after it arrived (cut-through, IV-A), and a memory performs a request when its end has
    arrived. So the head of a reply arrives 2 n cycles plus the length of the request after the head
    of the request was taken, and its end arrives its own length less 1 later. (With boxes of
    another `delay`: 2 n times the delay.) Processors must not send a request before the end of the
    last one.

    Word a is row a // N of memory module a mod N: `locate` gives the tag and the address. With
    `hashing`, processors send the same tags and addresses, and a cell `hash_{p}` on the link of
    each processor sends the request to another module (`terminals.address_hasher`); it takes no
    cycle, and replies have the tag of their request. `stored` says where a word is.

    A processor may have several requests outstanding, if their identities differ. Its requests for
    one word on the same path are performed in the order in which it sent them, since no request
    overtakes another for the same word on its path, combined or not. Requests for different words
    or on different paths are not ordered, and replies may arrive in any order. A reply takes the
    path of its request.

    Several `paths` per pair reduce the number of terminals of the same boxes by this factor
    (`graphs.plans.redundant_paths`). The processor chooses a path for each request, in its tag.

    With several `processors_per_port`, k, as in RP3 (VII-E), there are k times as many processors
    and memory modules as `ports`. Those from k p to k p + k - 1 share port p of the boxes, through
    the cells `multiplexer_{p}` and `demultiplexer_{p}` (`terminals.shared_port`), which take no
    cycle. Tags also have a digit for the module of a port, at the bottom; there is one cell
    `hash_{p}` per port.

    Box x of stage s is the cell `box_{s}_{x}`, memory module d the cell `memory_{d}`.

    Attributes
    ----------
    ports : int
        Number of processors, and of memory modules: the parameter `ports`, times
        `processors_per_port`.
    lengths : tuple[int, int]
        Cycles of a load or a reply on a link, and of any other request: words times beats.
    plan : MultistagePlan or RedundantPathPlan
        The wiring of the boxes.
    tags : TagScheme or None
        None with several paths.
    box_link : MemoryLink
        The link of a box: that of a processor, unless processors share a port.
    box : CellType
        The type of all boxes.
    hash : AddressHash or None
        How addresses are spread over the memory modules, if they are.

    Members
    -------
    i : In(link).array(ports)
        The links of the processors.

    Examples
    --------
    >>> from multicube.hdl import CombiningNetwork
    >>> network = CombiningNetwork(8)
    >>> network.locate(11)
    Place(tag=3, address=1)
    """

    parameters_type = CombiningParameters
    parameters: CombiningParameters
    family = "combining"
    plan: MultistagePlan | RedundantPathPlan
    tags: TagScheme | None
    hash: AddressHash | None

    def _set_up(self) -> None:
        given = self.parameters
        if given.paths == 1:
            plan = multistage_plan(given.wiring, given.ports, given.radix)
            self.plan = self.wiring_plan = plan
            self.tags = plan.tags()
            self._code = self.tags.code
            self.tag_bits = tag_bits(self.tags)
        else:
            redundant = redundant_path_plan(given.ports, given.radix, given.paths)
            self.plan = redundant
            self.tags = None
            self._code = redundant.code
            self.tag_bits = redundant.tag_bits
        self._set_operations(given.operations)
        share = given.processors_per_port
        if share > 1:
            self._code = MixedCode.of((share, *self._code.radices))
            bits = (share - 1).bit_length()
            self.tag_bits = (
                *(TagBit("module", bit) for bit in range(bits)),
                *(TagBit(kind, bit + bits * (kind == "module")) for kind, bit in self.tag_bits),
            )
        self.paths = given.paths
        assert isinstance(given.lengths, int | str)  # the record converts a pair to text
        short, long = parse_lengths(given.lengths, geometric=False)
        self.lengths = self.side_by_side = short * given.beats, long * given.beats
        self.ports = given.ports * share
        self.hash = None if given.hashing == "none" else AddressHash(self.ports, self.memory_rows)
        self.stages = len(self.plan.stages)
        self.link = self._memory_link(len(self.tag_bits))
        self.box_link = self.link if share == 1 else shared_link(self.link, share)
        self.box = self._box()
        self.box.build()  # An invalid box must be rejected now, not during elaboration.

    def _box(self) -> CellType:
        given = self.parameters
        common = {"link": self.box_link, "radix": given.radix, "lengths": self.lengths}
        if given.queues == "output":
            return CellType(
                CombiningBox,
                **common,
                depth=given.depth,
                wait=given.wait,
                policy=given.combine,
                merge=given.merge,
            )
        rules = Rules(self.operations, given.combine)
        if rules.combines:
            raise InvalidValue(f"Combine must be none with queues=input, not {rules.policy.name}")
        depth = given.depth * given.beats
        return CellType(InputBufferedBox, **common, depth=depth, delay=given.delay)

    def place(self, fabric: Fabric | Scope) -> list[Pin]:
        columns = self.place_boxes(fabric)
        share = self.parameters.processors_per_port
        outputs = columns.outputs
        if share > 1:
            demultiplexer = CellType(
                MemoryDemultiplexer, link=self.box_link, modules=share, lengths=self.lengths
            )
            outputs = []
            for port, pin in enumerate(columns.outputs):
                cell = fabric.place(Cell(f"demultiplexer_{port}", demultiplexer))
                fabric.link(pin, Pin(cell.name, ("i",)))
                outputs += [Pin(cell.name, ("o", number)) for number in range(share)]
        rows = self.memory_rows
        module = CellType(MemoryModule, link=self.box_link, rows=rows, lengths=self.lengths)
        for number, pin in enumerate(outputs):
            cell = fabric.place(Cell(f"memory_{number}", module))
            fabric.link(pin, Pin(cell.name, ("i",)))
        inputs = columns.inputs
        if self.hash is not None:
            inputs = self._hashed(fabric, inputs)
        if share > 1:
            inputs = self._shared(fabric, inputs)
        return inputs

    def _hashed(self, fabric: Fabric | Scope, inputs: Sequence[Pin]) -> list[Pin]:
        """Add the cells that hash addresses before these inputs; return theirs."""
        assert self.hash is not None
        columns = tuple(self.tag(column) for column in self.hash.columns)
        hasher = CellType(
            AddressHasher, link=self.box_link, columns=(0,) * self.link.part_bits + columns
        )
        for number, pin in enumerate(inputs):
            cell = fabric.place(Cell(f"hash_{number}", hasher))
            fabric.link(Pin(cell.name, ("o",)), pin)
        return [Pin(f"hash_{number}", ("i",)) for number in range(len(inputs))]

    def _shared(self, fabric: Fabric | Scope, inputs: Sequence[Pin]) -> list[Pin]:
        """Add the cells by which processors share these inputs; return the processors' pins."""
        share = self.parameters.processors_per_port
        multiplexer = CellType(
            ProcessorMultiplexer, link=self.link, processors=share, lengths=self.lengths
        )
        pins = []
        for port, pin in enumerate(inputs):
            cell = fabric.place(Cell(f"multiplexer_{port}", multiplexer))
            fabric.link(Pin(cell.name, ("o",)), pin)
            pins += [Pin(cell.name, ("i", number)) for number in range(share)]
        return pins

    @property
    def layout(self) -> Layout:
        return stage_layout([Part(self.plan)], self.fabric)

    def _path(self, source: int, destination: int) -> list[Pin]:
        share = self.parameters.processors_per_port
        ends = source // share, destination // share
        pins = [
            Pin(f"box_{hop.stage}_{hop.box}", ("o", hop.output)) for hop in self.plan.path(*ends)
        ]
        if share > 1:
            pins.append(Pin(f"demultiplexer_{ends[1]}", ("o", destination % share)))
        return [Pin(pin.cell, (*pin.path, "request")) for pin in pins]

    def place_boxes(self, fabric: Fabric | Scope) -> Columns:
        """Add the boxes to a fabric, without the memory modules.

        Parameters
        ----------
        fabric : Fabric or Scope
            The fabric.

        Returns
        -------
        Columns
            The pins for processors, and those for memory modules.
        """
        strapped = ("later",) in self.box.leaves
        # The digit of a module at its port is used last.
        last = (self.parameters.processors_per_port - 1).bit_length()
        widths = [last] + [(self.parameters.radix - 1).bit_length()] * self.stages

        def straps(stage: int, box: int) -> dict[str, int]:
            if not strapped:
                return {}
            return {"later": later_bits(widths, stage)}

        return place_columns(fabric, self.plan, [self.box] * self.stages, straps=straps)

    def confinement(self) -> Confinement:
        """What keeps requests inside their subnetwork, without hashing and with one processor per
        port.

        Returns
        -------
        Confinement
            The interface that is placed at each terminal, and what it needs.

        Raises
        ------
        ValueError
            If addresses are hashed, processors share a port, or tags can't be partitioned.
        """
        if (share := self.parameters.processors_per_port) > 1:
            raise InvalidValue(
                f"Partitions need processors_per_port=1, since all of a port share its paths, "
                f"not processors_per_port={share}"
            )
        if self.hash is not None:
            hashing = self.parameters.hashing
            raise InvalidValue(
                f"Partitions need hashing=none, since a hash spreads addresses over all modules, "
                f"not hashing={hashing}"
            )
        return super().confinement()

    def request_length(self, operation: Operation) -> int:
        return request_length(operation, self.lengths)

    def stored(self, word: int) -> tuple[int, int]:
        module, row = super().stored(word)
        return (module if self.hash is None else self.hash.module(word // self.row_words)), row

    def statistics(self, readings: Readings, window: Window) -> dict[str, Any]:
        """The share of requests that were combined at each stage in the window.

        It is zero for boxes that can't combine, which are those with queues at the inputs.

        Parameters
        ----------
        readings : Readings
            What the meters count that this network's cells declare.
        window : Window
            The cycles and requests that they were counted in.

        Returns
        -------
        dict[str, Any]
            `combined`, a list with the share of each stage.
        """
        counts = readings.get("combined", {})
        combined = [
            sum(counts[str(pin.cell)]["measured"] for pin in pins) for pins in self.combined()
        ]
        return {"combined": [count / max(1, window.injected) for count in combined]}

    @staticmethod
    def statistics_lines(statistics: Mapping[str, Any]) -> list[str]:
        shares = statistics["combined"]
        by_stage = " ".join(f"{share:.3f}" for share in shares)
        return [f"combined, by stage: {by_stage}; in total {sum(shares):.3f} of the requests"]

    def combined(self) -> list[list[Pin]]:
        boxes = range(self.plan.boxes if ("combined",) in self.box.leaves else 0)
        return [
            [Pin(f"box_{stage}_{box}", ("combined",)) for box in boxes]
            for stage in range(self.stages)
        ]


FAMILIES = (
    Family(
        "combining",
        "processors and memory: boxes combine requests for one word, fetch-and-add in the switches",
        CombiningNetwork,
        Group.MEMORY,
        example={"ports": 4},
    ),
)
