"""The combining network: fetch-and-add, and other operations, in the switches."""

from .box import MERGES, CombiningBox
from .link import MemoryLink
from .memory_module import MemoryModule
from .network import CombiningNetwork
from .operations import LOAD, OPERATIONS, POLICIES, Operation, Policy, Rules, find_operation

__all__ = [
    "LOAD",
    "MERGES",
    "OPERATIONS",
    "POLICIES",
    "CombiningBox",
    "CombiningNetwork",
    "MemoryLink",
    "MemoryModule",
    "Operation",
    "Policy",
    "Rules",
    "find_operation",
]
