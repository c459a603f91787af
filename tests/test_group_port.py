# amaranth: UnusedElaboratable=no
"""Tables of groups that ports of the network write, while it runs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Call
from group_traffic import Traffic
from multicube.hdl import AxiStreamNetwork, build
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.graphs.partitions import Partition
from multicube.hdl.graphs.routing.group_tree import Kind
from multicube.hdl.networks.group_port import GroupPortNetwork
from multicube.hdl.networks.partitioned import PartitionedNetwork
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.verilator import VerilatorEngine
from refusals import refusals
from scripted_terminals import records_of, scripted

NETWORK = build("mesh", k=2, group_entries=2, length="1:5", patience=20)


def write(engine: Any, rows: list[dict[str, int]]) -> None:
    for row in rows:
        for name, value in row.items():
            engine.set(name, value)
        engine.set("group_write", 1)
        engine.step(1)
    engine.set("group_write", 0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [CompiledEngine, AmaranthEngine])
def test_groups_are_written_while_running(kind: type[Any]) -> None:
    """Group 1 as built, from terminal 1 to all, and then from 3 to 0 and 2; group 0 stays."""
    first = Traffic(NETWORK, {1: (1, range(4)), 0: (0, range(4))})
    first.multicast(1, [1, 2])
    later = Traffic(NETWORK, {1: (3, [0, 2]), 0: (0, range(4))})
    later.multicast(1, [3, 4, 5])
    later.reduce(1, {0: [10, 20], 2: [7, 8]}, around=True)
    later.multicast(0, [6])
    scripts = [one + other for one, other in zip(first.scripts, later.scripts)]
    scripts = [own + [0] * (8 - len(own)) for own in scripts]
    ported = GroupPortNetwork(NETWORK)
    ends = SimpleNamespace(fabric=ported.fabric, packet=NETWORK.packet)
    limits = list("abcd")
    with kind(scripted(ends, scripts, 16, waits=False, limits=limits)) as engine:
        for traffic in first, later:
            write(engine, ported.rows({1: traffic.groups[1]}))
            before = [len(own) for own in first.scripts] if traffic is later else [0] * 4
            for name, own, sent in zip(limits, traffic.scripts, before):
                engine.set(name, sent + len(own))
            engine.step(40)
        records = records_of(engine, 4)
    for record, one, other in zip(records, first.expected, later.expected):
        arrived = [*first.packets_of(record)]
        assert sorted(arrived) == sorted((one + other).elements())
    assert [kind for kind, *_ in first.packets_of(records[3])] == [Kind.MULTICAST] * 2


@pytest.mark.long
def test_verilog_has_the_ports() -> None:
    ported = GroupPortNetwork(NETWORK)
    word = NETWORK.packet.const({"tag": 1, "kind": Kind.MULTICAST, "payload": 77, "last": 1})
    with VerilatorEngine(ported.fabric) as engine:
        write(engine, ported.rows({1: (3, [0, 2])}))
        for terminal in range(4):
            engine.set(f"o__{terminal}__ready", 1)
        engine.set("i__3__payload", word.as_value().value)
        engine.set("i__3__valid", 1)
        engine.step(1)
        engine.set("i__3__valid", 0)
        heard = set()
        for _ in range(8):
            outputs = [Pin(None, ("o", terminal, "valid")) for terminal in range(4)]
            heard |= {terminal for terminal, pin in enumerate(outputs) if engine.get(pin)}
            engine.step(1)
    assert heard == {0, 2}


@pytest.mark.parametrize("words", ["mesh k=2 length=4", "hypercube n=2 length=4"])
def test_groups_over_axi_streams(words: str) -> None:
    """The kind of a packet is in `tuser`; for a group `tdest` is its number, also with XOR tags."""
    ported = GroupPortNetwork(AxiStreamNetwork(build(words, group_entries=4, payload=8)))
    heard: dict[int, list[tuple[int, ...]]] = {terminal: [] for terminal in range(4)}
    with CompiledEngine(ported.fabric) as engine:
        write(engine, ported.rows({2: (3, [0, 1, 2])}))
        for terminal in range(4):
            engine.set(f"m_axis_{terminal}_tready", 1)

        def send(kind: Kind, destination: int, values: dict[int, list[int]]) -> None:
            left = {terminal: [*own] for terminal, own in values.items()}
            for _ in range(20):
                taken = []
                for terminal, own in left.items():
                    port = f"s_axis_{terminal}"
                    engine.set(f"{port}_tvalid", bool(own))
                    beat = {"tdata": own[:1] or [0], "tlast": [len(own) == 1]}
                    beat |= {"tuser": [kind], "tdest": [destination]}
                    for name, (value,) in beat.items():
                        engine.set(f"{port}_{name}", value)
                    if own and engine.get(Pin(None, (f"{port}_tready",))):
                        taken.append(own)
                for terminal, arrived in heard.items():
                    names = ("tvalid", "tdata", "tdest", "tlast", "tuser")
                    pins = [Pin(None, (f"m_axis_{terminal}_{name}",)) for name in names]
                    valid, *beat = map(engine.get, pins)
                    arrived += [tuple(beat)] if valid else []
                engine.step(1)
                for own in taken:
                    del own[0]

        send(Kind.MULTICAST, 2, {3: [7, 8]})
        send(Kind.REDUCE, 2, {0: [10, 20], 1: [1, 2], 2: [100, 0]})
        send(Kind.ALL_REDUCE, 2, {0: [1], 1: [2], 2: [4]})
        send(Kind.SINGLE, 1, {0: [5]})
    copy, merged = Kind.MULTICAST + 4 * 2, Kind.REDUCE + 4 * 2
    to_all = [(7, 0, copy), (8, 1, copy), (7, 1, copy)]
    expected = {0: to_all, 1: to_all, 2: to_all, 3: [(111, 0, merged), (22, 1, merged)]}
    for terminal, beats in heard.items():
        assert {destination for _, destination, *_ in beats} <= {terminal}
        groups = [(data, last, user) for data, _, last, user in beats if user & 3]
        assert groups == expected[terminal]
        own = [(data, last) for data, _, last, user in beats if not user & 3]
        assert own == ([(5, 1)] if terminal == 1 else [])


def test_rows_stay_in_parts() -> None:
    """Ports of masks and of tables, side by side."""
    network = build("hypercube", n=2, group_entries=4)
    ported = GroupPortNetwork(PartitionedNetwork(network))
    assert {"mask", "group_write", "group_merges"} < {*ported.signature.members}
    parts = Partition.of_members(4, [[0, 1], [2, 3]])
    rows = ported.rows({1: (0, [0, 1])}, parts)
    assert {row["group_node"] for row in rows if row["group_copies"]} == {0, 1}
    with pytest.raises(ValueError, match=r"^Members of group 1 must be in the subnetwork"):
        ported.rows({1: (0, [0, 2])}, parts)


test_networks_without_groups_are_refused = refusals(
    GroupPortNetwork,
    (build("mesh", k=2), "Ports for groups need a network with group_entries=1 or more"),
    (
        AxiStreamNetwork(build("cube", ports=4)),
        "Ports for groups need a network with group_entries=1 or more",
    ),
)


@pytest.mark.long
def test_export_with_ports_for_groups(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mesh.v"
    given = ("export", "mesh", "k=2", "n=1", "group_entries=2", "reduction=none")
    assert call(*given, "--group-port", "-o", str(file))[0] == 0
    for port in ("group_write", "group_node", "group_number", "[1:0] group_copies"):
        assert f"  input {port}" in file.read_text()
    status, _, said = call(*given, "--group-port", "--node", "-o", str(file))
    assert status == 2
    assert len(said.splitlines()) == 1


def test_a_port_for_groups_needs_initial_values(call: Call, tmp_path: Path) -> None:
    given = ("export", "mesh", "k=2", "n=1", "group_entries=2", "--group-port", "--no-initial")
    says = "Option --group-port does not go with --no-initial"
    call(*given, "-o", str(tmp_path / "mesh.v")).refuses(says)
