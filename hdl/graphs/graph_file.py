"""Files with graphs: JSON, GraphML, GML, GEXF, DOT, lists of edges, BookSim2's `anynet`."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..fabric.checks import check_path
from ..fabric.errors import InvalidValue, MulticubeError
from ..support.input_file import read_content, read_text
from .anynet import read_anynet
from .foreign_graph import read_dot, read_edge_list, read_gexf, read_gml
from .graphml import read_graphml
from .json_graph import read_json
from .listed_graph import ListedGraph
from .routing.given_routes import GivenRoutes

__all__ = ["read_graph"]


def read_graph(path: str | os.PathLike[str]) -> ListedGraph | GivenRoutes:
    """The graph in a file, or its routing if the file has one.

    The ending of its name tells the form: ".json" (`read_json`), ".graphml" (`read_graphml`),
    ".gml", ".gexf", ".dot" or ".gv", ".edgelist" (`foreign_graph`), and any other as BookSim2's
    `anynet` (`read_anynet`).

    What is not understood is refused, whatever it is: a graph is what its file says, or none.

    Raises
    ------
    ValueError
        If the file can't be read, or is none of its form; the message names the line or the entry.
    """
    check_path("File", path)
    read: Callable[[], ListedGraph | GivenRoutes]
    match Path(os.fspath(path)).suffix.lower():
        case ".json":
            read = partial(read_json, read_text("File", path))
        case ".graphml":  # which says itself how it is encoded
            read = partial(read_graphml, read_content("File", path))
        case ".gexf":
            read = partial(read_gexf, read_content("File", path))
        case ".gml":
            read = partial(read_gml, read_text("File", path))
        case ".dot" | ".gv":
            read = partial(read_dot, read_text("File", path))
        case ".edgelist":
            read = partial(read_edge_list, read_text("File", path))
        case _:
            read = partial(read_anynet, read_text("File", path))
    try:
        return read()
    except MulticubeError as error:
        raise type(error)(f"File {os.fspath(path)}: {error}") from None
    except RecursionError:
        raise InvalidValue(f"File {os.fspath(path)}: It is nested too deeply") from None
