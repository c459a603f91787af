"""Networks with AXI4-Stream ports, driven by cocotbext-axi in Icarus."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import AXI_CLOCK, AxiStreamNetwork, PacketNetwork, build, write_verilog

pytest.importorskip("cocotbext.axi")
SEED = 20260731

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "output-queued": ("cube", {"ports": 2, "payload": 24}),
    "wormhole-xor": (
        "omega",
        {"ports": 4, "switch": "wormhole", "routing": "xor", "payload": 20, "length": "1:4"},
    ),
}
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "cube": ("cube", {"ports": 8, "payload": 24}),
    "omega": (
        "omega",
        {"ports": 8, "switch": "wormhole", "routing": "xor", "payload": 20, "length": "1:4"},
    ),
    "torus": ("torus", {"k": 3, "n": 2, "payload": 32, "length": "1:4"}),
    "hypercube": ("hypercube", {"n": 3, "payload": 16, "length": "1:3"}),
    "single-buffered": ("cube", {"ports": 8, "switch": "single-buffered", "payload": 24}),
    "input-queued-radix-3": ("cube", {"ports": 9, "radix": 3, "switch": "input-queued"}),
    "broadcast": ("cube", {"ports": 8, "routing": "xor", "broadcast": 1, "payload": 24}),
    "replicated": ("cube", {"ports": 4, "switch": "wormhole", "length": "1:4", "replication": 2}),
    "resubmitting": ("cube", {"ports": 8, "switch": "unbuffered", "resubmit": 8}),
    "rejecting": ("cube", {"ports": 8, "switch": "wormhole", "policy": "drop", "length": "1:4"}),
    "cut-through": ("cube", {"ports": 8, "switch": "cut-through", "length": "1:4"}),
    "crosspoint": (
        "cube",
        {"ports": 8, "switch": "cut-through", "length": "1:4", "queues": "crosspoint"},
    ),
    "circuit": ("cube", {"ports": 8, "switch": "circuit", "length": "1:4", "payload": 24}),
    "extra-stage": ("cube", {"ports": 8, "extra_stage": 1, "routing": "xor", "payload": 24}),
    "adaptive-hypercube": ("hypercube", {"n": 3, "routing": "adaptive", "length": "1:3"}),
    "connection-machine": ("connection-machine", {"n": 2, "processors": 2, "schedule": "parallel"}),
    "dcsh": ("dcsh", {"k": 3, "n": 2, "length": "1:4"}),
    "dcsh-broadcast": ("dcsh", {"k": 2, "n": 3, "length": "1:4", "depth": 8, "broadcast": 1}),
}
GAPS = {
    "replicated",
    "resubmitting",
    "rejecting",
    "circuit",
    "adaptive-hypercube",
    "connection-machine",
}
"""Networks that pause between packets, or that choose paths which may meet others: with these ports
or without."""


def _export(folder: Path, case: str, network: PacketNetwork) -> dict[str, str]:
    write_verilog(AxiStreamNetwork(network).fabric, folder / "network.v", clock=AXI_CLOCK)
    terminals = range(network.ports)
    shift = [(t + 1) % network.ports for t in terminals]
    return {
        "PORTS": str(folder / "network.v.json"),
        "ADDRESSES": json.dumps([network.tags.code.encode(t) for t in terminals]),
        "BEATS": str(network.lengths[1]),
        "ORDERED": str(int(network.ordered)),
        "GAPLESS": json.dumps([] if case in GAPS else [list(terminals), shift]),
    }


@pytest.mark.one_in(2)
@pytest.mark.parametrize("case", [*CASES, *(long(case) for case in MORE)])
def test_axi4_stream(case: str, tmp_path: Path, compile_bench: Callable[..., Any]) -> None:
    family, parameters = (CASES | MORE)[case]
    environment = _export(tmp_path, case, build(family, **parameters))
    bench = compile_bench("icarus", tmp_path / "network.v")
    print(f"seed {SEED}")
    assert bench.run("axi4_stream", environment, SEED, module="axis_traffic") is None


@pytest.mark.long
def test_monitor_sees_an_output_that_waits_to_be_ready(
    tmp_path: Path, compile_bench: Callable[..., Any]
) -> None:
    """All copies of a broadcast leave a node at once: without the queue `tvalid` is late."""
    network = build("dcsh", k=2, n=1, broadcast=1)
    network.transparent = False
    environment = _export(tmp_path, "dcsh", network)
    bench = compile_bench("icarus", tmp_path / "network.v")
    trouble = bench.run("axi4_stream", environment, SEED, module="axis_traffic")
    assert trouble is not None
    assert "waits for tready" in trouble
