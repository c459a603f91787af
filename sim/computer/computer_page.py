"""A page in which a program runs on a parallel computer: its cores, their lines, the network."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ...hdl.catalogue.catalogue import build
from ...hdl.computer.address_map import CONSOLE_ROWS, PROGRAM
from ...hdl.computer.computer import Computer
from ...hdl.fabric.checks import check_kind, check_word
from ...hdl.fabric.diagram import Node, Terminal
from ...hdl.fabric.layout import Layout
from ...hdl.networks.graph_layout import groups_layout
from ...hdl.networks.network import Network
from ...hdl.support.input_file import read_content
from ..live.design_page import Design, DesignPage
from .compilation import compile_program
from .computer_run import computer_of
from .defaults import STACK_BYTES
from .program_faults import CAUSES
from .program_image import ProgramImage

__all__ = ["ComputerPage", "lesson_page", "picture", "program_lessons"]

_HERE = Path(__file__).parent


class ComputerPage(DesignPage):
    """A page in which a program in C runs on a core at each terminal of a network, cycle by cycle.

    It shows the source lines at which the cores are, what they print, and their requests in the
    network. It can be stepped by cycles, or by lines of one core.

    Parameters
    ----------
    program : path-like
        A file in C that includes `multicube.h`.
    network : Network
        One with memory, or one that carries packets and loses none. Its terminals are a power of
        two.
    stack : int
        Bytes of each core's stack.
    defines : Sequence[str]
        Macros of the compiler, such as `N=64`.

    Raises
    ------
    NoCompiler
        If the package ziglang is not installed.
    TypeError, ValueError
        If the program can't be compiled, or the network is not one of those.
    MulticubeError
        If a package of `multicube[computer]` is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from multicube import build
    >>> from multicube.sim import ComputerPage
    >>> _ = Path("end.c").write_text("int main(void) { return 0; }")
    >>> ComputerPage("end.c", build("combining", ports=2)).title
    'end.c'
    """

    def __init__(
        self,
        program: str | os.PathLike[str],
        network: Network,
        *,
        stack: int = STACK_BYTES,
        defines: Sequence[str] = (),
    ) -> None:
        check_kind("Network", network, Network, "a network")
        self.lesson: str | None = None
        self.program = compile_program(program, defines=defines, stack=stack)
        self.path = Path(program)
        self.computer = computer_of(network, self.program, stack)
        super().__init__(Design(self.computer, self.path.name, picture(self.computer), wires=False))

    def about(self) -> dict[str, Any]:
        return super().about() | {
            "words": f"{self.title} {self.computer.words}",
            "lesson": self.lesson,
            "lessons": self.lessons,
            "titles": {name: lesson["title"] for name, lesson in self.lessons.items()},
            "given": {"on": 1},
            "program": {
                "cores": self.computer.nodes,
                # Bytes have the lines that the compiler counts; texts have more ends of lines.
                "source": [
                    line.decode(errors="replace")
                    for line in read_content("Program", self.path).splitlines()
                ],
                "places": _places(self.program, self.path.name),
                "range": [PROGRAM, PROGRAM + 4 * len(self.program.program)],
                "causes": CAUSES,
                "console_rows": CONSOLE_ROWS,
            },
        }


@cache
def program_lessons() -> dict[str, dict[str, Any]]:
    """The lessons on programs: a title, a program of this folder, a network, and steps as those of
    `live.lessons`; a step may also go on to a `line` of core 0."""
    lessons: dict[str, dict[str, Any]] = json.loads((_HERE / "lessons.json").read_text("utf-8"))
    return lessons


def lesson_page(name: str) -> ComputerPage:
    """The page of a lesson on a program.

    Raises
    ------
    ValueError
        If there is no such lesson.
    """
    check_word("Lesson", name, tuple(program_lessons()))
    lesson = program_lessons()[name]
    page = ComputerPage(_HERE / lesson["program"], build(lesson["network"]))
    page.lesson, page.lessons = name, {name: lesson}
    return page


def _places(image: ProgramImage, file: str) -> list[list[int]]:
    """From which address on code comes from which line of the file; line 0 is code of others."""
    found: list[list[int]] = []
    for address, name, line in image.lines:
        here = line if name == file else 0
        if found and found[-1][0] == address:
            found[-1][1] = here
        elif not found or found[-1][1] != here:
            found.append([address, here])
    return found


def picture(computer: Computer) -> Layout:
    """The network's own places where its cells are in the computer as they are in the network, and
    each core at the terminal by which it sends."""
    network = computer.network
    own = network.layout
    if not network.has_memory or not own.terminals:
        return _close(computer)
    nodes, kept = list(own.nodes), []
    for terminal in own.terminals:
        senders = [pin.path[1] for pin in terminal.pins if pin.path[0] == "i"]
        if not senders:
            kept.append(terminal)
            continue
        nodes.append(_core(computer, int(senders[0]), terminal))
    return replace(own, nodes=nodes, terminals=kept, labels=None)


def _close(computer: Computer) -> Layout:
    """The cells that pass packets on, so that linked ones are close; a core sends them itself."""
    cores = [
        tuple(cell for cell in (core, f"target_{n}", f"message_end_{n}") if cell in computer.cells)
        for n, core in enumerate(computer.nodes)
    ]
    own = {cell for core in cores for cell in core}
    cells = (str(pin.cell) for link in computer.streams for pin in link)
    others = dict.fromkeys(cell for cell in cells if cell not in own)
    return groups_layout(computer, [*cores, *((cell,) for cell in others)], computer.streams)


def _core(computer: Computer, number: int, terminal: Terminal) -> Node:
    """The node of a core, in the place of its terminal."""
    return Node(
        name=computer.nodes[number],
        cells=(computer.nodes[number],),
        x=terminal.x,
        y=terminal.y,
        label=str(number),
    )
