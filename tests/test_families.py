"""Families of networks: one folder or file each, found by itself."""

import subprocess
import sys
from pathlib import Path

from multicube import hdl
from multicube.hdl import FAMILIES, build
from multicube.hdl.catalogue.discovery import ENTRIES

WHEEL = '''"""Wheels: a ring, and a hub that all its nodes are linked to."""

from dataclasses import dataclass

from ..fabric.parameter_fields import integer
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group


@dataclass(frozen=True)
class Wheel(Graph):
    rim: int = integer(8, "nodes of the rim", least=3, most=64)

    @property
    def nodes(self):
        return self.rim + 1

    def links(self):
        for node in range(self.rim):
            yield Link(node, 0, (node + 1) % self.rim, 1)
            yield Link(node, 1, (node - 1) % self.rim, 0)
            yield Link(node, 2, self.rim, node)
            yield Link(self.rim, node, node, 2)


FAMILIES = (GraphFamily("wheel", "a ring and a hub", Wheel, Group.STATIC, {"rim": 5}, ("hub",)),)
'''


def test_a_topology_is_one_file(tmp_path: Path) -> None:
    """It is in the catalogue, carries packets, is pickled as its parameters, and is listed."""
    (tmp_path / "wheel_graph.py").write_text(WHEEL)
    code = f"""
import pickle
from multicube.hdl import families
families.__path__.append({str(tmp_path)!r})
from multicube.hdl import build
from multicube.sim import simulate
from multicube.sim.command import main
network = build("hub rim=5")
assert str(network).startswith("wheel rim=5 "), network
assert str(pickle.loads(pickle.dumps(network))) == str(network)
assert network.relation.diameter == 2
result = simulate(network, load=0.2, cycles=100, warmup=0, engine="amaranth")
assert result.delivered == result.injected > 0
main(["list", "wheel"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert "a ring and a hub" in done.stdout


def test_every_family_is_found_once() -> None:
    names = [entry.name for entry in ENTRIES]
    assert len(names) == len(set(names))
    assert set(names) == {name for name, family in FAMILIES.items() if family.preset is None}
    for path in (Path(__file__).parent.parent / "hdl/families").rglob("*.py"):
        if "\nFAMILIES" in path.read_text():
            assert path.stem.endswith(("_graph", "_network")), f"{path} is not looked at"


def test_the_network_of_a_graph_is_an_ordinary_class() -> None:
    kind = hdl.CompleteNetwork
    assert isinstance(build("complete", nodes=4), kind)
    assert kind.__name__ == "CompleteNetwork"
    assert kind(4).digest == build("complete nodes=4").digest
