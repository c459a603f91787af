"""What programs of processors ask for, and the bits of their requests and of replies."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.operations.memory import Operation, find_operation
from ...hdl.primitives.pacing import request_length
from ..measure.serial_order import Access

__all__ = ["Pause", "Program", "Request", "RequestCoder", "SentRequest", "Step"]


class Request(NamedTuple):
    """An operation on a word of the shared memory.

    Attributes
    ----------
    operation : str or Operation
        One of the network's, or its name.
    word : int
        For a double word, the first of the two, which is even.
    operand : int
        From -2^(width-1) to 2^width - 1; negative numbers in two's complement. The width is that of
        the double word, word, half-word or byte.
    part : int
        Which half-word or byte of the word, for an operation on these; 0 is the lowest.

    Examples
    --------
    >>> from multicube.sim import Request
    >>> Request("fetch-and-add", word=0, operand=1).operation
    'fetch-and-add'
    """

    operation: str | Operation
    word: int
    operand: int = 0
    part: int = 0


class Pause(NamedTuple):
    """A number of cycles without requests.

    `Pause(0)` takes no time: it only reads the cycle.

    Attributes
    ----------
    cycles : int
        Cycles, 0 or more.

    Examples
    --------
    >>> from multicube.sim import Pause
    >>> Pause(5)
    Pause(cycles=5)
    """

    cycles: int


Step = Request | Pause | list[Request]
Program = Generator[Step, Any, Any]


@dataclass(slots=True)
class SentRequest:
    """A request that was sent, and its reply once it has arrived."""

    processor: int
    operation: Operation
    word: int
    operand: int
    position: int
    payload: int
    tag: int
    asked: int
    offset: int = 0
    bits: int = 0
    sent: int = -1
    answered: int = -1
    reply: int | None = None

    def __str__(self) -> str:
        state = "not taken" if self.sent < 0 else "not answered"
        return (
            f"processor {self.processor} has waited for {self.operation.name} of word {self.word} "
            f"since cycle {self.asked} ({state})"
        )

    def access(self) -> Access:
        return Access(
            self.processor,
            self.operation,
            self.operand,
            self.reply,
            self.sent,
            self.answered,
            self.offset,
            self.bits,
        )


class RequestCoder:
    """Converts between requests and bits."""

    def __init__(self, network: MemoryNetwork) -> None:
        self.network = network
        layout, self._reply = network.link.request_layout, network.link.reply_layout
        self._at = {name: layout[name].offset for name, _ in layout}
        self._width = network.parameters["width"]
        self._link = network.link
        self._unit = self._link.width >> self._link.part_bits
        self._words = network.ports * network.parameters["rows"]
        self.lengths = network.side_by_side
        self._codes = {operation: code for code, operation in enumerate(network.operations)}
        self._places: dict[int, tuple[int, int]] = {}

    def encode(self, request: Request, processor: int, position: int, now: int) -> SentRequest:
        operation, word, operand, part = request
        if isinstance(operation, str):
            operation = find_operation(operation, self.network.operations)
        elif not isinstance(operation, Operation) or operation not in self._codes:
            raise InvalidValue(f"Operation must be one of the network's, not {operation!r}")
        word = check_integer("Word", word, 0, self._words - 1)
        if word not in self._places:
            # All requests for a word take one path, so that they keep their order and can combine.
            row = word // self.network.row_words
            path = row // self.network.ports % self.network.paths
            self._places[word] = self.network.locate(word, path)
        tag, address = self._places[word]
        bits = self._link.bits(operation)
        if word % max(1, operation.size):
            raise InvalidValue(f"Word of {operation.name} must be even, not {word}")
        part = check_integer(f"Part of {operation.name}", part, 0, max(1, self._width // bits) - 1)
        operand = check_integer("Operand", operand, -(1 << bits - 1), (1 << bits) - 1)
        operand &= (1 << bits) - 1
        at = self._at
        place = address + part * (bits // self._unit)
        payload = (
            tag << at["tag"]
            | place << at["address"]
            | self._codes[operation] << at["operation"]
            | operand << at["operand"]
        )
        sent = SentRequest(processor, operation, word, operand, position, payload, tag, now)
        if bits < self._link.width:
            sent.offset, sent.bits = place * self._unit % self._link.width, bits
        return sent

    def length(self, sent: SentRequest) -> int:
        """Cycles for which a request occupies a link."""
        return request_length(sent.operation, self.lengths)

    def offer(self, identity: int, sent: SentRequest) -> int:
        return (sent.payload | identity << self._at["identity"]) << 1 | 1

    def decode(self, bits: int) -> tuple[int, int, int]:
        """Tag, identity and value of a reply."""
        tag, identity, value = (
            bits >> self._reply[name].offset & (1 << self._reply[name].width) - 1
            for name in ("tag", "identity", "value")
        )
        return tag, identity, value
