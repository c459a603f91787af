"""Fields that several networks with memory have."""

from typing import Any

from ..boxes.combining import MERGES
from ..fabric.parameter_fields import integer, word
from ..operations.combining_rules import POLICIES as COMBINE_POLICIES
from ..operations.combining_rules import Policy
from ..operations.memory import OPERATION_SETS

__all__ = [
    "combine_policy",
    "interval_of_memory",
    "latency_of_memory",
    "memory_operations",
    "merge_limit",
    "module_rows",
    "unanswered_requests",
    "wait_records",
    "word_width",
]


def wait_records() -> Any:
    """The field for the size of wait buffers."""
    return integer(4, "records in each wait buffer", least=1, most=64)


def combine_policy() -> Any:
    """The field for what combines."""
    return word(
        "all", "which requests for one word combine", tuple(COMBINE_POLICIES), objects=(Policy,)
    )


def merge_limit() -> Any:
    """The field for how many requests combine."""
    return word(
        "pairwise", "number of other requests with which a queued request may combine", MERGES
    )


def word_width() -> Any:
    """The field for the width of a word."""
    return integer(32, "width of a word of memory in bits", least=1, most=64)


def module_rows() -> Any:
    """The field for the size of memory modules."""
    return integer(16, "words in each memory module", least=1, most=2**16)


def unanswered_requests() -> Any:
    """The field for the requests of a processor."""
    return integer(16, "requests that a processor may wait for", least=1, most=2**16)


def latency_of_memory() -> Any:
    """The field for the time that memory modules take."""
    return integer(1, "cycles of an access to memory", least=1, most=2**10)


def interval_of_memory() -> Any:
    """The field for the requests that memory modules take."""
    return integer(1, "fewest cycles between two requests to a module", least=1, most=2**10)


def memory_operations(of: str) -> Any:
    """The field for the operations of something."""
    return word("all", f"operations of {of}", tuple(OPERATION_SETS), objects=(tuple,))
