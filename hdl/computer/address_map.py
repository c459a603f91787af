"""The addresses that a core sees, in bytes: programs, their runtime and the hardware agree on them.

A core's loads and stores reach four places: its copy of the program, its own memory with the stack,
its devices, and the memory that all cores share. Everything else is an access outside.
"""

__all__ = [
    "CONSOLE_ROWS",
    "DEVICES",
    "LOCAL",
    "PROGRAM",
    "SHARED",
    "SHARED_BITS",
    "WINDOW_BITS",
    "WINDOW_SHIFT",
    "Device",
]

from enum import IntEnum

PROGRAM = 0x0010_0000
"""Code and constants, read only. Nothing is below it: a null pointer is an access outside."""

LOCAL = 0x0100_0000
"""The memory of the core itself. Its stack grows down to here. Neither here nor at the devices is
there anything in the windows that an update of a shared word uses: such an update of a word that is
not shared is an access outside."""

DEVICES = 0x0200_0000

SHARED = 0x8000_0000
"""The shared memory, in its first window: what a write does is in the bits above an address."""

WINDOW_SHIFT = 28
"""Address bit from which on a window has its number (`operations.bus_operations.ALL_WINDOWS`)."""

WINDOW_BITS = 31 - WINDOW_SHIFT

SHARED_BITS = WINDOW_SHIFT - 2
"""Bits of an address that name a shared word; of few memories all of them are needed."""

CONSOLE_ROWS = 256
"""Words that a core can print before someone must have read them."""


class Device(IntEnum):
    """The words of a core's devices, from `DEVICES` on."""

    NUMBER = 0
    """Read: which core this is."""

    COUNT = 1
    """Read: how many cores there are."""

    CYCLE = 2
    """Read: the number of this cycle."""

    PRINT_CHARACTER = 3
    """Write: print a character."""

    PRINT_INTEGER = 4
    """Write: print a signed number."""

    EXIT = 5
    """Write: this core ends, with this result."""

    DESTINATION = 6
    """Write: for which core the next message is."""

    SEND = 7
    """Write: send a word, once the network takes it."""

    RECEIVE = 8
    """Read: the next word that has arrived, once there is one."""

    SENDER = 9
    """Read: who sent the word that was received last."""

    ARRIVED = 10
    """Read: whether a word has arrived."""
