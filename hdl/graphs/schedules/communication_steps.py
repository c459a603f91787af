"""Communication in steps: a node sends to one neighbour and receives from one other in a step.

This is the model of Ginosar and Egozi (1989, section 3), as rules for a *schedule*: the transfers
of each step. In a step each node sends at most one word and receives at most one (assumption E), by
different links; a link passes a word in one direction only (C); and two nodes have at most one link
(D), so parallel links count as one, and links from a node to itself not at all. A one-way link is
never used backwards. Words that wait are in the memory of the nodes' processors.

Everything here is plain data, without hardware; `bench.ensemble` runs schedules on hardware.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...fabric.errors import InvalidValue
from ..graph import Graph
from ..permutations import Permutation, check_permutation

__all__ = [
    "Schedule",
    "Transfer",
    "check_broadcast",
    "check_concentration",
    "check_delivery",
    "check_schedule",
    "concentration_of",
    "one_message",
    "successors",
]


class Transfer(NamedTuple):
    """A word that a node sends to a neighbour in a step.

    Attributes
    ----------
    sender, receiver : int
        Nodes.
    message : int
        Which message it is: of a permutation, the number of the node where it began; otherwise 0.
    """

    sender: int
    receiver: int
    message: int = 0


Schedule = Sequence[Sequence[Transfer]]
"""The transfers of each step."""


def successors(graph: Graph) -> list[list[int]]:
    """For each node, the other nodes to which it has a link, lowest first."""
    found: list[set[int]] = [set() for _ in range(graph.nodes)]
    for link in graph.links():
        if link.node != link.peer:
            found[link.node].add(link.peer)
    return [sorted(peers) for peers in found]


def one_message(pairs: Iterable[Iterable[tuple[int, int]]]) -> list[list[Transfer]]:
    """A schedule of one message from the pairs of sender and receiver of each step."""
    return [[Transfer(sender, receiver) for sender, receiver in step] for step in pairs]


def concentration_of(broadcast: Schedule) -> list[list[Transfer]]:
    """The schedule of a concentration: a broadcast backwards, each transfer in the other direction.

    A node receives from all nodes to which it would send, and then sends once. In a graph with
    one-way links the broadcast must be one in the graph with all its links turned around.
    """
    return [
        [Transfer(receiver, sender, message) for sender, receiver, message in step]
        for step in reversed(broadcast)
    ]


def check_schedule(graph: Graph, schedule: Schedule) -> None:
    """Check that every step keeps the rules of the model.

    Raises
    ------
    ValueError
        If not. The message names the first step, from 1, and the nodes.
    """
    near = [set(peers) for peers in successors(graph)]
    for number, transfers in enumerate(schedule, 1):
        sent: dict[int, int] = {}
        received: dict[int, int] = {}
        for sender, receiver, _ in transfers:
            for node in (sender, receiver):
                if node not in range(graph.nodes):
                    raise InvalidValue(
                        f"Step {number} must be of nodes from 0 to {graph.nodes - 1}, not {node}"
                    )
            if receiver not in near[sender]:
                raise InvalidValue(
                    f"Step {number} must use links of the graph: there is none from node {sender} "
                    f"to node {receiver}"
                )
            for what, node, peer, others in (
                ("send to", sender, receiver, sent),
                ("receive from", receiver, sender, received),
            ):
                if node in others:
                    raise InvalidValue(
                        f"Step {number} must not let node {node} {what} two nodes, "
                        f"{others[node]} and {peer}"
                    )
                others[node] = peer
        for sender, receiver in sent.items():
            if sent.get(receiver) == sender:
                raise InvalidValue(
                    f"Step {number} must not use the link of nodes {sender} and {receiver} "
                    "in both directions"
                )


def check_broadcast(graph: Graph, schedule: Schedule, root: int) -> None:
    """Check that a legal schedule takes a word from one node to all, to each once.

    Raises
    ------
    ValueError
        If not, or as `check_schedule`.
    """
    check_schedule(graph, schedule)
    has = {root}
    for number, transfers in enumerate(schedule, 1):
        before = set(has)
        for sender, receiver, _ in transfers:
            if sender not in before:
                raise InvalidValue(f"Step {number} must not let node {sender} send what it lacks")
            if receiver in has:
                raise InvalidValue(f"Step {number} must not send to node {receiver} a second time")
            has.add(receiver)
    if len(has) < graph.nodes:
        missing = min(set(range(graph.nodes)) - has)
        raise InvalidValue(f"Broadcast must reach all nodes; node {missing} receives nothing")


def check_concentration(graph: Graph, schedule: Schedule, root: int) -> None:
    """Check that a legal schedule takes the values of all nodes to one, each node sending once.

    Raises
    ------
    ValueError
        If not, or as `check_schedule`.
    """
    check_schedule(graph, schedule)
    sent: set[int] = set()
    for number, transfers in enumerate(schedule, 1):
        for sender, _, _ in transfers:
            if sender in sent or sender == root:
                raise InvalidValue(
                    f"Step {number} must not let node {sender} send: "
                    + ("it has the result" if sender == root else "it has sent already")
                )
        sent |= {sender for sender, _, _ in transfers}
        for sender, receiver, _ in transfers:
            if receiver in sent:
                raise InvalidValue(
                    f"Step {number} must not send from node {sender} to node {receiver}, "
                    "which sends its own value no later"
                )
    if len(sent) < graph.nodes - 1:
        missing = min(set(range(graph.nodes)) - sent - {root})
        raise InvalidValue(f"Concentration must start at all nodes; node {missing} sends nothing")


def check_delivery(graph: Graph, schedule: Schedule, destinations: Permutation) -> None:
    """Check that a legal schedule takes the message of each node to its destination.

    Raises
    ------
    ValueError
        If not, or as `check_schedule`, or if `destinations` is not a permutation of the nodes.
    """
    check_permutation(destinations, graph.nodes)
    check_schedule(graph, schedule)
    at: Mapping[int, int] = {
        node: node for node, destination in enumerate(destinations) if destination is not None
    }
    for number, transfers in enumerate(schedule, 1):
        moved = dict(at)
        for sender, receiver, message in transfers:
            if at.get(message) != sender:
                raise InvalidValue(
                    f"Step {number} must not let node {sender} send message {message}, "
                    "which it does not have"
                )
            moved[message] = receiver
        at = moved
    for message, node in at.items():
        if node != destinations[message]:
            raise InvalidValue(
                f"Message {message} must come to node {destinations[message]}, not to node {node}"
            )
