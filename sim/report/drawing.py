"""Drawings of networks, as pictures."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.figure import Figure

from ...hdl.catalogue.naming import takes_names
from ...hdl.fabric.checks import check_kind, check_several, shown
from ...hdl.fabric.diagram import Diagram
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ...hdl.networks.packet_network import PacketNetwork
from ...hdl.support.counted import counted
from ...hdl.support.output_file import output_format, whole_file
from .diagram_figure import Marks, diagram_figure
from .formats import PICTURES
from .heat import check_heat
from .look import Look

__all__ = ["caption", "draw", "network_figure", "save_figure"]


def network_figure(
    network: Network,
    *,
    paths: Iterable[tuple[int, int]] = (),
    group: tuple[int, Iterable[int]] | None = None,
    heat: Mapping[str, float] | None = None,
) -> Figure:
    """A figure that shows a network.

    Parameters
    ----------
    network : Network
        The network.
    paths : Iterable[tuple[int, int]]
        Pairs of terminals (source, destination) whose paths are highlighted.
    group : tuple[int, Iterable[int]], optional
        In place of paths: root and members of a group, whose tree of copies is highlighted.
    heat : Mapping[str, float], optional
        The use of links, by name, such as `Result.links`.

    Returns
    -------
    Figure
        The figure of matplotlib.

    Raises
    ------
    ValueError
        If there is no such terminal, there are more than 8,192 nodes, or the use is that of other
        links.
    """
    if heat is not None:
        check_heat(heat, network)
    diagram = network.diagram
    if group is None:
        marks = Marks.paths(diagram, network.path, paths)
    else:
        check_kind("Network", network, PacketNetwork, "a network that carries packets")
        pair = check_several("Group", group, "a root and its members")
        if len(pair) != 2:
            raise InvalidValue(f"Group must be a root and its members, not {shown(group)}")
        root, members = pair
        marks = Marks.links(diagram, network.group_pins(root, members)[0])
    return diagram_figure(diagram, marks, heat=heat, title=caption(diagram))


def caption(diagram: Diagram) -> str:
    """One line that says what is shown.

    Parameters
    ----------
    diagram : Diagram
        What is drawn.

    Returns
    -------
    str
        The line.
    """
    boxes = all(node.kind == "box" for node in diagram.nodes)
    count = len(diagram.nodes)
    what = counted(count, "box", "boxes") if boxes else counted(count, "node")
    words = [what, counted(diagram.links, "link")]
    if any(each.side == "below" and each.label for each in diagram.terminals):
        words.append(f"{len(diagram.terminals)} terminals (numbers in blue)")
    counts = {len(line.drivers) for line in diagram.lines if line.joins_nodes}
    if len(counts) > 1:
        words.append("virtual channels (if several) on the links")
    elif max(counts, default=1) > 1:
        words.append(f"{max(counts)} virtual channels per link")
    return ", ".join(words)


@takes_names()
def draw(
    network: Network,
    /,
    path: str | os.PathLike[str] | None = None,
    *,
    paths: Iterable[tuple[int, int]] = (),
    group: tuple[int, Iterable[int]] | None = None,
    heat: Mapping[str, float] | None = None,
    **parameters: Any,
) -> Figure:
    """Draw a network: its figure, which is also written to a file if there is a path.

    Parameters
    ----------
    network : Network or str
        The network, or its name: `draw("cube", "cube8.svg", ports=8)` and `draw("cube ports=8",
        "cube8.svg")` build it first.
    path : path-like, optional
        Picture to write: .svg, .png or .pdf; `-` writes an SVG to standard output.
    paths : Iterable[tuple[int, int]]
        Pairs of terminals (source, destination) whose paths are highlighted.
    group : tuple[int, Iterable[int]], optional
        In place of paths: root and members of a group, whose tree of copies is highlighted.
    heat : Mapping[str, float], optional
        The use of links, by name, such as `Result.links`: they are coloured by it.
    **parameters : Any
        Parameters of the network, if its name is given.

    Returns
    -------
    Figure
        The figure of matplotlib.

    Raises
    ------
    TypeError, ValueError
        If there are more than 8,192 nodes, there is no such terminal, the use is that of other
        links, or the file can't be written.

    Examples
    --------
    >>> from multicube import draw
    >>> figure = draw("omega", "omega8.svg", ports=8, paths=[(3, 5)])
    >>> len(figure.axes)
    1
    """
    check_kind("Network", network, Network, "a network")
    if path is not None:
        output_format(path, PICTURES)
    figure = network_figure(network, paths=paths, group=group, heat=heat)
    if path is not None:
        save_figure(figure, path)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str], look: Look | None = None) -> None:
    """Write a figure to a file (.svg, .png, .pdf), completely or not at all; `-` writes an SVG.

    Equal figures give equal files.

    Parameters
    ----------
    figure : Figure
        The figure.
    path : path-like
        The file to write; `-` is standard output.
    look : Look, optional
        The one that it was made in.

    Raises
    ------
    ValueError
        If the name has another suffix, or the file can't be written.
    """
    kind = output_format(path, PICTURES)
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind, {})
    look = look or Look()
    with whole_file(path) as file, look.applied():
        figure.savefig(file, dpi=look.dots, format=kind.removeprefix("."), metadata=metadata)
