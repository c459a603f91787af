# amaranth: UnusedElaboratable=no
"""A multistage network of combining boxes between processors and memory modules."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from amaranth.lib.wiring import In

from ..checks import check_integer, check_limit
from ..combining import MERGES, CombiningBox, InputBufferedBox, MemoryLink, MemoryModule
from ..combining.operations import OPERATION_SETS, POLICIES, Operation, Policy, Rules
from ..fabric import Cell, CellType, Fabric, Pin
from ..switches.unbuffered import later_bits
from ..topology.multistage import MultistagePlan, multistage_plan
from ..topology.redundant_paths import RedundantPathPlan, TagBit, redundant_path_plan
from ..topology.tags import AddressCode, TagScheme
from .columns import Columns, place_columns
from .network import Network
from .switching import parse_lengths

__all__ = ["QUEUES", "CombiningNetwork", "Place"]

QUEUES = ("output", "input")
"""Where the boxes have their queues; only those at the outputs can combine."""


class Place(NamedTuple):
    """Where a word of memory is: the tag that leads to its module, and its address in that."""

    tag: int
    address: int


class CombiningNetwork(Network):
    """Processors' ports, log N columns of combining boxes, and as many memory modules.

    Requests and replies pass the same boxes, over links of their own. An unhindered request is
    answered 2 n + 1 cycles after it was taken, n being the number of stages: one a box and
    direction, and one in the memory.

    Messages may have several words, of which each takes a cycle on a link, or several `beats`
    where the path is narrower than a word (`combining.pacing`). A box passes on a message's head in
    the cycle after it came (cut-through, IV-A), and a memory performs a request when the end of it
    is there. So the head of a reply comes 2 n cycles and the request's length after the request's
    head was taken, and the reply's end its own length less 1 later. (With boxes of another `delay`:
    2 n times that.) Processors shall not send a request before the one before is out.

    Word a is row a // N of memory module a mod N: `locate` gives the tag and the address.

    A processor may have several requests outstanding, if their identities differ. Those for one
    word that take the same path are performed in the order in which it sent them, since no request
    overtakes another for the same word on its path, combined or not; those for different words, or
    by different paths, are not ordered, and replies may come in any order. A reply takes the path
    of its request.

    With several `paths` for each pair, there are so many times fewer ports than with as many boxes
    otherwise (`topology.redundant_paths`). The processor chooses one for each request, in its tag.

    Box x of stage s is the cell `box_{s}_{x}`, memory module d the cell `memory_{d}`.

    Parameters
    ----------
    ports : int
        Processors, and memory modules: a power of the radix, divided by the number of paths; at
        most 65,536.
    radix : int
        Ports of a box, from 2 to 16.
    wiring : str
        One of `topology.multistage.PLANS`.
    depth, wait, merge
        Of the boxes: see `CombiningBox`. Depth and wait are at most 65,536.
    combine : str or Policy
        Their policy: which operations combine.
    width : int
        Of a word in bits, from 1 to 64.
    rows : int
        Words in each memory module, from 1 to 65,536.
    outstanding : int
        Requests that a processor may wait for, from 1 to 65,536. Their identities have
        log2(outstanding) bits, rounded up, but at least one.
    operations : str or tuple[Operation, ...]
        A name is one of `combining.OPERATION_SETS`.
    lengths : int, str or tuple[int, int]
        Words of a load or a reply, and of any other request, from 1 to 1,024, the shorter first:
        both in one number, or two, or `SHORT:LONG`.
    beats : int
        Cycles that a word takes on a link, from 1 to 64.
    queues : "output" or "input"
        Where the boxes have their queues. At the inputs (`InputBufferedBox`) `depth` counts words
        and is at least those of the longest message, and nothing may combine.
    delay : int
        Cycles that a message's head takes through a box, from 1 to 16; 1 with queues at the
        outputs.
    paths : int
        Paths between each processor and each module: a power of two up to the radix. More than one
        need wiring cube, a radix that is a power of two, and two stages or more.

    Attributes
    ----------
    parameters : dict[str, Any]
        All arguments of the constructor, by name; two lengths as text.
    lengths : tuple[int, int]
        Cycles of a load or a reply on a link, and of any other request: words times beats.
    plan : MultistagePlan or RedundantPathPlan
    tags : TagScheme or None
        None with several paths.
    code : AddressCode
        In which a module's number is part of a tag.
    tag_bits : tuple[TagBit, ...]
        Of each bit of a request's tag, from the lowest: ("module", b) if it is bit b of the
        module's code, ("path", b) if it is bit b of the number of the path.
    link : MemoryLink
    operations : tuple[Operation, ...]
    box : CellType
        Of all boxes.

    Members
    -------
    i : In(link).array(ports)
        Of the processors.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    family = "combining"
    ordered = True
    plan: MultistagePlan | RedundantPathPlan
    tags: TagScheme | None
    code: AddressCode
    tag_bits: tuple[TagBit, ...]
    paths: int

    def __init__(
        self,
        ports: int = 8,
        *,
        radix: int = 2,
        wiring: str = "cube",
        depth: int = 4,
        wait: int = 4,
        combine: str | Policy = "all",
        merge: Literal["pairwise", "unlimited"] = "pairwise",
        width: int = 32,
        rows: int = 16,
        outstanding: int = 16,
        operations: str | tuple[Operation, ...] = "all",
        lengths: int | str | Sequence[int] = 1,
        beats: int = 1,
        queues: Literal["output", "input"] = "output",
        delay: int = 1,
        paths: int = 1,
    ) -> None:
        check_integer("Paths", paths, 1)
        if paths == 1:
            self.plan = self.wiring_plan = multistage_plan(wiring, ports, radix)
            self.tags = self.plan.tags()
            self.code = self.tags.code
            self.tag_bits = _tag_bits(self.tags)
        elif wiring != "cube":
            raise ValueError(f"Several paths need wiring=cube, not {wiring}")
        else:
            self.plan = redundant_path_plan(ports, radix, paths)
            self.tags = None
            self.code = self.plan.code
            self.tag_bits = self.plan.tag_bits
        self.paths = paths
        check_limit("Ports", ports, 2**16)
        check_limit("Radix", radix, 16)
        check_integer("Width", width, 1, 64)
        check_integer("Rows", rows, 1, 2**16)
        check_integer("Outstanding", outstanding, 1, 2**16)
        if not isinstance(lengths, int | str) and isinstance(lengths, Sequence):
            lengths = ":".join(map(str, lengths))
        check_integer("Beats", beats, 1, 64)
        short, long = parse_lengths(lengths)
        self.lengths = short * beats, long * beats
        if not isinstance(combine, Policy) and combine not in POLICIES:
            raise ValueError(f"Combine must be one of {', '.join(POLICIES)}, not {combine!r}")
        if merge not in MERGES:
            raise ValueError(f"Merge must be {' or '.join(MERGES)}, not {merge!r}")
        if queues not in QUEUES:
            raise ValueError(f"Queues must be {' or '.join(QUEUES)}, not {queues!r}")
        check_integer("Depth", depth, 1 if queues == "input" else 2)
        check_limit("Depth", depth, 2**16)
        check_integer("Wait", wait, 1)
        check_limit("Wait", wait, 2**16)
        check_integer("Delay", delay, 1, 16)
        self.parameters: dict[str, Any] = {
            "ports": ports,
            "radix": radix,
            "wiring": wiring,
            "depth": depth,
            "wait": wait,
            "combine": combine,
            "merge": merge,
            "width": width,
            "rows": rows,
            "outstanding": outstanding,
            "operations": operations,
            "lengths": lengths,
            "beats": beats,
            "queues": queues,
            "delay": delay,
            "paths": paths,
        }
        self.ports = ports
        self.stages = len(self.plan.stages)
        if isinstance(operations, str):
            if operations not in OPERATION_SETS:
                names = ", ".join(OPERATION_SETS)
                raise ValueError(f"Operations must be one of {names}, not {operations!r}")
            operations = OPERATION_SETS[operations]
        self.operations = operations
        self.link = MemoryLink(
            tag=len(self.tag_bits),
            identity=max(1, (outstanding - 1).bit_length()),
            address=max(1, (rows - 1).bit_length()),
            width=width,
            operations=operations,
        )
        self.box = self._box()
        fabric = Fabric({"i": In(self.link).array(ports)})
        for index, pin in enumerate(self.place(fabric)):
            fabric.link(Pin(None, ("i", index)), pin)
        super().__init__(fabric)

    def _box(self) -> CellType:
        given = self.parameters
        common = {"link": self.link, "radix": given["radix"], "lengths": self.lengths}
        if given["queues"] == "output":
            if given["delay"] != 1:
                raise ValueError(f"Delay must be 1 with queues=output, not {given['delay']}")
            return CellType(
                CombiningBox,
                **common,
                depth=given["depth"],
                wait=given["wait"],
                policy=given["combine"],
                merge=given["merge"],
            )
        rules = Rules(self.operations, given["combine"])
        if rules.combines:
            raise ValueError(f"Combine must be none with queues=input, not {rules.policy.name}")
        depth = given["depth"] * given["beats"]
        return CellType(InputBufferedBox, **common, depth=depth, delay=given["delay"])

    def place(self, fabric: Fabric) -> list[Pin]:
        """Add the boxes and the memory modules to a fabric, and say where the processors attach."""
        columns = self.place_boxes(fabric)
        rows = self.parameters["rows"]
        module = CellType(MemoryModule, link=self.link, rows=rows, lengths=self.lengths)
        for number, pin in enumerate(columns.outputs):
            cell = fabric.place(Cell(f"memory_{number}", module))
            fabric.link(pin, Pin(cell.name, ("i",)))
        return columns.inputs

    def place_boxes(self, fabric: Fabric) -> Columns:
        """Add the boxes to a fabric, and say where processors and memory modules attach."""
        strapped = ("later",) in self.box.leaves
        width, digit_bits = self.link.tag, (self.parameters["radix"] - 1).bit_length()

        def straps(stage: int, box: int) -> dict[str, int]:
            if not strapped:
                return {}
            return {"later": later_bits(width, digit_bits, stage)}

        return place_columns(fabric, self.plan, [self.box] * self.stages, straps=straps)

    def locate(self, word: int, path: int = 0) -> Place:
        """Where a word is, and by which path the tag leads there.

        Raises
        ------
        TypeError, ValueError
            If there is no such word or path.
        """
        check_integer("Word", word, 0, self.ports * self.parameters["rows"] - 1)
        check_integer("Path", path, 0, self.paths - 1)
        row, module = divmod(word, self.ports)
        codes = {"module": self.code.encode(module), "path": path}
        tag = sum((codes[kind] >> bit & 1) << at for at, (kind, bit) in enumerate(self.tag_bits))
        return Place(tag, row)

    def combined(self) -> list[list[Pin]]:
        """By stage: the outputs of its boxes that tell how many requests they have combined.

        None in any stage if the boxes have no such output: those with queues at the inputs.
        """
        boxes = range(self.plan.boxes if ("combined",) in self.box.leaves else 0)
        return [
            [Pin(f"box_{stage}_{box}", ("combined",)) for box in boxes]
            for stage in range(self.stages)
        ]


def _tag_bits(tags: TagScheme) -> tuple[TagBit, ...]:
    """What each bit of a destination tag is."""
    width = tags.code.digit_bits
    return tuple(
        TagBit("module", digit * width + bit)
        for digit in reversed(tags.destination_digits)
        for bit in range(width)
    )
