# amaranth: UnusedElaboratable=no
"""A small network of each family, and of each word that one of its parameters can be."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from multicube.hdl import FAMILIES, Network, PacketNetwork, build
from multicube.hdl.graphs.routing.relation import Relation

NEEDS = {
    "policy": "switch=circuit",
    "queues=crosspoint": "switch=cut-through",
    "queues=input": "combine=none",
    "arbiter": "switch=wormhole",
    "arbiter=priority": "switch=wormhole classes=2",
    "arbiter=weighted": "switch=wormhole classes=2",
    "selection": "routing=adaptive",
    "reduction": "group_entries=2",
    "weight=latency": "routing=layered latency=3",
}
"""Without which a word, or those of a parameter, would change nothing, or be refused."""

ELSEWHERE = {
    "switch=packet": "mesh",
    "routing=shortest": "fat-tree",
    "routing=minimal": "tree",
    "routing=up-down": "cube-connected-cycles",
    "weight=latency": "express-mesh",
    **dict.fromkeys(
        ("selection=random", "selection=least-count", "selection=shortest-queue"), "hypercube"
    ),
}
"""The family of a word that does not suit the one whose turn it is."""

PLAIN = {"policy=hold", "routing=own", "weight=hops", "file=given"}
"""Words for what a network is if nothing is said."""


def every_word() -> Iterator[str]:
    """Each word of each parameter once, in one of the families that have this parameter."""
    having: dict[tuple[Any, ...], list[str]] = {}
    for family in FAMILIES.values():
        for parameter in family.parameters if family.preset is None else ():
            of = parameter.name, parameter.choices, parameter.default
            having.setdefault(of, []).append(family.name)
    for (name, choices, default), families in having.items():
        for turn, choice in enumerate(choices):
            word = f"{name}={choice}"
            if choice != default and not choice.isupper() and word not in PLAIN:
                family = ELSEWHERE.get(word, families[turn % len(families)])
                yield " ".join([family, *NEEDS.get(word, NEEDS.get(name, "")).split(), word])


WORDS = list(every_word())


ROUTERS = {
    "latency": 1,
    "decision": 1,
    "depth": 4,
    "switch": "wormhole",
    "refill": "no",
    "selection": "first-free",
    "pipeline": 0,
    "recovery": "none",
    "timeout": 16,
    "window": 4,
    "arbiter": "round-robin",
    "classes": 1,
    "weights": "",
    "allow_deadlock": 0,
    "group_entries": 0,
    "reduction": "add",
    "patience": 256,
    "payload": 16,
    "length": 1,
}
"""What routers and their packets are if nothing is said."""


@cache
def example(words: str) -> Network:
    """A small network: an entry's example, with some parameters as they are told."""
    name, *changes = words.split()
    given = dict(change.split("=") for change in changes)
    return build(name, **{**FAMILIES[name].example, **given})


def packets_of(words: str) -> PacketNetwork:
    """The same, if it is one that carries packets."""
    network = example(words)
    if not isinstance(network, PacketNetwork):
        pytest.skip("it carries requests")
    return network


def assert_one_line(text: str) -> None:
    assert re.fullmatch(r"[A-Z].{10,}[^.]", text), text


def assert_refused(outcome: Any, *parts: str) -> None:
    """Status 2, and one line that names what is wrong."""
    assert (outcome.status, outcome.out) == (2, ""), outcome
    assert outcome.err.startswith("multicube: "), outcome
    assert outcome.err.endswith("\n"), outcome
    assert_one_line(outcome.err.removeprefix("multicube: ").rstrip("\n"))
    for part in parts:
        assert part in outcome.err, outcome


def phases_of(network: Network) -> tuple[Relation, Relation] | None:
    """The routing to an intermediate terminal and from there on, if packets go by way of one."""
    return network.relation.phases if network.relation else None


def pairs_of(network: Network) -> Iterator[tuple[int, int]]:
    """All pairs of a source and a sink of its class."""
    for source in range(network.sources):
        for sink in range(source % network.classes, network.sinks, network.classes):
            yield source, sink


def skip_if_combining(network: Network) -> None:
    """Packets that become one can't be traced; `send_messages` has the books of such networks."""
    if getattr(network, "combine", "none") != "none":
        pytest.skip("packets are combined")
