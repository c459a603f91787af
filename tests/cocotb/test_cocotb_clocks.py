"""Exported networks whose terminals have clocks of their own, in Icarus."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import AXI_CLOCK, AxiStreamNetwork, TerminalClocks, build, write_verilog

pytest.importorskip("cocotbext.axi")
SEED = 20261123

CASES: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "torus": ("torus", {"k": 3, "n": 1, "length": "1:3"}, [10_000, 7_310, 23_170, 10_010]),
    "cube": ("cube", {"ports": 4}, [10_000, 3_330, 10_000, 47_110, 9_970]),
}


@pytest.mark.parametrize("case", ["torus", long("cube")])
@pytest.mark.long
def test_terminals_with_clocks(
    case: str, tmp_path: Path, compile_bench: Callable[..., Any]
) -> None:
    family, parameters, periods = CASES[case]
    network = build(family, payload=16, **parameters)
    fabric = AxiStreamNetwork(network, TerminalClocks(depth=4)).fabric
    write_verilog(fabric, tmp_path / "network.v", clock=AXI_CLOCK)
    environment = {
        "PERIODS": json.dumps(periods),
        "ADDRESSES": json.dumps([network.tags.code.encode(t) for t in range(network.ports)]),
        "BEATS": str(network.lengths[1]),
    }
    bench = compile_bench("icarus", tmp_path / "network.v")
    print(f"seed {SEED}")
    assert bench.run("terminals_with_clocks", environment, SEED, module="clocks_traffic") is None
