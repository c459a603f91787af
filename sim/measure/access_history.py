"""Checks the memory accesses that the processors of a bench recorded for a serial order."""

from collections import defaultdict

from ...hdl.bench import Bench, MemoryBench
from ...hdl.bench.processor import access_layout
from ...hdl.networks.memory_network import MemoryNetwork
from ..engines import Engine
from . import serial_order
from .serial_order import Access, Undecided

__all__ = ["access_histories", "is_serializable"]


def access_histories(
    engine: Engine, bench: MemoryBench, run: int = 0
) -> dict[int, list[Access]] | None:
    """The answered accesses to each word, by its number as in `MemoryNetwork.locate`.

    The accesses of each processor are in the order in which it sent them. None if the processors
    have not recorded all accesses.
    """
    network = bench.network
    layout = access_layout(network.link)
    fields = [
        (name, field.offset, (1 << field.width) - 1)
        for name, field in ((name, layout[name]) for name, _ in layout)
    ]
    modules = _modules(network)
    histories: dict[int, list[Access]] = defaultdict(list)
    for number, answered in enumerate(engine.read(bench.sinks, "delivered", run)):
        if not answered:
            continue
        if answered > bench.history:
            return None
        rows = engine.memory(bench.sinks[number], "history", run)[:answered]
        accesses = [{name: row >> offset & mask for name, offset, mask in fields} for row in rows]
        for access in sorted(accesses, key=lambda access: access["sent"]):
            word = access["address"] * network.ports + modules[access["tag"]]
            histories[word].append(
                Access(
                    number,
                    network.operations[access["operation"]],
                    access["operand"],
                    access["reply"],
                    access["sent"],
                    access["answered"],
                )
            )
    return histories


def _modules(network: MemoryNetwork) -> dict[int, int]:
    """The memory module that each tag leads to."""
    return {
        network.locate(module, path).tag: module
        for module in range(network.ports)
        for path in range(network.paths)
    }


def is_serializable(engine: Engine, bench: Bench, run: int = 0) -> bool | None:
    """Whether the history of each word is serial and agrees with the times of its accesses.

    Words are 0 at the beginning, and end with the value that the memory holds. None if the
    processors have not recorded all accesses, the search for an order was given up, or there is no
    memory.
    """
    if not isinstance(bench, MemoryBench):
        return None
    histories = access_histories(engine, bench, run)
    if histories is None:
        return None
    network = bench.network
    contents = [engine.memory(name, "words", run) for name in bench.memories]
    final = network.words(contents)
    try:
        return serial_order.is_serializable(
            histories, width=network.parameters["width"], initial={}, final=final
        )
    except Undecided:
        return None
