"""The shapes of the routers of a graph: which inputs may turn to which outputs at each node."""

from ..graphs.graph import End, Turn
from ..graphs.routing.relation import Relation
from ..switch.shape import InputChannel, RouterShape
from .group_tables import group_turns

__all__ = ["router_shapes"]


def router_shapes(
    relation: Relation, *, classes: int, pipelined: bool, groups: bool, every: bool
) -> list[RouterShape]:
    """The shape of each node's router. Nodes with the same channels have the same one.

    Parameters
    ----------
    relation : Relation
        The graph, and the turns of its packets.
    classes : int
        Classes of messages.
    pipelined : bool
        Whether routers take several cycles, so that all inputs have credits.
    groups : bool
        Whether there are packets for groups.
    every : bool
        Whether their trees may take every turn.

    Returns
    -------
    list[RouterShape]
        By node.
    """
    graph = relation.graph
    turns = relation.turns()
    inputs: list[list[InputChannel]] = [[] for _ in range(graph.nodes)]
    outputs: list[list[tuple[End, bool, int]]] = [[] for _ in range(graph.nodes)]
    for link in graph.links():
        for channel in link.each_channel():
            escape = relation.is_escape(channel)
            outputs[link.node].append(((link.port, channel.number), escape, link.interval))
            end = link.peer_port, channel.number
            credits = link.latency > 1 or pipelined
            inputs[link.peer].append(InputChannel(end, escape, credits))
    if graph.same_router:
        all_inputs = sorted({one for own in inputs for one in own})
        all_outputs = sorted({one for own in outputs for one in own})
        inputs, outputs = [all_inputs] * graph.nodes, [all_outputs] * graph.nodes
    # Nodes with the same channels get the turns that any of them makes.
    keys = [
        (tuple(sorted(inputs[node])), tuple(sorted(outputs[node])), len(own), len(leaving))
        for node, (own, leaving) in enumerate(zip(graph.terminals, graph.exit_terminals))
    ]
    kinds: dict[tuple, set[Turn]] = {}
    for node, key in enumerate(keys):
        kinds.setdefault(key, set()).update(turns[node])
    if groups:
        for key, made in kinds.items():
            made |= group_turns(*key[:2], every=every)
    shapes = {
        key: RouterShape.of(
            *key,
            turns=made,
            choice=relation.choice,
            equal_choices=relation.equal_choices,
            classes=classes,
        )
        for key, made in kinds.items()
    }
    return [shapes[key] for key in keys]
