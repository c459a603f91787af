"""Whether what some terminals of a network do changes what others see, in any cycle."""

import random
from collections.abc import Callable, Iterable

from amaranth.lib.wiring import In
from multicube.hdl.fabric.cell import Leaf
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Path, Pin
from multicube.hdl.graphs.partitions import Subnetwork
from multicube.sim.engines.compiled import CompiledEngine

__all__ = ["BEHAVIOURS", "Disturbed"]

BEHAVIOURS = ("idle", "random", "stalled")
"""What the other terminals do: nothing; anything, even what no stream may; send and never take."""


class Disturbed:
    """A partitioned network in as many runs as there are `BEHAVIOURS`.

    The terminals of a part do the same in all runs: they offer random packets or requests, keep
    them until they are taken, and take what comes in random cycles.
    """

    def __init__(
        self,
        network: FabricComponent,
        part: Iterable[int],
        seed: int,
        payload: Callable[[random.Random, int], int] | None = None,
    ) -> None:
        """`payload` draws what a terminal of the part sends; by default it is any bits."""
        print(f"seed {seed}")
        self.generator = random.Random(seed)
        self.part = set(part)
        self.payload = payload
        self.load = 0.5
        self.runs = range(len(BEHAVIOURS))
        self.engine = CompiledEngine([_plain(network.fabric)] * len(BEHAVIOURS))
        # Links of terminals have paths such as ("i", 0, "valid").
        leaves = {path: leaf for path, leaf in network.fabric.boundary.items() if len(path) > 1}
        self.inputs = {path: leaf for path, leaf in leaves.items() if leaf.flow == In}
        self.watched = [path for path in leaves if path[1] in self.part]
        self.offered: dict[Path, int] = {}

    def write(self, part: Subnetwork) -> None:
        """Set the masks of a subnetwork."""
        self.engine.set("mask", part.mask)
        self.engine.set("mask_member", part.value)
        self.engine.set("mask_write", 1)
        self.engine.step(1)
        self.engine.set("mask_write", 0)

    def get(self, path: Path, run: int = 0) -> int:
        return self.engine.get(Pin(None, (_name(path),)), run)

    def seen(self, cycles: int) -> list[list[dict[Path, int]]]:
        """By run and cycle: what the part sees, and does. Payloads count only while valid."""
        seen: list[list[dict[Path, int]]] = [[] for _ in self.runs]
        for _ in range(cycles):
            self._offer()
            for path, leaf in self.inputs.items():
                own = self._own(path) if path[1] in self.part else None
                for run, behaviour in enumerate(BEHAVIOURS):
                    value = self._other(path, leaf, behaviour) if own is None else own
                    self.engine.set(_name(path), value, run)
            for run in self.runs:
                values = {path: self.get(path, run) for path in self.watched}
                valid = {
                    path[:-1] for path, value in values.items() if path[-1] == "valid" and value
                }
                seen[run].append(
                    {p: v for p, v in values.items() if p[-1] != "payload" or p[:-1] in valid}
                )
            taken = [path[:-1] for path in self.offered if path[-1] == "valid"]
            for link in taken:
                if self.get((*link, "ready")):
                    del self.offered[*link, "valid"], self.offered[*link, "payload"]
            self.engine.step(1)
        return seen

    def _offer(self) -> None:
        """Let some terminals of the part that offer nothing begin to."""
        for path, leaf in self.inputs.items():
            *link, name = path
            if name != "payload" or path[1] not in self.part or path in self.offered:
                continue
            if self.generator.random() < self.load:
                bits = self.generator.getrandbits(leaf.width)
                value = self.payload(self.generator, int(path[1])) if self.payload else bits
                self.offered.update({path: value, (*link, "valid"): 1})

    def _own(self, path: Path) -> int:
        if path[-1] == "ready":
            return int(self.generator.random() < 0.8)
        return self.offered.get(path, 0)

    def _other(self, path: Path, leaf: Leaf, behaviour: str) -> int:
        if behaviour == "idle":
            return int(path[-1] == "ready")
        if path[-1] == "payload" or behaviour == "random":
            return self.generator.getrandbits(leaf.width)
        return int(path[-1] == "valid")


def _name(path: Path) -> str:
    return "_".join(map(str, path))


def _plain(given: Fabric) -> Fabric:
    """The same cells with a port for each leaf of the boundary, such as `i_0_valid`."""
    fabric = Fabric({_name(path): leaf.flow(leaf.shape) for path, leaf in given.boundary.items()})
    for cell in given.cells.values():
        fabric.place(cell)

    def end(pin: Pin) -> Pin:
        return Pin(None, (_name(pin.path),)) if pin.cell is None else pin

    for receiver, driver in given.drivers.items():
        fabric.link(end(driver), end(receiver))
    return fabric
