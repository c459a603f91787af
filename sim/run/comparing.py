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

    All is checked for each network before the first one runs.

    Parameters
    ----------
    networks : Sequence[Network | str]
        At least one; a text such as "torus k=8 n=2" is built.
    loads : Sequence[float]
        As for `sweep`; so are traffic, clip, engine, refine, processes, scheduler, resume,
        progress, bins and the further fields of `Run`.
    labels : Sequence[str], optional
        What the networks are called; by default their texts, or the words that tell them apart.
    per : str
        What rates are divided by: terminal, wire or bisection (`measure.comparison.rate_factor`).
    unit : str
        What `loads` count, and the rates per terminal that are shown: packets or flits.
    **parameters
        Further fields of `Run`.

    Raises
    ------
    TypeError, ValueError
        If a network, its traffic or a load is refused: the message names the network.
    SimulationError
        As for `simulate_runs`.
    LoadsLost
        As for `sweep`; `comparison` has what was measured until then.
    KeyboardInterrupt
        If it is raised before any sweep has a point; later, the comparison is partial.
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
