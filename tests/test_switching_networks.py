# amaranth: UnusedElaboratable=no
"""All kinds of switch keep the same promises as a network."""

import itertools
import random
import re
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.network_records import Terminals
from multicube.sim import Run, SimulationError, Trace, TracePacket, simulate, simulate_runs
from multicube.sim.workload.traffic import pattern

SEED = 31

# Every kind of switch, every policy, and every parameter once at least.
NETWORKS: dict[str, dict[str, Any]] = {
    "unbuffered": {"switch": "unbuffered"},
    "unbuffered, resubmitting": {"switch": "unbuffered", "resubmit": 8, "routing": "xor"},
    "unbuffered, dilated": {"switch": "unbuffered", "dilation": 2, "wiring": "omega"},
    "unbuffered, all at once": {
        **{"switch": "unbuffered", "dilation": 2, "replication": 2, "resubmit": 4}
    },
    "unbuffered, three copies": {"switch": "unbuffered", "replication": 3, "parity": "packet"},
    "unbuffered, broadcasting": {"switch": "unbuffered", "broadcast": 1, "routing": "xor"},
    "single-buffered": {"switch": "single-buffered", "refill": "no", "wiring": "baseline"},
    "input-queued, broadcasting": {"switch": "input-queued", "broadcast": 1, "depth": 2},
    "single-buffered, dilated": {"switch": "single-buffered", "dilation": 2, "routing": "xor"},
    "input-queued, dilated": {"switch": "input-queued", "dilation": 3, "broadcast": 1},
    "output-queued, dilated": {"dilation": 2, "depth": 1, "replication": 2, "parity": "packet"},
    "output-queued, radix 4": {"ports": 16, "radix": 4, "depth": 3, "refill": "yes"},
    "output-queued, extra stage": {
        **{"extra_stage": 1, "parity": "byte", "faults": "box:1:2"},
        **{"routing": "xor", "depth": 1},
    },
    "wormhole": {"switch": "wormhole", "length": "1:4", "depth": 2, "refill": "no"},
    "wormhole, two copies": {"switch": "wormhole", "length": 3, "replication": 2, "depth": 1},
    "wormhole, rejecting": {"switch": "wormhole", "policy": "drop", "length": "1:4"},
    "wormhole, broadcasting": {"switch": "wormhole", "length": "1:4", "broadcast": 1},
    "cut-through": {"switch": "cut-through", "length": "1:4", "routing": "xor"},
    "cut-through, broadcasting": {
        **{"switch": "cut-through", "length": "1:4", "broadcast": 1, "routing": "xor"}
    },
    "crosspoints, broadcasting": {
        **{"switch": "cut-through", "queues": "crosspoint", "length": 3, "broadcast": 1}
    },
    "cut-through, crosspoints": {"switch": "cut-through", "queues": "crosspoint", "length": 3},
    "store-and-forward": {"switch": "store-and-forward", "length": "1:4", "wiring": "omega"},
    "input-queued, long links": {
        **{"switch": "input-queued", "latency": 2, "decision": 2, "replication": 2},
        **{"parity": "packet"},
    },
    "wormhole, channels": {"switch": "wormhole", "length": "1:4", "channels": 2, "depth": 2},
    "cut-through, channels of long links": {
        **{"switch": "cut-through", "length": "1:4", "channels": 2, "latency": 3},
        **{"routing": "xor"},
    },
    "store-and-forward, deciding": {
        **{"switch": "store-and-forward", "length": 3, "decision": 3, "arbiter": "random"}
    },
    "circuit": {"switch": "circuit", "length": 3, "wiring": "butterfly"},
    "circuit, dilated": {"switch": "circuit", "length": 3, "dilation": 2},
    "circuit, dropping, dilated, two copies": {
        **{"switch": "circuit", "policy": "drop", "length": "1:4"},
        **{"dilation": 2, "replication": 2},
    },
    "circuit, modified hold, three copies": {
        **{"switch": "circuit", "policy": "modified-hold", "hold_limit": 4},
        **{"length": 2, "replication": 3, "resubmit": 4},
    },
    "circuit, dropping": {"switch": "circuit", "policy": "drop", "length": "1:4", "routing": "xor"},
    "circuit, modified hold": {
        **{"switch": "circuit", "policy": "modified-hold", "hold_limit": 4},
        **{"length": 2, "extra_stage": 1, "resubmit": 4},
    },
    "circuit, broadcasting": {"switch": "circuit", "length": "1:4", "broadcast": 1},
    "circuit, broadcasting, one word": {
        **{"switch": "circuit", "policy": "drop", "routing": "difference", "broadcast": 1},
        **{"parity": "packet"},
    },
}
BALANCED = {
    *("unbuffered, broadcasting", "cut-through", "cut-through, channels of long links"),
    *("wormhole, rejecting", "store-and-forward"),
    *("circuit, modified hold", "circuit, broadcasting, one word"),
}
"""Those whose books are examined in short test runs."""

QUICK = {"circuit, dropping"}
"""What the engines agree on in short test runs; tests/test_engines.py has input queues."""


def network_of(name: str) -> MultistageNetwork:
    return MultistageNetwork(**{"ports": 8, **NETWORKS[name]})


