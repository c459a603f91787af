"""Exported networks of 8 terminals, driven by cocotb in Verilator and Icarus."""

import itertools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driving import transport
from long_runs import long
from multicube.hdl import PacketNetwork, build, write_verilog
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine

SEED = 20240607
SIMULATORS = ["verilator", "icarus"]

CASES = {
    "output-queued-destination": {"switch": "output-queued", "routing": "destination", "depth": 4},
    "input-queued-xor": {"switch": "input-queued", "routing": "xor", "depth": 2},
    "wormhole-xor": {"switch": "wormhole", "routing": "xor", "depth": 2, "length": "1:3"},
}
WORMS = {
    "torus": {"k": 8, "n": 1, "decision": 2, "depth": 2, "length": "1:3"},
    "dcsh": {"k": 2, "n": 3, "decision": 2, "depth": 2, "length": "1:3"},
}
MACHINES = {
    "connection-machine": {"n": 2, "processors": 2, "buffers": 2},
    "connection-machine-dimension": {
        "n": 2,
        "processors": 2,
        "buffers": 1,
        "schedule": "dimension",
    },
}


def _network(case: str) -> PacketNetwork:
    """Of 8 terminals."""
    if case in MACHINES:
        return ConnectionMachine(payload=24, **MACHINES[case])
    if case in WORMS:
        return build(case, payload=24, **WORMS[case])
    return build("cube", ports=8, payload=24, **CASES[case])


def _export(folder: Path, case: str) -> tuple[Path, dict[str, str]]:
    verilog = folder / "network.v"
    network = _network(case)
    write_verilog(network.fabric, verilog)
    return verilog, {
        "PORTS": f"{verilog}.json",
        "ROUTING": network.tags.routing,
        "FLITS": str(network.lengths[1]),
        "ORDERED": str(int(network.ordered)),
    }


def _recording(case: str) -> list[dict[str, Any]]:
    network = _network(case)
    rng = random.Random(SEED)
    trace = transport(
        network,
        cycles=300,
        offer=lambda port, cycle: (
            rng.getrandbits(network.packet.size) if rng.random() < 0.8 else None
        ),
        ready=lambda port, cycle: rng.random() < 0.7,
    )
    keys = ("offered", "accepted", "shown", "ready")
    return [{key: getattr(cycle, key) for key in keys} for cycle in trace]


RUNS = [
    *itertools.product(["output-queued-destination"], SIMULATORS),
    ("input-queued-xor", "icarus"),  # the faster to compile
    ("wormhole-xor", "icarus"),
    *((family, "icarus") for family in WORMS),
    *((machine, "icarus") for machine in MACHINES),
]
FAST = ("wormhole-xor",)


@pytest.mark.parametrize(
    ("case", "simulator"), [run if run[0] in FAST else long(*run) for run in RUNS]
)
def test_exported_network_carries_all_packets_and_keeps_amaranths_time(
    case: str, simulator: str, tmp_path: Path, compile_bench: Callable[..., Any]
) -> None:
    verilog, environment = _export(tmp_path, case)
    bench = compile_bench(simulator, verilog)
    recording = tmp_path / "recording.json"
    recording.write_text(json.dumps(_recording(case)))
    print("seed", SEED)
    assert bench.run("every_packet_arrives", environment, SEED) is None
    environment["RECORDING"] = str(recording)
    assert bench.run("follows_the_recording", environment, SEED) is None


# Mistakes in the wiring of the top, as (text, replacement) pairs, and what the books say of them.
MISTAKES = {
    "two payloads swapped": (
        [
            (".i__0__payload(box_0_0__o__0__payload)", ".i__0__payload(SWAP)"),
            (".i__1__payload(box_0_2__o__0__payload)", ".i__1__payload(box_0_0__o__0__payload)"),
            ("SWAP", "box_0_2__o__0__payload"),
        ],
        "not due|arrived at",
    ),
    "back-pressure ignored": (
        [(".o__0__ready(box_1_0__i__0__ready)", ".o__0__ready(1'b1)")],
        "lost|not due",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("mistake", [long("two payloads swapped"), "back-pressure ignored"])
def test_a_mistake_in_the_wiring_is_found(
    mistake: str, tmp_path: Path, compile_bench: Callable[..., Any]
) -> None:
    verilog, environment = _export(tmp_path, "output-queued-destination")
    text = verilog.read_text()
    changes, message = MISTAKES[mistake]
    for old, new in changes:
        assert text.count(old) == 1, f"{old} is no longer in the text"
        text = text.replace(old, new)
    verilog.write_text(text)
    simulator = "icarus" if shutil.which("iverilog") else "verilator"  # the faster to compile
    failure = compile_bench(simulator, verilog).run("every_packet_arrives", environment, SEED)
    assert failure is not None, "the scoreboard did not see it"
    assert any(word in failure for word in message.split("|")), failure
