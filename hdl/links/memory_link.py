"""The link between processor, boxes and memory module: requests forward, replies backward."""

from typing import Literal

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidType, InvalidValue
from ..operations.memory import (
    OPERATIONS,
    Operation,
    check_operations,
    operation_bits,
    parts_per_row,
)

__all__ = ["Direction", "MemoryLink", "check_link", "check_tag"]

Direction = Literal["request", "reply"]
"""The direction of one of the two streams of a link."""


class MemoryLink(wiring.Signature):
    """A stream of requests, and one of replies in the other direction.

    The request's tag has one digit per stage, the first stage's on top. Each box reads the top
    digit, moves the others up, and puts the number of the input by which the request came into the
    free place at the bottom. So at the memory, the tag is the path back. A reply starts with this
    tag. Each box reads its bottom digit, moves the others down, and puts the number of the port by
    which the reply came on top. So at the processor, the tag is that of the request again.

    Parameters
    ----------
    tag : int
        Width of the tag in bits.
    identity : int
        Width of the identity in bits.
    address : int
        Width of an address within a memory module in bits. With operations of several sizes, its
        lowest `part_bits` name the part of a row, in units of the smallest size.
    width : int
        Width of a row of memory in bits: of a word, or of two if there are operations on double
        words.
    operations : tuple[Operation, ...]
        Those that a request may ask for: its field `operation` is the number of one of them.

    Attributes
    ----------
    part_bits : int
        0 if all operations have one size.
    request_layout, reply_layout : data.StructLayout
        The fields of a request and of a reply.

    Members
    -------
    request : Out(stream.Signature({tag, identity, address, operation, operand}))
        A processor must give different identities to all requests whose replies it waits for.
    reply : In(stream.Signature({tag, identity, value}))
        The old value of the word; no value if the operation does not fetch.

    Raises
    ------
    TypeError, ValueError
        If a width is not an integer of at least 1, or the operations are not a tuple of operations.
    """

    def __init__(
        self,
        *,
        tag: int,
        identity: int = 1,
        address: int,
        width: int,
        operations: tuple[Operation, ...] = OPERATIONS,
    ) -> None:
        tag = check_integer("Tag", tag, 1)
        identity = check_integer("Identity", identity, 1)
        address = check_integer("Address", address, 1)
        width = check_integer("Width", width, 1)
        check_operations(operations)
        self.tag = tag
        self.identity = identity
        self.address = address
        self.width = width
        self.operations = operations
        self.part_bits = parts_per_row(operations).bit_length() - 1
        if address <= self.part_bits:
            raise InvalidValue(
                f"Address must have more bits than the {self.part_bits} of a part, not {address}"
            )
        for operation in operations:
            self.bits(operation)
        self.request_layout = data.StructLayout(
            {
                "tag": tag,
                "identity": identity,
                "address": address,
                "operation": range(len(operations)),
                "operand": width,
            }
        )
        self.reply_layout = data.StructLayout({"tag": tag, "identity": identity, "value": width})
        super().__init__(
            {
                "request": Out(stream.Signature(self.request_layout)),
                "reply": In(stream.Signature(self.reply_layout)),
            }
        )

    def bits(self, operation: Operation) -> int:
        """Bits that an operation reads and writes."""
        return operation_bits(operation, self.operations, self.width)

    def layout(self, direction: Direction) -> data.StructLayout:
        """The payload of one of the two streams."""
        return self.request_layout if direction == "request" else self.reply_layout

    def _key(self) -> tuple:
        return self.tag, self.identity, self.address, self.width, self.operations

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryLink) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = ", ".join(operation.name for operation in self.operations)
        return (
            f"MemoryLink(tag={self.tag}, identity={self.identity}, address={self.address}, "
            f"width={self.width}, operations=({names}))"
        )


def check_link(link: object) -> None:
    """Raise TypeError if this is not a `MemoryLink`."""
    if not isinstance(link, MemoryLink):
        raise InvalidType(f"Link must be a MemoryLink, not {link!r}")


def check_tag(link: MemoryLink, radix: int) -> None:
    """Raise ValueError if a link's tag is narrower than the digit that names a box's output."""
    digit_bits = (radix - 1).bit_length()
    if link.tag < digit_bits:
        raise InvalidValue(
            f"Tag of a link must have at least {digit_bits} bits "
            f"for a box of radix {radix}, not {link.tag}"
        )
