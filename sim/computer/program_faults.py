"""Programs that go wrong: which core, in which cycle, at which line of the source."""

from ...hdl.computer.address_map import DEVICES, LOCAL, PROGRAM, Device
from ...hdl.fabric.errors import MulticubeError
from .console import Console, ConsoleLine, NodeReader
from .program_image import ProgramImage

__all__ = ["ProgramFault", "fault_of", "not_ended"]

_GUARD = PROGRAM + (1 << 20)
"""From here to the own memory there is nothing: what a stack that is too small runs into."""

_CAUSES = {
    0: "a jump to the odd address {value:#010x}",
    1: "a jump outside of the program, to {value:#010x}",
    2: "an illegal instruction, {value:#010x}",
    3: "a break point",
    4: "a load from {value:#010x}, which is not a multiple of its size",
    5: "access outside: a load from {value:#010x}",
    6: "a store to {value:#010x}, which is not a multiple of its size",
    7: "access outside: a store to {value:#010x}",
    11: "a system call, and there is no system",
}
"""What the exceptions of RISC-V mean, by `mcause`."""


class ProgramFault(MulticubeError):
    """A program did something that the computer can't do, or did not end.

    Attributes
    ----------
    console : list[ConsoleLine]
        What the cores had printed before.

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

    def __init__(self, message: str, console: list[ConsoleLine]) -> None:
        super().__init__(message)
        self.console = console

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.console)


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
    what = _CAUSES.get(cause, "exception {cause}").format(value=value, cause=cause)
    if cause == 7 and value == DEVICES + 4 * Device.SEND:
        what = "a message for a core that does not exist"
    if cause in (5, 7) and _GUARD <= value < LOCAL:
        what = what.replace("access outside", "stack overflow")
    console.read(engine)
    return ProgramFault(f"Core {core}, cycle {ended[core]}, {place}: {what}", console.lines())


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
    )