def runs_of(network: MultistageNetwork, cycles: int) -> list[Run]:
    """High load of all kinds: a permutation that meets itself, a hot spot, and uniform traffic."""
    first = "broadcast:0.2" if network.packet.broadcast else "uniform"
    kinds = [first, "hotspot:0.3:5", "bit-reversal"]
    load = 1.8 / sum(network.lengths)
    return [
        Run(pattern(kind, network.ports), load, cycles, 20, SEED, source_depth=16) for kind in kinds
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", [name if name in QUICK else long(name) for name in NETWORKS])
def test_engines_agree(name: str) -> None:
    network = network_of(name)
    run = runs_of(network, 40)[:1]
    records = []
    for engine in ("amaranth", "compiled"):
        (result,) = simulate_runs(network, run, engine=engine, bins=64)
        assert result.delivered > 30
        records.append(result.to_json() | {"engine": ""})
    assert records[0] == records[1]


@pytest.mark.parametrize("name", [name if name in BALANCED else long(name) for name in NETWORKS])
def test_books_balance_at_high_load(name: str) -> None:
    network = network_of(name)
    dropping = network.parameters.rejects
    print("seed", SEED)
    results = simulate_runs(network, runs_of(network, 400), engine="compiled", bins=64)
    for result in results:
        print(result.traffic, result.verdict, result.dropped)
        # Two lanes are enough for bit reversal of 8 ports.
        spare = network.parameters["dilation"] > 1 and result.traffic == "bit-reversal"
        assert result.saturated or dropping or spare
        assert (result.lost, result.misrouted, result.duplicated) == (0, 0, 0)
        assert (result.damaged, result.corrupted) == (0, 0)
        assert result.reordered == 0 or not network.ordered
        assert min(result.terminals["injected"]) > 0
        if not network.packet.broadcast:
            gone = 0 if network.resubmits else result.dropped
            assert result.injected == result.delivered + gone
        assert dropping or result.dropped == 0
        assert result.attempts >= 1
    assert sum(result.delivered for result in results) > 500
    assert (sum(result.dropped for result in results) > 100) == dropping
    assert (max(result.attempts for result in results) > 1.1) == dropping


@pytest.mark.long
@pytest.mark.parametrize("name", ["unbuffered, broadcasting", "input-queued, broadcasting"])
def test_copies_of_broadcasts_are_all_accounted_for(name: str) -> None:
    """Against the number of destinations that the masks of a trace stand for."""
    generator = random.Random(SEED)
    print("seed", SEED)
    packets = tuple(
        TracePacket(cycle, source, generator.randrange(8), mask=generator.randrange(8))
        for cycle in range(6)
        for source in range(8)
        if generator.random() < 0.7
    )
    network = network_of(name)
    result = simulate(network, traffic=Trace("masks", packets), bins=64, engine="amaranth")
    copies = sum(1 << packet.mask.bit_count() for packet in packets)
    assert result.injected == len(packets)
    assert result.delivered + result.dropped == copies
    assert (result.dropped > 0) == (name == "unbuffered, broadcasting")


# Networks that are wired wrongly: of two boxes of the first stage, the drivers of this leaf of a
# link have changed places. (A `ready` that nobody looks at, or a path granted or rejected to the
# wrong one of two, costs time but no packets.)
MISTAKES = [
    ("unbuffered", "valid"),
    ("unbuffered, resubmitting", "payload"),
    ("unbuffered, resubmitting", "valid"),
    ("unbuffered, broadcasting", "payload"),
    ("single-buffered", "ready"),
    ("output-queued, extra stage", "payload"),
    ("wormhole", "payload"),
    ("wormhole", "valid"),
    ("wormhole, two copies", "ready"),
    ("wormhole, rejecting", "reject"),
    ("wormhole, rejecting", "close"),
    ("cut-through", "ready"),
    ("cut-through, crosspoints", "payload"),
    ("wormhole, channels", "payload"),
    ("circuit", "payload"),
    ("circuit, dropping", "request"),
]


def miswired(leaf: str) -> type[MultistageNetwork]:
    """Networks with two drivers of such a leaf exchanged."""

    class Miswired(MultistageNetwork):
        def place(self, fabric: Fabric, packet: Packet | None = None) -> Terminals:
            terminals = super().place(fabric, packet)
            mistaken: dict[str | None, Pin] = {}
            for receiver, driver in fabric.drivers.items():
                cells = f"{receiver.cell} {driver.cell}"
                if receiver.path[-1] == leaf and re.fullmatch(r"(box|bypass)_\S+ box_\S+", cells):
                    mistaken.setdefault(driver.cell, receiver)
            one, other = itertools.islice(mistaken.values(), 2)
            drivers = fabric.drivers
            drivers[one], drivers[other] = drivers[other], drivers[one]
            return terminals

    return Miswired


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("name", "leaf"), MISTAKES)
def test_books_show_a_mistake_in_the_wiring(name: str, leaf: str) -> None:
    network = miswired(leaf)(**{"ports": 8, **NETWORKS[name]})
    runs = runs_of(network, 100)[:1]
    with pytest.raises(SimulationError, match=r"^The books do not balance: ") as raised:
        simulate_runs(network, runs, engine="compiled", bins=64)
    result = raised.value.result
    print(raised.value)
    assert result.delivered > 0
    if leaf == "payload" and network.packet.flits:
        assert result.damaged > 0
