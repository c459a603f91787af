"""The area of a network's nodes, on average, from some of them."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import NamedTuple

from ...hdl.fabric.cell_part import cell_part
from ...hdl.fabric.fabric import Fabric
from .design import network_design
from .devices import Area
from .measurement import Setup, area_of

__all__ = ["MeanArea", "Sample", "areas_of", "mean_area", "samples_of"]


class MeanArea(NamedTuple):
    """A number per node, on average over a network.

    Attributes
    ----------
    mean : float
    low, high : float
        The same if all nodes of a shape were as small as the smallest one synthesised, or as large
        as the largest one.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Sample:
    """Some nodes of one shape.

    Attributes
    ----------
    nodes : int
        Nodes of this shape.
    cells : tuple[str, ...]
        Names of those to synthesise.
    """

    nodes: int
    cells: tuple[str, ...]


def samples_of(fabric: Fabric, most: int, seed: int = 1) -> list[Sample]:
    """Nodes to synthesise, drawn at random: `most` of the commonest shape, and one of each other.

    Nodes of one shape differ in their address and the contents of their tables only.
    """
    kinds = [cells for type_, cells in fabric.types().items() if not type_.auxiliary]
    commonest = max(kinds, key=len)
    draw = random.Random(seed)
    return [
        Sample(
            len(cells),
            tuple(cell.name for cell in draw.sample(cells, min(len(cells), most)))
            if cells is commonest
            else (draw.choice(cells).name,),
        )
        for cells in kinds
    ]


def areas_of(
    fabrics: dict[str, Fabric], setup: Setup, progress: Callable[[str], None] = lambda step: None
) -> dict[str, Area]:
    """The areas of some fabrics, by name. As many are synthesised at a time as there are cores.

    Raises
    ------
    ValueError, SynthesisError
        As `measure`.
    """
    found: dict[str, Area] = {}
    with ThreadPoolExecutor(cpu_count()) as pool:
        designs = {name: network_design(fabric, setup.verilog) for name, fabric in fabrics.items()}
        jobs = {name: pool.submit(area_of, design, setup) for name, design in designs.items()}
        for name, job in jobs.items():
            found[name] = job.result()
            progress(name)
    return found


def mean_area(
    fabric: Fabric,
    setup: Setup,
    most: int = 3,
    seed: int = 1,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, MeanArea]:
    """Tables and flip-flops per node of a network, each with its table, on average over all nodes.

    Each node is synthesised alone (`fabric.cell_part`).

    Parameters
    ----------
    fabric : Fabric
    setup : Setup
    most, seed : int
        As in `samples_of`.
    progress : Callable[[str], None]
        Called with the name of a cell that has been synthesised.

    Returns
    -------
    dict[str, MeanArea]
        By `tables` and `flip_flops`.
    """
    samples = samples_of(fabric, most, seed)
    parts = {cell: cell_part(fabric, cell) for each in samples for cell in each.cells}
    areas = areas_of(parts, setup, progress)
    total = sum(each.nodes for each in samples)

    def over(field: str) -> MeanArea:
        groups = [
            (each.nodes / total, [getattr(areas[cell], field) for cell in each.cells])
            for each in samples
        ]
        return MeanArea(
            sum(share * sum(values) / len(values) for share, values in groups),
            sum(share * min(values) for share, values in groups),
            sum(share * max(values) for share, values in groups),
        )

    return {field: over(field) for field in ("tables", "flip_flops")}
