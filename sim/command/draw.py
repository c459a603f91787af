"""`multicube draw`: a picture of a network."""

import json
from pathlib import Path

import click

from ...hdl.core.errors import InvalidValue
from ..report.drawing import Marks, multistage_figure, save_figure
from .words import network_arguments, network_from

__all__ = ["draw"]

_ENDINGS = (".svg", ".png", ".pdf")

_MOST_PORTS = 128
"""Most terminals in a drawing: with more, its lines can't be told apart."""


@click.command()
@network_arguments
@click.option("--path", "ends", metavar="S:D", help="Show the path between two terminals.")
@click.option("-o", "--output", required=True, help="Picture to write: .svg, .png or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def draw(
    network: str, parameters: tuple[str, ...], ends: str | None, output: str, as_json: bool
) -> None:
    """Draw the wiring plan of a network: boxes, lines and their labels."""
    built = network_from(network, parameters)
    plan = built.wiring_plan
    if plan is None:
        raise InvalidValue(
            f"Only networks with a multistage wiring plan can be drawn, not {network!r}"
        )
    if plan.ports > _MOST_PORTS:
        raise InvalidValue(f"Ports of a drawing must be at most {_MOST_PORTS}, not {plan.ports}")
    if Path(output).suffix not in _ENDINGS:
        raise InvalidValue(f"Output {output} must end in {', '.join(_ENDINGS)}")
    save_figure(multistage_figure(plan, Marks.paths(plan, _pairs(ends))), output)
    if as_json:
        click.echo(json.dumps({"output": output, "ports": plan.ports, "boxes": plan.boxes}))
    else:
        click.echo(f"{output}: {len(plan.stages)} stages of {plan.boxes} boxes")


def _pairs(ends: str | None) -> list[tuple[int, int]]:
    """The terminals of a path S:D, if there is one."""
    if ends is None:
        return []
    source, separator, destination = ends.partition(":")
    if not (separator and source.isdecimal() and destination.isdecimal()):
        raise InvalidValue(f"Path must be two terminals S:D, not {ends!r}")
    return [(int(source), int(destination))]
