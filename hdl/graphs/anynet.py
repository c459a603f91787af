"""Graphs as lists of BookSim2's `anynet`."""

import re

from ..fabric.checks import check_integer, check_limit, shown
from ..fabric.errors import InvalidValue
from ..support.input_file import text_lines
from .draft import GraphDraft
from .graph import MOST_NODES, Link
from .listed_graph import ListedGraph

__all__ = ["read_anynet"]

_NUMBER = re.compile("[0-9]{1,18}")


def read_anynet(text: str) -> ListedGraph:
    """The graph in a list as of BookSim2's `anynet`.

    Each line names a router, and then what it is linked to: `router 0 node 0 router 1 15 router 2`.
    A number after a router is the latency of the link to it; as in BookSim2, paths are short if the
    sum of their latencies is. A link back exists in any case; it
    takes one cycle if it is not listed. Nodes are the terminals here.

    Raises
    ------
    ValueError
        If it is not as above; the message names the line.
    """
    routers: dict[int, None] = {}
    latencies: dict[tuple[int, int], int] = {}
    homes: dict[int, int] = {}
    for number, line in enumerate(text_lines(text), 1):
        where = f"Line {number}"
        entries = _entries(where, line)
        if not entries:
            continue
        (kind, head, latency), *rest = entries
        if kind != "router" or latency is not None:
            # BookSim2 also reads "node 0 router 1".
            if kind != "node" or [each for each, _, _ in rest] != ["router"]:
                raise InvalidValue(f"{where} must begin with a router, not {shown(line.strip())}")
            rest = [("node", head, latency or rest[0][2])]
            head = entries[1][1]
        routers[head] = None
        for kind, name, latency in rest:
            if kind == "node":
                if latency not in (None, 1):
                    raise InvalidValue(f"{where}: node {name} must have latency 1, not {latency}")
                if homes.setdefault(name, head) != head:
                    raise InvalidValue(
                        f"{where}: node {name} must be at one router, not at {homes[name]} "
                        f"and {head}"
                    )
            else:
                routers[name] = None
                if head == name:
                    raise InvalidValue(f"{where}: link [{head}, {name}] must join two routers")
                if (head, name) in latencies:
                    raise InvalidValue(
                        f"{where}: link from router {head} to {name} must be given once, not twice"
                    )
                latencies[head, name] = check_integer(
                    f"{where}: latency of the link to router {name}",
                    1 if latency is None else latency,
                    *Link.bounds("latency"),
                )
        check_limit(f"{where}: routers", len(routers), MOST_NODES)
    if sorted(homes) != list(range(len(homes))):
        missing = min(set(range(len(homes))) - homes.keys())
        raise InvalidValue(f"Node {missing} must be at a router, as all nodes from 0 on")
    draft = GraphDraft()
    for router in sorted(routers):
        draft.add_node(router, {"terminals": 0})
    for head, name in sorted({pair for a, b in latencies for pair in ((a, b), (b, a))}):
        draft.add_link(head, name, {"latency": latencies.get((head, name), 1)}, one_way=True)
    draft.place_terminals(homes[node] for node in range(len(homes)))
    return draft.graph(metric="latency")


def _entries(where: str, line: str) -> list[tuple[str, int, int | None]]:
    """The routers and nodes of a line, each with its number and the latency after it."""
    words = line.split()
    found: list[tuple[str, int, int | None]] = []
    at = 0
    while at < len(words):
        kind, number = words[at], words[at + 1] if at + 1 < len(words) else ""
        if kind not in ("router", "node") or not _NUMBER.fullmatch(number):
            raise InvalidValue(
                f"{where} must be of words such as router 0 or node 0, not {shown(kind)} "
                f"{shown(number)}"
            )
        at += 2
        latency = None
        if at < len(words) and _NUMBER.fullmatch(words[at]):
            latency = int(words[at])
            at += 1
        found.append((kind, int(number), latency))
    return found
