"""The protocol between host and board: frames of eight bytes, and replies.

A frame is `SYNC`, a command, its argument in four bytes (lowest first), and the CRC-16 of command
and argument (highest byte first). The board replies with the command, its data, and the CRC-16 of
both; or with one of the refusals. A command may be repeated without further effect, so a host that
gets no valid reply sends it again. This module does not use Amaranth: both ends import it.
"""

import binascii
from enum import IntEnum

__all__ = ["BAUD", "CRC_BYTES", "FRAME_BYTES", "IDENTITY_BYTES", "STATUS_BYTES", "SYNC", "VERSION"]
__all__ += ["Command", "Refusal", "crc", "frame"]

BAUD = 1_000_000
"""Bits per second on the serial line: a whole number of clock cycles of each board."""

VERSION = 1
SYNC = 0xA5
FRAME_BYTES = 8
CRC_BYTES = 2
IDENTITY_BYTES = 8
STATUS_BYTES = IDENTITY_BYTES + 4


class Command(IntEnum):
    """The commands.

    STATUS: replies with the board's identity and the number of cycles that the test bench has run.
    CLEAR: resets the test bench to cycle 0.
    GATES: bit 0 of the argument sets `send`, bit 1 `measure`.
    LOAD: the source whose number is the argument loads the values of the straps.
    RUN: runs the test bench until its cycle number is the argument, modulo 2^32; it does not run if
      that cycle has passed (2^31 or more ahead).
    READ: replies with the bytes from the address in the argument's lower half on; the upper half is
      their number.
    STRAP + n: sets word n of the straps to the argument.
    """

    STATUS = 0x01
    CLEAR = 0x02
    GATES = 0x03
    LOAD = 0x04
    RUN = 0x05
    READ = 0x06
    STRAP = 0x40


class Refusal(IntEnum):
    """Replies to commands that are not executed."""

    CHECKSUM = 0xE1
    UNKNOWN = 0xE2


def crc(message: bytes) -> int:
    """CRC-16 with the polynomial 0x1021 and an initial value of all ones."""
    return binascii.crc_hqx(message, 0xFFFF)


def frame(command: int, argument: int = 0) -> bytes:
    """The bytes of a frame."""
    body = bytes([command]) + argument.to_bytes(4, "little")
    return bytes([SYNC]) + body + crc(body).to_bytes(CRC_BYTES, "big")
