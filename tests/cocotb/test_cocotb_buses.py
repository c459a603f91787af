"""Networks with AXI4 and Wishbone ports in Icarus, driven by cocotbext-axi and -wishbone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import AXI_CLOCK, build, write_verilog
from multicube.hdl.networks.buses import AxiNetwork, WishboneNetwork

pytest.importorskip("cocotbext.axi")
SEED = 20261123

NETWORKS: dict[str, tuple[str, dict[str, Any], int | None]] = {
    "combining": ("combining", {"ports": 4, "rows": 32, "hashing": "polynomial"}, None),
    "cube": ("cube", {"ports": 4, "payload": 32}, 32),
    "torus": ("torus", {"k": 4, "n": 1, "payload": 64, "latency": 2}, 16),
    "combining-long": ("combining", {"ports": 8, "rows": 32, "lengths": "1:3", "beats": 2}, None),
    "processor-memory": ("processor-memory", {"ports": 4, "width": 32, "rows": 32}, None),
    "hypercube": ("hypercube", {"n": 3, "payload": 16}, 64),
    "circuit": ("cube", {"ports": 4, "payload": 32, "switch": "circuit"}, 32),
    "four-kilobytes": ("cube", {"ports": 2, "payload": 32}, 1024),
    "radix-4": ("omega", {"ports": 4, "radix": 4, "payload": 8, "switch": "wormhole"}, 128),
}


def _environment(network: AxiNetwork | WishboneNetwork) -> dict[str, str]:
    lanes = network.data // 8
    size = network.ports * network.memory.memory_rows * lanes
    return {"COUNT": str(network.ports), "BYTES": str(size), "LANES": str(lanes)}


def _cases(*quick: str) -> list[Any]:
    """All networks; those that are not quick are for long runs only."""
    return [case if case in quick else long(case) for case in NETWORKS]


@pytest.mark.long
@pytest.mark.parametrize("case", _cases("combining"))
def test_axi4(case: str, tmp_path: Path, compile_bench: Callable[..., Any]) -> None:
    family, parameters, rows = NETWORKS[case]
    network = AxiNetwork(build(family, **parameters), rows=rows)
    write_verilog(network.fabric, tmp_path / "network.v", clock=AXI_CLOCK)
    bench = compile_bench("icarus", tmp_path / "network.v")
    print(f"seed {SEED}")
    assert bench.run("axi4", _environment(network), SEED, module="bus_traffic") is None


MASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "cube": ("cube", {"ports": 4, "payload": 32, "broadcast": 1}),
    "xor": ("omega", {"ports": 8, "payload": 16, "broadcast": 1, "routing": "xor"}),
    "worms": ("omega", {"ports": 4, "payload": 32, "broadcast": 1, "switch": "wormhole"}),
    "dcsh": ("dcsh", {"k": 4, "n": 1, "payload": 8, "broadcast": 1}),
}


@pytest.mark.parametrize("case", MASKED)
@pytest.mark.long
def test_masks_of_axi4(case: str, tmp_path: Path, compile_bench: Callable[..., Any]) -> None:
    """Writes to several modules at once, one response each; all managers at the same time."""
    family, parameters = MASKED[case]
    network = AxiNetwork(build(family, **parameters), rows=16)
    write_verilog(network.fabric, tmp_path / "network.v", clock=AXI_CLOCK)
    bench = compile_bench("icarus", tmp_path / "network.v")
    print(f"seed {SEED}")
    assert bench.run("masks", _environment(network), SEED, module="bus_traffic") is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "rounds", "reorder"),
    [
        ("four-kilobytes", 2, True),
        *(long(case, 12, reorder) for case in NETWORKS for reorder in (False, True)),
    ],
)
def test_bursts_of_axi4(
    case: str, rounds: int, reorder: bool, tmp_path: Path, compile_bench: Callable[..., Any]
) -> None:
    """Bursts of all kinds that wrap, are narrow or not aligned, or end at 4 kB, of several
    identities at a time."""
    family, parameters, rows = NETWORKS[case]
    network = AxiNetwork(build(family, **parameters), rows=rows, reorder=reorder)
    write_verilog(network.fabric, tmp_path / "network.v", clock=AXI_CLOCK)
    bench = compile_bench("icarus", tmp_path / "network.v")
    print(f"seed {SEED}")
    environment = {**_environment(network), "ROUNDS": str(rounds)}
    assert bench.run("corners", environment, SEED, module="burst_traffic") is None


@pytest.mark.long
@pytest.mark.parametrize("reorder", [False, True])
def test_overtaking_of_axi4(
    reorder: bool, tmp_path: Path, compile_bench: Callable[..., Any]
) -> None:
    """With `AxiMaster` of cocotbext-axi, whose answers of one identity must be in order."""
    ring = build("torus", k=4, n=1, payload=32, latency=2)
    network = AxiNetwork(ring, rows=16, reorder=reorder)
    write_verilog(network.fabric, tmp_path / "network.v", clock=AXI_CLOCK)
    bench = compile_bench("icarus", tmp_path / "network.v")
    print(f"seed {SEED}")
    environment = {**_environment(network), "REORDER": str(int(reorder))}
    assert bench.run("overtaking", environment, SEED, module="bus_traffic") is None


@pytest.mark.parametrize("case", _cases("combining"))
@pytest.mark.long
def test_wishbone(case: str, tmp_path: Path, compile_bench: Callable[..., Any]) -> None:
    pytest.importorskip("cocotbext.wishbone")
    family, parameters, rows = NETWORKS[case]
    network = WishboneNetwork(build(family, **parameters), rows=rows)
    write_verilog(network.fabric, tmp_path / "network.v")
    bench = compile_bench("icarus", tmp_path / "network.v")
    print(f"seed {SEED}")
    assert bench.run("wishbone", _environment(network), SEED, module="bus_traffic") is None
