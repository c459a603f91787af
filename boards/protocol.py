"""What host and board say to each other: frames of eight bytes, and replies.

A frame is `SYNC`, a command, its argument in four bytes (lowest first), and the CRC-16 of command
and argument (highest byte first). The board answers with the command, the data that belong to it,
and the CRC-16 of both; or with one of the refusals. Doing a command twice is doing it once, so a
host that got no good reply asks again. No Amaranth here: both ends read this.
"""

import binascii
from enum import IntEnum

__all__ = ["CRC_BYTES", "FRAME_BYTES", "IDENTITY_BYTES", "STATUS_BYTES", "SYNC", "VERSION"]
__all__ += ["Command", "Refusal", "crc", "frame"]

VERSION = 1
SYNC = 0xA5
FRAME_BYTES = 8
CRC_BYTES = 2
IDENTITY_BYTES = 8
STATUS_BYTES = IDENTITY_BYTES + 4


class Command(IntEnum):
    """What a frame asks for.

    STATUS: replies with the board's identity and the number of cycles that the bench has run.
    CLEAR: bench to its reset state, cycle 0.
    GATES: argument's bit 0 to `send`, bit 1 to `measure`.
    LOAD: the source whose number is the argument takes what the straps hold.
    RUN: until the bench has run as many cycles as the argument says, modulo 2^32; not at all if
        that is past (2^31 or more ahead).
    READ: as many bytes as the argument's upper half says, from the address in its lower half on.
    STRAP + n: the argument to word n of the straps.
    """

    STATUS = 0x01
    CLEAR = 0x02
    GATES = 0x03
    LOAD = 0x04
    RUN = 0x05
    READ = 0x06
    STRAP = 0x40


class Refusal(IntEnum):
    """What the board says instead of the command."""

    CHECKSUM = 0xE1
    UNKNOWN = 0xE2


def crc(message: bytes) -> int:
    """CRC-16 with the polynomial 0x1021 and all ones at the start."""
    return binascii.crc_hqx(message, 0xFFFF)


def frame(command: int, argument: int = 0) -> bytes:
    """The bytes of a frame."""
    body = bytes([command]) + argument.to_bytes(4, "little")
    return bytes([SYNC]) + body + crc(body).to_bytes(CRC_BYTES, "big")
