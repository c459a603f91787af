"""The combining network: fetch-and-add, and other operations, in the switches."""

from .box import MERGES, CombiningBox
from .input_buffered_box import InputBufferedBox
from .link import MemoryLink
from .memory_module import MemoryModule
from .operations import (
    LOAD,
    OPERATION_SETS,
    OPERATIONS,
    POLICIES,
    Operation,
    Policy,
    Rules,
    find_operation,
)
from .pacing import Pacer, request_length

__all__ = [
    "LOAD",
    "MERGES",
    "OPERATIONS",
    "OPERATION_SETS",
    "POLICIES",
    "CombiningBox",
    "InputBufferedBox",
    "MemoryLink",
    "MemoryModule",
    "Operation",
    "Pacer",
    "Policy",
    "Rules",
    "find_operation",
    "request_length",
]
