"""A drawing of a multistage network's wiring plan: boxes, lines and their labels, and a path.

python examples/wiring.py cube 8 --path 6:0 -o cube8.svg
python examples/wiring.py omega 16 --radix 4 -o omega16.png
"""

import sys
from pathlib import Path

import click
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from multicube.hdl.networks.catalogue import find
from multicube.hdl.output_file import whole_file
from multicube.hdl.topology import MultistagePlan, multistage_plan

STEP = 3.0
"""Distance of the stages, in distances of lines."""
PATH = "C3"


def draw(plan: MultistagePlan, axes: Axes, path: tuple[int, int] | None = None) -> None:
    """Draw a plan: inputs on the left, outputs on the right, a path between two terminals thick.

    Beside each line stands its label, in the plan's own digits.
    """
    hops = plan.path(*path) if path else []

    def height(box: int, port: int) -> float:
        return -(box * plan.radix + port * 0.7 + 0.15)

    def name(label: int) -> str:
        return "".join(str(digit) for digit in reversed(plan.code.split(label)))

    def wire(x0: float, y0: float, x1: float, y1: float, chosen: bool) -> None:
        colour, width = (PATH, 2.2) if chosen else ("black", 0.8)
        axes.plot([x0, x1], [y0, y1], color=colour, linewidth=width, zorder=1 + chosen)

    starts = [(0.0, -float(line)) for line in range(plan.ports)]
    for line, (x, y) in enumerate(starts):
        axes.text(x - 0.15, y, f"{line}  {name(line)}", ha="right", va="center", fontsize=8)
    on_path = path[0] if path else None
    for s, stage in enumerate(plan.stages):
        left = (s + 1) * STEP - 0.5
        entries = {}
        for line, (x, y) in enumerate(starts):
            box, port = plan.port(s, plan.relabel(line, stage.entry))
            entries[box, port] = line
            wire(x, y, left, height(box, port), line == on_path)
        starts = [(0.0, 0.0)] * plan.ports
        for box in range(plan.boxes):
            corner = (left, height(box, plan.radix - 1) - 0.3)
            tall = height(box, 0) + 0.3 - corner[1]
            axes.add_patch(Rectangle(corner, 1, tall, facecolor="0.92", edgecolor="black"))
            for port in range(plan.radix):
                y = height(box, port)
                starts[plan.line(s, box, port)] = (left + 1, y)
                label = name(plan.line(s, box, port))
                axes.text(left + 1.08, y + 0.08, label, fontsize=6, color="0.35")
        if hops:
            hop = hops[s]
            ends = height(hop.box, hop.input), height(hop.box, hop.output)
            axes.plot([left, left + 1], ends, color=PATH, linewidth=2.2)
            on_path = plan.line(s, hop.box, hop.output)
        axes.text(left + 0.5, 0.8, f"stage {s}", ha="center", fontsize=8)
    end = (len(plan.stages) + 1) * STEP
    for label, (x, y) in enumerate(starts):
        output = plan.relabel(label, plan.exit)
        wire(x, y, end, -float(output), label == on_path)
        axes.text(end + 0.15, -output, f"{name(output)}  {output}", va="center", fontsize=8)
    axes.set_axis_off()
    axes.set_aspect("equal")


@click.command()
@click.argument("network")
@click.argument("ports", type=int)
@click.option("--radix", default=2, show_default=True, help="Inputs and outputs of a box.")
@click.option("--path", "ends", metavar="S:D", help="Show the path between two terminals.")
@click.option("-o", "--output", required=True, help="Picture to write: .svg, .png or .pdf.")
def wiring(network: str, ports: int, radix: int, ends: str | None, output: str) -> None:
    """Draw the wiring plan of a multistage network."""
    plan = multistage_plan(find(network).name, ports, radix)
    path = None
    if ends is not None:
        source, separator, destination = ends.partition(":")
        if not (separator and source.isdecimal() and destination.isdecimal()):
            raise ValueError(f"Path must be two terminals S:D, not {ends!r}")
        path = int(source), int(destination)
    if Path(output).suffix not in (".svg", ".png", ".pdf"):
        raise ValueError(f"Picture {output} must end in .svg, .png or .pdf")
    width = 2 + (len(plan.stages) + 1) * STEP
    figure = Figure(figsize=(0.62 * width, 0.55 * (ports + 1.5)), layout="tight")
    draw(plan, figure.subplots(), path)
    with whole_file(output) as file:
        figure.savefig(file, dpi=130, metadata={"Date": None} if file.suffix == ".svg" else None)


def main() -> None:
    """Draw, and exit: errors are one line on standard error."""
    try:
        wiring.main(standalone_mode=False)
    except click.ClickException as error:
        sys.exit(_shown(error.format_message()))
    except (ValueError, TypeError, OSError) as error:
        sys.exit(_shown(str(error)))
    except click.Abort:
        sys.exit(130)


def _shown(message: str) -> int:
    click.echo(f"wiring.py: {' '.join(message.split())}", err=True)
    return 2


if __name__ == "__main__":
    main()
