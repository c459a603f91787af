"""What a run of a program assumes if nothing is said."""

__all__ = ["LIMIT", "STACK_BYTES"]

LIMIT = 1_000_000
"""Cycles after which a program is given up."""

STACK_BYTES = 4096
"""Bytes of the stack of each core."""
