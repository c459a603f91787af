"""The claims that proofs prove, and the page `docs/reference/proofs.md` that lists them.

A test that proves something says so by the decorator `proves`, right above it. The page is made
from these and from `NOT_PROVED`: `python tests/kit/proof_table.py` writes it.
"""

import functools
import importlib
import math
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.lib import wiring
from claims import PROVED
from multicube.hdl.networks.network import Network

__all__ = [
    "FOLDERS",
    "NOT_PROVED",
    "PAGE",
    "PROOFS",
    "Proof",
    "components",
    "load",
    "page",
    "proves",
]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "proofs.md"

FOLDERS = {
    "primitives": "Queues, arbiters, random numbers, tags",
    "boxes": "Boxes of multistage networks",
    "switch": "Parts of switches",
    "routers": "Routers and links",
    "families": "Routers and interfaces of single families",
    "terminals": "Interfaces between terminals and network",
    "bench": "The bench",
    "computer": "Parallel computers",
    "fabric": "Fabrics",
}
"""The folders of `hdl` that have components, and what these are."""


@dataclass(frozen=True)
class Proof:
    """What a test proves.

    Attributes
    ----------
    components : tuple[type, ...]
    says : str
    sizes : str
        For which parameters.
    cycles : float
        From reset; infinity for ever.
    test : str
    """

    components: tuple[type, ...]
    says: str
    sizes: str
    cycles: float
    test: str


PROOFS: dict[str, Proof] = {}
"""By test, of all modules that have been imported, be it twice: by pytest and by this page."""


