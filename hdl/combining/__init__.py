"""The combining network: fetch-and-add, and other operations, in the switches."""

from .box import MERGES, CombiningBox
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

__all__ = [
    "LOAD",
    "MERGES",
    "OPERATIONS",
    "OPERATION_SETS",
    "POLICIES",
    "CombiningBox",
    "MemoryLink",
    "MemoryModule",
    "Operation",
    "Policy",
    "Rules",
    "find_operation",
]
