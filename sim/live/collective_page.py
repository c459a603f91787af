"""A page in which a network performs a collective: the tree of the group, copies and values."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from ...hdl.bench.group_bench import GroupBench
from ...hdl.fabric.diagram import Diagram
from ...hdl.fabric.pins import Pin
from ...hdl.networks.network import Network
from ..run.collective import Operation
from ..run.collective_run import collective_bench
from .design_page import Design, DesignPage

__all__ = ["CollectivePage"]


class CollectivePage(DesignPage):
    """A page in which a network performs a collective of random words, cycle by cycle.

    It shows the tree of the group over the network, copies and values on their way, which routers
    copy and merge, and what terminals have heard.

    Parameters
    ----------
    network : Network
        A network of routers.
    kind : str
        What is done: "broadcast", "reduce", "allreduce" or "barrier".
    root : int, optional
        The terminal that has, or gets, all words; by default as in `run_collective`.
    group : Sequence[int], optional
        The members; by default all terminals.
    flits : int
        Words of the vector.
    operation : str or type[wiring.Component]
        How words are folded, as in `run_collective`.

    Raises
    ------
    NoCompiler
        If the package ziglang is not installed.
    TypeError, ValueError
        If the network, or one of the arguments, does not allow it.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim.live import CollectivePage
    >>> CollectivePage(build("mesh", k=2), "reduce", root=3).title
    'reduce'
    """

    def __init__(
        self,
        network: Network,
        kind: str,
        *,
        root: int | None = None,
        group: Sequence[int] | None = None,
        flits: int = 1,
        operation: Operation = "add",
    ) -> None:
        self.collective = bench = collective_bench(
            network, kind, root=root, group=group, flits=flits, operation=operation
        )
        task = bench.task
        counts = [(bench.sources[each], "sent") for each in task.words]
        counts += [(bench.sinks[each], name) for each in task.listeners for name in _HEARD]
        super().__init__(_Pictured(bench, kind, signals=counts))

    def about(self) -> dict[str, Any]:
        bench = self.collective
        task, network = bench.task, bench.network
        copies, merges = network.group_pins(task.root, task.members)
        return super().about() | {
            "words": f"{self.title} {network}",
            "given": {"send": 1},
            "collective": {
                "root": task.root,
                "members": list(task.members),
                "senders": [bench.sources[each] for each in task.words],
                "listeners": [bench.sinks[each] for each in task.listeners],
                "flits": task.length,
                "copies": self._numbers(copies),
                "merges": self._numbers(merges),
            },
        }

    def _numbers(self, pins: Iterable[Pin]) -> list[int]:
        """The channels of the page that these drive."""
        number = {pin: place for place, pin in enumerate(self.bench.channels)}
        sources = self.collective.sources
        return [
            number[pin if pin.cell is not None else Pin(sources[int(pin.path[1])], ("o",))]
            for pin in pins
        ]


_HEARD = ("heard", "latest")


class _Pictured(Design):
    """A bench in the drawing of its network."""

    fabric: GroupBench

    @cached_property
    def diagram(self) -> Diagram:
        return self.fabric.network.diagram