def proves(
    *components: type, says: str, sizes: str, cycles: float = math.inf
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """State what a test proves about components; it fails if it proves less.

    Parameters
    ----------
    components : type
    says : str
        The claims, in plain sentences. The page explains: lossless, in order, stream rule, in
        time, keeps packets whole.
    sizes : str
        The parameters of the components for which this is proved.
    cycles : float
        In all runs of how many cycles; by default for ever.
    """

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        name = f"{Path(test.__code__.co_filename).name}::{test.__name__}"
        PROOFS[name] = Proof(components, says, sizes, cycles, name)

        @functools.wraps(test)
        def checked(*args: Any, **kwargs: Any) -> None:
            PROVED.clear()
            test(*args, **kwargs)
            assert PROVED, "the test proves nothing"
            assert min(PROVED) >= cycles, f"the proofs are of {min(PROVED)} cycles, not {cycles}"

        return checked

    return decorated


def components() -> Iterator[type]:
    """All components of the library in the order of `FOLDERS`, but for networks, and for the cells
    of `families.multistage`, which are tested with theirs."""
    for folder in FOLDERS:
        package = importlib.import_module(f"multicube.hdl.{folder}")
        names = [package.__name__]
        names += [
            name for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        ]
        for name in sorted(names):
            for value in vars(importlib.import_module(name)).values():
                if (
                    isinstance(value, type)
                    and issubclass(value, wiring.Component)
                    and value.__module__ == name
                    and not issubclass(value, Network)
                    and not value.__name__.startswith("_")
                    and ".multistage." not in name
                ):
                    yield value


NOT_PROVED: dict[str, str] = {
    # Parts of proved components, and those whose work is arithmetic.
    "Combine": "that messages combine as they should, which is compared with a model in simulation",
    "PayloadPart": "which values are moved with messages, which is compared with a model in "
    "simulation",
    "RoutedSwitch": "anything: it has no hardware, and is the base of all switches with a shape",
    "Switch": "anything as such: it is proved as `WormRouter`, `InputQueuedSwitch`, "
    "`WormholeSwitch` and `CutThroughSwitch`",
    "OutputQueued": "anything as such: it is proved as `OutputQueuedSwitch` and `PacketRouter`",
    "Pipelined": "anything as such: it is proved as `PipelinedSwitch`, `PipelinedFlitSwitch` and "
    "`PipelinedRouter`",
    "CombiningSwitch": "anything: it has no hardware, and is the base of `CombiningBox` and "
    "`CombiningRouter`",
    "FabricComponent": "anything: it has no hardware but the cells of a fabric, wired",
    # What is left of proved ones.
    "RandomBits": "that the bits are random, which is measured",
    "RandomOrder": "that all orders are equally likely, which is measured",
    "Xoroshiro128": "that the numbers are random: they are compared with the published generator "
    "in simulation",
    "ArrivalQueue": "more than 3 inputs (with more than 8 the hardware is different), and greater "
    "depths",
    "WormRouter": "a choice of outputs and depths above 1, but by `multicube prove`; cut-through "
    "and store-and-forward; `timeout`, which discards packets",
    "PacketRouter": "a choice of outputs",
    "PipelinedRouter": "a choice of outputs; cut-through; greater depths, but by "
    "`multicube prove`; the whole router with `pipeline` 2, of which the queue and the stage "
    "behind it are proved",
    "RouteStage": "a choice of exits",
    "CreditLink": "that a blocked channel's turn comes, which depends on the router before the "
    "link",
    "DCSHRouter": "broadcasts",
    "LeastDelayDetour": "that the way with the least delay is chosen, which is compared with a "
    "model in simulation",
    "RejectingWormholeSwitch": "fairness: a rejected packet competes again at a random time",
    "UnbufferedSwitch": "broadcasts; verdicts over several stages; that all packets have equal "
    "chances",
    "OutputQueuedSwitch": "more than two inputs, but by `multicube prove`; broadcasts with bundles",
    "InputQueuedSwitch": "more than two inputs, but by `multicube prove`; broadcasts with bundles",
    "PipelinedSwitch": "more than two inputs; `pipeline` 2, which is compared with a model in "
    "simulation",
    "PipelinedFlitSwitch": "more than two inputs, but by `multicube prove`; `pipeline` 2, which is "
    "compared with a model in simulation",
    "RequestQueue": "greater depths",
    "WormholeSwitch": "that broadcasts are lossless; more than two inputs",
    "CutThroughSwitch": "that broadcasts are lossless; more than two inputs",
    "CircuitInitiator": "that a packet arrives whole: it crosses the wires of a circuit",
    "CombiningBox": "the values of replies, which are compared with a serial order in simulation, "
    "but by `multicube prove` in small boxes; radix 4",
    "CombiningRouter": "the values of replies, which are compared with a serial order in "
    "simulation; more inputs and outputs; routers that can't turn every way",
    "CombiningQueue": "the operations that are combined, which are compared with a model in "
    "simulation",
    "InputBufferedBox": "greater depths for ever",
    "HypercubeNode": "combining of messages",
    "CircuitParityChecker": "packets that are too long or have no end",
    "RetransmissionInterface": "that a packet arrives in the end if links do not lose it for ever; "
    "larger windows and longer packets, which are tested in simulation",
    "MemoryModule": "operands of several sizes; requests of several words; `interval`",
    "MemoryEnd": "loads, which have no operand to be told apart by",
    "ProcessorEnd": "loads, which have no operand to be told apart by",
    "ProcessorMultiplexer": "messages of several words",
    "ClockCrossing": "resets, which are simulated",
    "MemoryDemultiplexer": "messages of several words",
    "AxiStreamInput": "packets of several flits; masks",
    "AxiStreamOutput": "packets of several flits",
    "AxiTarget": "what its bursts do, which is compared with a reference memory in simulation, and "
    "by cocotbext-axi",
    "WishboneTarget": "what its bus cycles do, which is compared with a reference memory in "
    "simulation",
    "WishboneBurstTarget": "what its bus cycles do, which is compared with a reference memory in "
    "simulation",
    "OrderedRequests": "the order of its answers: the bus ports, which show it, are simulated",
    "RemoteProcessorEnd": "that its packets are those of its requests, which is simulated with the "
    "buses",
    "RemoteMemoryEnd": "that its packets are those of its replies, which is simulated with the "
    "buses",
    # The bench.
    "Timer": "that it counts cycles: two engines agree on its counts",
    "WindowAges": "its ages, which are compared with a model in simulation",
    "LinkMeter": "its counts, which are compared with the counts of packets in simulation",
    "EventMeter": "its counts, which are compared with the counts of packets in simulation",
    "LevelMeter": "its sums, which are compared with a model in simulation",
    "Sender": "its queue and its counts: in every run they are balanced against those of the sinks",
    "BernoulliSource": "its queue and its counts, as of `Sender`; its rates are measured",
    "ReplaySource": "its queue and its counts, as of `Sender`",
    "DependentSource": "its queue and its counts, as of `Sender`; when it sends is compared with a "
    "model of events in simulation",
    "WaitingRows": "which rows are ready, which is compared with a model of events in simulation",
    "FlowSource": "its queue and its counts, as of `Sender`; its rates are measured, and its "
    "windows are compared with their times",
    "CollectiveSource": "when it sends, as of `DependentSource`; its words are compared with a "
    "plain computation",
    "GroupTerminal": "its words, all of which are compared with a plain computation",
    "Sink": "its counts: it finds seeded faults, and two engines agree on it",
    "TwinSource": "its payloads: the changes of wires that they cause are measured",
    "TwinSink": "that it finds a twin that differs: both engines and Verilator agree on the twin",
    "Bursts": "its rates, which are measured",
    "Processor": "its requests: in every run the counts balance, and there is a serial order of "
    "the operations",
    "StepProcessor": "its steps, which are compared with a model in simulation",
    "ReplyingTerminal": "its random requests: in simulation all of them are answered, unless the "
    "network deadlocks",
    "MessageSource": "its messages, which are compared with a model in simulation",
    "Collector": "its sums, which are compared with a model in simulation",
    "ProgramPort": "its programs' requests: programs are run",
    "ComputerNode": "its programs, which are run on three engines",
    "SharedWindow": "its accesses: programs are run",
    "MessageEnd": "its words: programs are run",
    "NoMessages": "anything: it has no logic",
    "NoSharedMemory": "anything: it has almost no logic",
}
"""What is not proved, by the name of a component; then the reason, or what is done instead."""


def _named(parts: Iterable[Proof]) -> dict[str, list[Proof]]:
    found: dict[str, list[Proof]] = {}
    for proof in parts:
        for part in proof.components:
            found.setdefault(part.__name__, []).append(proof)
    return found


def load() -> None:
    """Import all tests, so that `PROOFS` has what they prove."""
    for path in sorted(ROOT.glob("tests/test_*.py")):
        if "from proof_table import" in path.read_text() and path.stem != "test_proofs_page":
            importlib.import_module(path.stem)


def _extent(proof: Proof) -> str:
    return "for ever" if math.isinf(proof.cycles) else f"{proof.cycles} cycles"


def table() -> Iterator[str]:
    """The lines of the page below its introduction."""
    found = sorted(PROOFS.values(), key=lambda proof: proof.test.partition("::")[0])
    proofs = _named(found)
    for folder, title in FOLDERS.items():
        yield from ("", f"## {title}", "")
        yield from ("| component | proved | for | how long | by |", "|---|---|---|---|---|")
        for part in components():
            if part.__module__.split(".")[2] != folder:
                continue
            for proof in proofs.get(part.__name__, ()):
                file, _, test = proof.test.partition("::")
                cells = (proof.says, proof.sizes, _extent(proof))
                by = f"`{test}` in {file}"
                yield f"| `{part.__name__}` | {' | '.join(cells)} | {by} |"
            if part.__name__ in NOT_PROVED:
                yield f"| `{part.__name__}` | *Not proved:* {NOT_PROVED[part.__name__]}. | | | |"
        if folder == "primitives":
            for proof in found:
                if not proof.components:
                    file, _, test = proof.test.partition("::")
                    cells = (proof.says, proof.sizes, _extent(proof))
                    yield f"| `arbitrate` | {' | '.join(cells)} | `{test}` in {file} |"


def page() -> str:
    """The text of the page."""
    return Path(__file__).with_name("proofs_head.md").read_text() + "\n".join(table()) + "\n"


if __name__ == "__main__":
    # The tests add to the list of the module that they import, which is not this one.
    sys.path.append(str(ROOT / "tests"))
    import proof_table

    proof_table.load()
    PAGE.write_text(proof_table.page())
