"""Draws the wiring plan of a multistage network: boxes, lines and their labels, and a path.

python examples/wiring.py cube 8 --path 6:0 -o cube8.svg
python examples/wiring.py omega 16 --radix 4 -o omega16.png
"""

import sys
from functools import partial

import click
from multicube.hdl.catalogue.catalogue import find
from multicube.hdl.fabric.errors import InvalidValue, MulticubeError
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.networks.plan_diagram import plan_diagram, plan_path
from multicube.sim.report.diagram_figure import Marks, diagram_figure
from multicube.sim.report.drawing import save_figure


@click.command()
@click.argument("network")
@click.argument("ports", type=int)
@click.option("--radix", default=2, show_default=True, help="Inputs and outputs of a box.")
@click.option("--path", "ends", metavar="S:D", help="Show the path between two terminals.")
@click.option("-o", "--output", required=True, help="Picture: .svg, .png, .pdf, or - for stdout.")
def wiring(network: str, ports: int, radix: int, ends: str | None, output: str) -> None:
    """Draw the wiring plan of a multistage network."""
    plan = multistage_plan(find(network).name, ports, radix)
    diagram = plan_diagram(plan)
    pairs = []
    if ends is not None:
        source, separator, destination = ends.partition(":")
        if not (separator and source.isdecimal() and destination.isdecimal()):
            raise InvalidValue(f"Path must be two terminals S:D, not {ends!r}")
        pairs = [(int(source), int(destination))]
    marks = Marks.paths(diagram, partial(plan_path, plan), pairs)
    save_figure(diagram_figure(diagram, marks), output)


def main() -> None:
    """Draw, and exit: errors are one line on standard error."""
    try:
        wiring.main(standalone_mode=False)
    except click.ClickException as error:
        sys.exit(_shown(error.format_message()))
    except (MulticubeError, OSError) as error:
        sys.exit(_shown(str(error)))
    except click.Abort:
        sys.exit(130)


def _shown(message: str) -> int:
    click.echo(f"wiring.py: {' '.join(message.split())}", err=True)
    return 2


if __name__ == "__main__":
    main()
