"""Load sweeps of several networks under the same traffic."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from ...hdl.catalogue.catalogue import build
from ...hdl.fabric.checks import check_kind, check_several, shown
from ...hdl.fabric.errors import InvalidType, InvalidValue
from ...hdl.networks.network import Network
from ..measure.comparison import Comparison, rate_factor
from ..measure.curve import Sweep
from .sweeps import LoadsLost, measured, planned

__all__ = ["compare"]

_LONGEST_NAME = 200
"""Most characters of a network's words that a message repeats as they are."""


def compare(
    networks: Sequence[Network | str],
    loads: Sequence[float],
    *,
    labels: Sequence[str] = (),
    per: str = "terminal",
    unit: Literal["packets", "flits"] = "packets",
    traffic: Any = "uniform",
    clip: bool = False,
    engine: str = "auto",
    refine: bool = True,
    processes: int | None = None,
    scheduler: str | None = None,
    resume: str | None = None,
    progress: bool = False,
    bins: int | None = None,
    **parameters: Any,
) -> Comparison:
    """Sweep several networks under the same traffic.

    All arguments are checked for each network before the first one runs.

    Parameters
    ----------
    networks : Sequence[Network | str]
        At least one; a text such as "torus k=8 n=2" is built.
    loads : Sequence[float]
        Packets (or flits) per terminal per cycle, 0 to 1 packets; at least one.
    labels : Sequence[str], optional
        Names of the networks; by default their texts, or the words that distinguish them.
    per : str
        What rates are divided by: "terminal", "wire" (a link of the network) or "bisection" (a
        link of the bisection).
    unit : str
        What `loads` count, and the rates per terminal that are shown: packets or flits.
    traffic : str, Sequence, np.ndarray, Callable or Pattern
        The destinations of packets, read by `pattern`.
    clip : bool
        Replace loads that the traffic can't offer by the highest that it can.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    refine : bool
        Divide the interval in which saturation begins by 16, or less where points stay
        undecided.
    processes : int, optional
        Processes on this machine; one per core if not given.
    scheduler : str, optional
        Address of a Dask scheduler, to run on its cluster instead.
    resume : path-like, optional
        File that stores each finished point; points that it has are not run again.
    progress : bool
        Show a progress bar on standard error, if it is a terminal.
    bins : int, optional
        Bins of each latency histogram, one for each cycle.
    **parameters : Any
        Fields of `Run`: cycles, warmup, seed, source_depth, operations, history, precision,
        limit, seeds.

    Returns
    -------
    Comparison
        The sweeps, in the order of the networks. If it was interrupted, it is partial.

    Raises
    ------
    TypeError, ValueError
        If a network, its traffic or a load is refused: the message names the network.
    SimulationError
        If packets were lost, misrouted, duplicated or (where the network keeps order)
        reordered.
    LoadsLost
        If processes were killed, and killed again when their loads were run again; its
        `comparison` has what was measured until then.
    KeyboardInterrupt
        If it is raised before any sweep has a point; later, the comparison is partial.

    Examples
    --------
    >>> from multicube import compare
    >>> networks = ["cube ports=4", "crossbar ports=4"]
    >>> compare(networks, [0.2], refine=False, processes=1, cycles=200, warmup=20)
    <Comparison of cube ports=4, crossbar ports=4>
    """
    given = check_several("Networks", networks, "networks or their names")
    if not given:
        raise InvalidValue("Networks must be given, at least one")
    labels = check_several("Labels", labels, "texts")
    plans = []
    for each in given:
        with _named(each):
            network = build(each) if isinstance(each, str) else each
            check_kind("Network", network, Network, "a network")
            rate_factor(network, per, unit)
            plan = planned(
                network, loads, traffic=traffic, unit=unit, clip=clip, bins=bins, **parameters
            )
        plans.append(plan)
    if not labels and all(isinstance(each, str) for each in given):
        labels = [str(each) for each in given]
    if labels:
        Comparison([Sweep(plan.network, "", [], None) for plan in plans], labels)

    def compared(sweeps: Sequence[Sweep], partial: bool = False) -> Comparison:
        return Comparison(sweeps, labels[: len(sweeps)], per, unit, partial)

    done: list[Sweep] = []
    for plan in plans:
        try:
            done.append(
                measured(
                    plan,
                    engine=engine,
                    refine=refine,
                    processes=processes,
                    scheduler=scheduler,
                    resume=resume,
                    progress=progress,
                )
            )
        except LoadsLost as error:
            error.comparison = compared([*done, error.sweep])
            raise
        except KeyboardInterrupt:
            if not done:
                raise
            return compared(done, partial=True)
        if done[-1].partial:
            return compared(done, partial=True)
    return compared(done)


@contextmanager
def _named(network: Any) -> Iterator[None]:
    """What is refused meanwhile is refused for this network, and named after it."""
    try:
        yield
    except (InvalidType, InvalidValue) as error:
        name = network if isinstance(network, Network) else shown(network)
        if isinstance(network, str) and network.isprintable() and len(network) <= _LONGEST_NAME:
            name = network
        raise type(error)(f"{name}: {error}") from None
