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
    """The answered accesses to each row of memory, by its first word as in `MemoryNetwork.locate`.

    The accesses of each processor are in the order in which it sent them. None if the processors
    have not recorded all accesses.
    """
    network = bench.network
    link = network.link
    layout = access_layout(link)
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
            operation = network.operations[access["operation"]]
            row, part = divmod(access["address"], 1 << link.part_bits)
            word = (row * network.ports + modules[access["tag"]]) * network.row_words
            bits = link.bits(operation)
            histories[word].append(
                Access(
                    number,
                    operation,
                    access["operand"] & (1 << bits) - 1,
                    access["reply"] & (1 << bits) - 1,
                    access["sent"],
                    access["answered"],
                    part * (link.width >> link.part_bits),
                    bits if bits < link.width else 0,
                )
            )
    return histories


def _modules(network: MemoryNetwork) -> dict[int, int]:
    """The memory module that each tag leads to."""
    return {
        network.tag(module, path): module
        for module in range(network.ports)
        for path in range(network.paths)
    }


def is_serializable(engine: Engine, bench: Bench, run: int = 0) -> bool | None:
    """Whether the history of each word is serial and agrees with the times of its accesses.

    Words are 0 at the beginning, and end with the value that the memory holds. None if the
    processors have not recorded all accesses, the search for an order was given up, or there is no
    memory.
    """
    if not isinstance(bench, MemoryBench) or not bench.history:
        return None
    histories = access_histories(engine, bench, run)
    if histories is None:
        return None
    network = bench.network
    contents = [engine.memory(name, "words", run) for name in bench.memories]
    places = {word: network.stored(word) for word in histories}
    final = {word: contents[module][row] for word, (module, row) in places.items()}
    try:
        return serial_order.is_serializable(
            histories, width=network.link.width, initial={}, final=final
        )
    except Undecided:
        return None
