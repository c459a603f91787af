"""Certificates of networks between processors and memory: that each word has a serial order.

Those of combining networks follow from the contracts of their boxes and memory modules, stage by
stage, from the memory to the processors. Requests that pass the links of a stage have a serial
order for each word: before a box it is the one behind it, with each request that was made of
several replaced by these. `tools/check_memory_certificate.py` checks the rest: that the wires are
those of stages, and that the tags lead to the modules.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from ...hdl.networks.memory_network import MemoryNetwork
from .contracts import contracts_of, module_blocks

__all__ = ["memory_certificate"]

FORMAT = "multicube memory certificate 1"


def memory_certificate(
    network: MemoryNetwork, top: str, verilog: str, limit: float, step: Callable[[str], None]
) -> dict[str, Any]:
    """The certificate of a network with memory, about its Verilog, without its steps.

    Parameters
    ----------
    network : MemoryNetwork
    top, limit
        As in `certificate`.
    verilog : str
        What `verilog_text` writes.
    step : Callable[[str], None]
        Called with a text about each step.
    """
    blocks = module_blocks(verilog)
    contracts, _ = contracts_of(network.fabric.cells, top, blocks, limit, step)
    modules = range(network.ports)
    step("each request is answered once, with the value of a serial order of its word")
    return {
        "format": FORMAT,
        "network": str(network),
        "top": top,
        "sha256": hashlib.sha256(verilog.encode()).hexdigest(),
        "processors": network.ports,
        "tags": [[network.tag(d, path) for path in range(network.paths)] for d in modules],
        "operations": [one.name for one in network.operations],
        "contracts": contracts,
        "conditions": sorted(name for name, one in contracts.items() if "unproved" in one),
        "serial": True,
    }
