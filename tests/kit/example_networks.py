# amaranth: UnusedElaboratable=no
"""A small network of each family, and of each word that one of its parameters can be."""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from long_runs import ALIKE
from multicube.hdl import FAMILIES, Network, PacketNetwork, build
from multicube.hdl.graphs.routing.relation import Relation


def every_word() -> Iterator[str]:
    """All words of networks with cells of their own; of the others, each word of one, in turn."""
    others: dict[str, list[str]] = {}
    for family in FAMILIES.values():
        for parameter in family.parameters if family.preset is None else ():
            for choice in parameter.choices:
                if choice == parameter.default or choice.isupper():
                    continue
                word = f"{parameter.name}={choice}"
                if family.name in ALIKE:
                    others.setdefault(word, []).append(family.name)
                else:
                    yield f"{family.name} {word}"
    for turn, (word, names) in enumerate(others.items()):
        yield f"{names[turn % len(names)]} {word}"


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
    """A small network: an entry's example, with one parameter as it is told."""
    name, *changes = words.split()
    given = dict(change.split("=") for change in changes)
    try:
        return build(name, **{**FAMILIES[name].example, **given})
    except ValueError as refusal:
        assert_one_line(str(refusal))
        pytest.skip(f"refused: {refusal}")


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
    """All pairs of a source and a sink."""
    return itertools.product(range(network.sources), range(network.sinks))


def skip_if_combining(network: Network) -> None:
    """Packets that become one can't be traced; `send_messages` has the books of such networks."""
    if getattr(network, "combine", "none") != "none":
        pytest.skip("packets are combined")
