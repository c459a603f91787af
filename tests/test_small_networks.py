# amaranth: UnusedElaboratable=no
"""The smallest networks of all kinds of switch: cycles without waiting, and their Verilog."""

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import MultistageNetwork, write_verilog
from multicube.sim import Trace, TracePacket, simulate
from verilog_tools import assert_lint_free, check_with_yosys


def one(stages: int, flits: int) -> int:
    return stages


def cut(stages: int, flits: int) -> int:
    return stages + flits - 1


def whole(stages: int, flits: int) -> int:
    return stages * flits


def later(stages: int, flits: int) -> int:
    return stages + flits


# Parameters, and the cycles that a packet of so many flits takes through so many stages.
KINDS: dict[str, tuple[dict[str, Any], Callable[[int, int], int]]] = {
    "unbuffered": ({"switch": "unbuffered"}, one),
    "resubmitting": ({"switch": "unbuffered", "resubmit": 8}, one),
    "dilated": ({"switch": "unbuffered", "dilation": 2}, one),
    "dilated and replicated": (
        {"switch": "unbuffered", "dilation": 2, "replication": 2, "resubmit": 4},
        one,
    ),
    "dilated output queues": ({"dilation": 2}, one),
    "dilated input queues": ({"switch": "input-queued", "dilation": 3, "broadcast": 1}, one),
    "replicated": ({"switch": "unbuffered", "replication": 2, "routing": "xor"}, one),
    "single-buffered": ({"switch": "single-buffered"}, one),
    "input-queued": ({"switch": "input-queued", "broadcast": 1, "refill": "no"}, one),
    "output-queued": ({"switch": "output-queued", "replication": 3}, one),
    "extra stage": ({"extra_stage": 1, "parity": "byte", "payload": 20}, one),
    "wormhole": ({"switch": "wormhole", "depth": 2, "routing": "xor"}, cut),
    "wormhole, depth 1": ({"switch": "wormhole", "depth": 1, "refill": "yes"}, cut),
    "rejecting": ({"switch": "wormhole", "policy": "drop", "resubmit": 4}, later),
    "cut-through": ({"switch": "cut-through", "depth": 3}, cut),
    "crosspoints": ({"switch": "cut-through", "queues": "crosspoint", "replication": 2}, cut),
    "store-and-forward": ({"switch": "store-and-forward"}, whole),
    "store-and-forward, crosspoints": (
        {"switch": "store-and-forward", "queues": "crosspoint"},
        whole,
    ),
    "circuit": ({"switch": "circuit"}, later),
    "circuit, dilated": ({"switch": "circuit", "dilation": 2}, later),
    "circuit, two copies": (
        {"switch": "circuit", "policy": "modified-hold", "dilation": 2, "replication": 2},
        later,
    ),
    "circuit, dropping": ({"switch": "circuit", "policy": "drop", "routing": "xor"}, later),
    "circuit, extra stage": (
        {"switch": "circuit", "policy": "modified-hold", "hold_limit": 1, "extra_stage": 1},
        later,
    ),
}

# One of each way to buffer, and to deal with who loses; the others are made of the same parts.
QUICK = (
    *("unbuffered", "dilated", "single-buffered", "input-queued"),
    *("wormhole", "cut-through", "circuit"),
)
OTHERS = tuple(kind for kind in KINDS if kind not in QUICK)


@pytest.mark.one_in(16)
@pytest.mark.parametrize(
    ("kind", "stages"),
    [
        case if case[1] == (2 if case[0] in QUICK else 1) else long(*case)
        for case in itertools.product(KINDS, (1, 2, 3))
    ],
)
def test_cycles_of_a_packet_alone(kind: str, stages: int) -> None:
    """Exactly, from being offered to the tail's delivery; two packets of each length."""
    given, latency = KINDS[kind]
    ports = 2**stages
    lengths = (1,) if latency is one else (1, 3)
    network = MultistageNetwork(ports, **given, length=f"{lengths[0]}:{lengths[-1]}")
    pairs = [(0, ports - 1, lengths[0]), (ports - 1, ports // 2, lengths[0])]
    pairs += [(ports // 2, 0, lengths[-1]), (1, 1, lengths[-1])]
    packets = tuple(TracePacket(15 * number, *pair) for number, pair in enumerate(pairs))
    result = simulate(network, traffic=Trace("apart", packets), bins=16, engine="amaranth")
    expected = Counter(latency(stages, packet.length) for packet in packets)
    for latencies in (result.latency, result.network_latency):
        assert {n: count for n, count in enumerate(latencies.histogram) if count} == expected
    assert (result.dropped, result.attempts) == (0, 1)


@pytest.fixture(
    scope="module", params=[QUICK[1::2], long((*QUICK[::2], *OTHERS))], ids=["quick", "others"]
)
def exported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Networks of some kinds with four ports as Verilog files, `network` on top."""
    folder = tmp_path_factory.mktemp("exported")
    paths = {kind: folder / f"network_{number}.v" for number, kind in enumerate(request.param)}
    for kind, path in paths.items():
        given, latency = KINDS[kind]
        length = {} if latency is one else {"length": "1:3"}
        write_verilog(MultistageNetwork(4, **given, **length).fabric, path)
    return paths


@pytest.mark.long
def test_verilators_linter_has_nothing_to_say(exported: dict[str, Path]) -> None:
    assert_lint_free(exported.values())


def test_yosys_reads_and_checks_it(exported: dict[str, Path]) -> None:
    check_with_yosys(list(exported.values()))
