"""What all networks between processors and memory modules have in common."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from amaranth.lib.wiring import In

from ..fabric.cell import CellType
from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..graphs.address_codes import AddressCode
from ..graphs.partitions import check_partitionable
from ..graphs.plans.redundant_paths import TagBit
from ..graphs.tags import TagScheme
from ..links.memory_link import MemoryLink
from ..operations.memory import (
    OPERATION_SETS,
    Operation,
    check_operations,
    find_operation,
    parts_per_row,
    words_per_row,
)
from ..terminals.memory_partition import MemoryPartitionInterface
from .network import Network
from .network_records import Confinement, Terminals

__all__ = ["MemoryNetwork", "Place", "tag_bits"]


class Place(NamedTuple):
    """The location of a word of memory.

    Attributes
    ----------
    tag : int
        The tag that leads to its module.
    address : int
        Its row there.
    """

    tag: int
    address: int


class MemoryNetwork(Network):
    """A network with a processor at each terminal, and as many memory modules inside.

    Word a is row a // N of memory module a mod N: `locate` gives the tag and the address. With
    operations on double words, a row has two words, and this is the place of words 2 a and 2 a + 1.
    Memory module d is the cell `memory_{d}`, which takes its requests at `i`. The parameters have
    `rows`, the words of a module, `width`, their bits, and `outstanding`, the requests that a
    processor may wait for.

    Attributes
    ----------
    link : MemoryLink
        The link of a processor.
    tags : TagScheme or None
        None with several paths.
    operations : tuple[Operation, ...]
        The operations that its memory performs.
    tag_bits : tuple[TagBit, ...]
        The meaning of each bit of a request's tag, from the lowest: ("module", b) for bit b of the
        module's code, ("path", b) for bit b of the number of the path.
    row_words : int
        Words in a row of memory: 1 or 2.
    memory_rows : int
        Rows in a memory module.
    paths : int
        Paths from a processor to a memory module, one of which a tag names.
    side_by_side : tuple[int, int]
        Cycles for which a processor's link is busy with a load or a reply, and with any other
        request, although all of their words cross in one. (1, 1) if the network itself sends words
        one after another.

    Members
    -------
    i : In(link).array(ports)
        The links of the processors.
    """

    ordered = True
    has_memory = True
    terminal_kind = "processor"
    link: MemoryLink
    tags: TagScheme | None
    operations: tuple[Operation, ...]
    tag_bits: tuple[TagBit, ...]
    row_words: int = 1
    paths: int = 1
    side_by_side: tuple[int, int] = (1, 1)
    _code: AddressCode

    def _joined(self) -> Fabric:
        fabric = Fabric({"i": In(self.link).array(self.ports)})
        for index, pin in enumerate(self.place(fabric)):
            fabric.link(Pin(None, ("i", index)), pin)
        return fabric

    @abstractmethod
    def place(self, fabric: Fabric | Scope) -> list[Pin]:
        """Add all cells to a fabric, memory modules too.

        Parameters
        ----------
        fabric : Fabric or Scope
            The fabric.

        Returns
        -------
        list[Pin]
            For each processor, the pin for its link.
        """

    @abstractmethod
    def request_length(self, operation: Operation) -> int:
        """Cycles for which a request occupies a link.

        Parameters
        ----------
        operation : Operation
            The operation that is requested.

        Returns
        -------
        int
            Cycles.
        """

    def confinement(self) -> Confinement:
        if self.tags is not None:
            check_partitionable(self.tags)
        places = tuple(bit for _, bit in self.tag_bits)
        width = self.code.width
        interface = CellType(MemoryPartitionInterface, link=self.link, places=places, width=width)

        def place(fabric: Fabric) -> Terminals:
            return Terminals(self.place(fabric), [])

        return Confinement(interface, self.link, width, self.code.encode, place)

    @property
    def code(self) -> AddressCode:
        """The code of module numbers in tags."""
        return self._code

    def mix(self, names: Sequence[str]) -> tuple[int, ...]:
        """The codes of the operations of these names; "all" means all operations.

        Parameters
        ----------
        names : Sequence[str]
            The names, of which some may be equal.

        Returns
        -------
        tuple[int, ...]
            A code for each.

        Raises
        ------
        ValueError
            If the network does not have an operation.
        """
        if tuple(names) == ("all",):
            return tuple(range(len(self.operations)))
        return tuple(self.operations.index(find_operation(name, self.operations)) for name in names)

    def mean_length(self, operations: Sequence[str] = ()) -> float:
        requests = [self.operations[code] for code in self.mix(operations or ("all",))]
        return fmean(self.request_length(operation) for operation in requests)

    def locate(self, word: int, path: int = 0) -> Place:
        """The location of a word, with a tag for one of the paths to it.

        Parameters
        ----------
        word : int
            The number of the word.
        path : int
            The number of the path.

        Returns
        -------
        Place
            The tag, and the address in the memory module.

        Raises
        ------
        TypeError, ValueError
            If the word or path does not exist.
        """
        word = check_integer("Word", word, 0, self.ports * self.parameters["rows"] - 1)
        path = check_integer("Path", path, 0, self.paths - 1)
        pair, half = divmod(word, self.row_words)
        row, module = divmod(pair, self.ports)
        parts = 1 << self.link.part_bits
        return Place(self.tag(module, path), row * parts + half * parts // self.row_words)

    def tag(self, module: int, path: int = 0) -> int:
        """The tag that leads to a memory module by a path, without hashing.

        Parameters
        ----------
        module : int
            The memory module.
        path : int
            The number of the path.

        Returns
        -------
        int
            The tag of a request.
        """
        codes = {"module": self.code.encode(module), "path": path}
        return sum((codes[kind] >> bit & 1) << at for at, (kind, bit) in enumerate(self.tag_bits))

    def stored(self, word: int) -> tuple[int, int]:
        """The memory module that holds a word, and its row there.

        Parameters
        ----------
        word : int
            The number of the word.

        Returns
        -------
        tuple[int, int]
            Module and row, after hashing if there is any.
        """
        row, module = divmod(word // self.row_words, self.ports)
        return module, row

    def _set_operations(self, operations: str | tuple[Operation, ...]) -> None:
        """Take these operations, and rows of memory that hold the largest of their operands."""
        self.operations = OPERATION_SETS[operations] if isinstance(operations, str) else operations
        check_operations(self.operations)
        self.row_words = words_per_row(self.operations)
        if (rows := self.parameters["rows"]) % self.row_words:
            raise InvalidValue(f"Rows must be even for double words, not {rows}")

    def _memory_link(self, tag: int) -> MemoryLink:
        """The link of a processor: for tags of so many bits, and addresses of parts of rows."""
        given = self.parameters
        parts = parts_per_row(self.operations)
        return MemoryLink(
            tag=tag,
            identity=max(1, (given["outstanding"] - 1).bit_length()),
            address=max(1, (self.memory_rows - 1).bit_length()) + parts.bit_length() - 1,
            width=given["width"] * self.row_words,
            operations=self.operations,
        )

    @property
    def memory_rows(self) -> int:
        """Rows in a memory module."""
        return self.parameters["rows"] // self.row_words

    def words(self, contents: Sequence[Sequence[int]]) -> list[int]:
        """The value of each word, from the contents of the memory modules.

        Parameters
        ----------
        contents : Sequence[Sequence[int]]
            The rows of each module.

        Returns
        -------
        list[int]
            The values, by the number of the word.
        """
        width = self.parameters["width"]
        values = []
        for word in range(self.ports * self.parameters["rows"]):
            module, row = self.stored(word)
            shift = word % self.row_words * width
            values.append(contents[module][row] >> shift & (1 << width) - 1)
        return values

    def contents(self, words: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
        """The contents of the memory modules that hold these words, if all others are 0.

        Parameters
        ----------
        words : Mapping[int, int]
            The values that are not 0, by the number of the word.

        Returns
        -------
        dict[int, tuple[int, ...]]
            The rows of each module that holds one of them.
        """
        rows: dict[int, list[int]] = {}
        for word, value in words.items():
            module, row = self.stored(word)
            shift = word % self.row_words * self.parameters["width"]
            rows.setdefault(module, [0] * self.memory_rows)[row] |= value << shift
        return {module: tuple(values) for module, values in rows.items()}

    def combined(self) -> list[list[Pin]]:
        """By stage: the outputs of the boxes that count combined requests, if any do.

        The lists are empty if no box of the stage combines. The routers of a graph are one stage.

        Returns
        -------
        list[list[Pin]]
            The outputs of each stage.
        """
        return [[] for _ in range(self.stages)]


def tag_bits(tags: TagScheme) -> tuple[TagBit, ...]:
    """The meaning of each bit of a destination tag.

    Parameters
    ----------
    tags : TagScheme
        How tags are computed.

    Returns
    -------
    tuple[TagBit, ...]
        A meaning for each bit, the lowest first.
    """
    width = tags.code.digit_bits
    return tuple(
        TagBit("module", digit * width + bit)
        for digit in reversed(tags.destination_digits)
        for bit in range(width)
    )
