"""An exported node of the Connection Machine, driven by cocotb through its wires."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from long_runs import long
from multicube.hdl import write_verilog
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine

SEED = 20240607


def export(folder: Path) -> Path:
    verilog = folder / "network.v"
    machine = ConnectionMachine(3, processors=2, buffers=2, payload=16, age=4, schedule="parallel")
    write_verilog(Fabric.alone(machine.node), verilog)
    return verilog


@pytest.mark.parametrize("simulator", [long("icarus"), long("verilator")])
def test_node_alone(simulator: str, tmp_path: Path, compile_bench: Callable[..., Any]) -> None:
    verilog = export(tmp_path)
    bench = compile_bench(simulator, verilog)
    environment = {"PORTS": f"{verilog}.json"}
    print("seed", SEED)
    for test in ("messages_come_and_go", "nothing_is_lost"):
        assert bench.run(test, environment, SEED, module="node_traffic") is None


@pytest.mark.long
def test_a_node_that_takes_too_much_is_found(
    tmp_path: Path, compile_bench: Callable[..., Any]
) -> None:
    """A mistake in the wiring: its processors' packets count as taken when they are not."""
    verilog = export(tmp_path)
    text = verilog.read_text()
    ready = "assign i__1__ready = alone__i__1__ready;"
    assert text.count(ready) == 1, f"{ready} is no longer in the text"
    verilog.write_text(text.replace(ready, "assign i__1__ready = 1'b1;"))
    bench = compile_bench("icarus", verilog)
    environment = {"PORTS": f"{verilog}.json"}
    assert bench.run("nothing_is_lost", environment, SEED, module="node_traffic") is not None
