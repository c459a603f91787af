"""Packets: one word of a link, or several flits."""

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ..fabric.checks import check_kind
from ..fabric.errors import InvalidValue

__all__ = ["Packet", "check_tag"]


class Packet(data.StructLayout):
    """One word of a link: the routing tag (low bits) and the payload.

    Without `flits` every word is a packet. With `flits` a packet has one or more words, called
    *flits*: the first is the header, and the last has `last` set. In the others the field `tag`
    carries data. The boxes rotate it like any tag, and it has its original value on arrival.

    With `groups` a packet may be for a group of terminals: `kind` in its header says so (`Kind` of
    `graphs.routing.group_tree`), and the tag is the number of the group.

    With `length` a packet is one word, but stands for as many flits as its field `length` says: so
    many cycles a link is busy with it.

    Parameters
    ----------
    tag : int
        Width of the tag in bits.
    payload : ShapeLike
        Shape of the data that a word carries.
    broadcast : bool
        Add `mask`, as wide as the tag: a 1 means both values of this bit of the tag.
    flits : bool
        Add `last`.
    length : int
        Width of `length`, 0 for none. Not together with flits.
    groups : bool
        Add `kind`.

    Attributes
    ----------
    sized : bool
        Whether packets have different lengths.
    """

    def __init__(
        self,
        tag: int,
        payload: ShapeLike,
        *,
        broadcast: bool = False,
        flits: bool = False,
        length: int = 0,
        groups: bool = False,
    ) -> None:
        self.groups = groups
        self.broadcast = broadcast
        self.flits = flits
        self.length = length
        self.sized = flits or length > 0
        super().__init__(
            {
                "tag": tag,
                **({"mask": tag} if broadcast else {}),
                **({"kind": 2} if groups else {}),
                "payload": payload,
                **({"last": 1} if flits else {}),
                **({"length": length} if length else {}),
            }
        )


def check_tag(packet: Packet, radix: int) -> None:
    """Check that a packet's tag is as wide as the digit that a box reads.

    Parameters
    ----------
    packet : Packet
        The layout of packets.
    radix : int
        Outputs of the box.

    Raises
    ------
    TypeError, ValueError
        If it is no layout of packets, or the tag is too narrow.
    """
    check_kind("Packet", packet, Packet, "the layout of a packet")
    digit_bits = (radix - 1).bit_length()
    tag_bits = packet.members["tag"]
    if tag_bits < digit_bits:
        raise InvalidValue(
            f"Tag of a packet must have at least {digit_bits} bits "
            f"for a switch of radix {radix}, not {tag_bits}"
        )
