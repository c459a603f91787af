"""Programs that go wrong: which core, in which cycle, at which line of the source."""

from ...hdl.computer.address_map import DEVICES, LOCAL, PROGRAM, Device
from ...hdl.fabric.errors import MulticubeError
from .console import Console, ConsoleLine, NodeReader
from .program_image import ProgramImage

__all__ = ["CAUSES", "ProgramFault", "fault_of", "not_ended"]

_GUARD = PROGRAM + (1 << 20)
"""From here to the own memory there is nothing: what a stack that is too small runs into."""

_SEND = DEVICES + 4 * Device.SEND

_ANY = 0, 1 << 32

CAUSES = (
    (0, *_ANY, "a jump to the odd address {value}"),
    (1, *_ANY, "a jump outside of the program, to {value}"),
    (2, *_ANY, "an illegal instruction, {value}"),
    (3, *_ANY, "a break point"),
    (4, *_ANY, "a load from {value}, which is not a multiple of its size"),
    (5, _GUARD, LOCAL, "stack overflow: a load from {value}"),
    (5, *_ANY, "access outside: a load from {value}"),
    (6, *_ANY, "a store to {value}, which is not a multiple of its size"),
    (7, _SEND, _SEND + 1, "a message for a core that does not exist"),
    (7, _GUARD, LOCAL, "stack overflow: a store to {value}"),
    (7, *_ANY, "access outside: a store to {value}"),
    (11, *_ANY, "a system call, and there is no system"),
)
"""What the exceptions of RISC-V mean: `mcause`, the range of the value (`mtval`), and the text. The
first that fits is meant."""


class ProgramFault(MulticubeError):
    """A program did something that the computer can't do, or did not end.

    Attributes
    ----------
    console : list[ConsoleLine]
        What the cores had printed before.
    warnings : str
        What the compiler had warned of.

    Examples
    --------
    >>> from pathlib import Path
    >>> from multicube import build
    >>> from multicube.sim import run_computer
    >>> _ = Path("wait.c").write_text("int main(void) { for (;;); }")
    >>> run_computer("wait.c", build("combining", ports=2), cycles=1000)
    Traceback (most recent call last):
    ...
    multicube.sim.computer.program_faults.ProgramFault: Core 0, cycle 1000, wait.c:1: ...
    """

    def __init__(self, message: str, console: list[ConsoleLine], warnings: str) -> None:
        super().__init__(message)
        self.console = console
        self.warnings = warnings

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.console, self.warnings)


def fault_of(engine: NodeReader, console: Console, image: ProgramImage) -> ProgramFault | None:
    """The first exception of any core, if there was one."""
    nodes = console.nodes
    trapped = engine.read(nodes, "trapped")
    if not any(trapped):
        return None
    ended = engine.read(nodes, "ended")
    core = min((n for n, each in enumerate(trapped) if each), key=lambda n: (ended[n], n))
    cause, value, pc, last_pc = (
        engine.read([nodes[core]], name)[0] for name in ("result", "fault", "pc", "last_pc")
    )
    # An instruction that is not in the program has no place: the jump to it has.
    place = image.place(pc if image.has(pc) else last_pc)
    meant = (text for own, first, end, text in CAUSES if own == cause and first <= value < end)
    what = next(meant, f"exception {cause}").format(value=f"{value:#010x}")
    console.read(engine)
    words = f"Core {core}, cycle {ended[core]}, {place}: {what}"
    return ProgramFault(words, console.lines(), image.warnings)


def not_ended(engine: NodeReader, console: Console, image: ProgramImage) -> ProgramFault:
    """That cores have not ended, and where the first of them is."""
    nodes = console.nodes
    left = [n for n, done in enumerate(engine.read(nodes, "done")) if not done]
    (pc,) = engine.read([nodes[left[0]]], "pc")
    others = {1: "", 2: " (1 other has not either)"}
    more = others.get(len(left), f" ({len(left) - 1} others have not either)")
    console.read(engine)
    return ProgramFault(
        f"Core {left[0]}, cycle {engine.cycle}, {image.place(pc)}: the program has not ended in "
        f"{engine.cycle} cycles{more}",
        console.lines(),
        image.warnings,
    )
