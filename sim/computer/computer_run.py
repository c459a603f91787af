"""Runs a program on all cores of a parallel computer, and reports what happened."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from ...hdl.computer.address_map import CONSOLE_ROWS
from ...hdl.computer.computer import WORD_BITS, Computer, memory_cell
from ...hdl.computer.computer_node import COUNTERS
from ...hdl.fabric.checks import check_integer, check_kind, check_several
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ...hdl.support.output_file import check_output
from ..engines import Engine
from ..engines.compiled.engine import CompiledEngine
from ..engines.engine_selection import check_engine, open_engines
from ..run.probe import crossings
from .compilation import compile_program
from .console import Console, ConsoleLine, NodeReader
from .defaults import LIMIT, STACK_BYTES
from .program_faults import ProgramFault, fault_of, not_ended
from .program_image import ProgramImage

__all__ = ["ComputerRun", "CoresRun", "computer_of", "cores_run", "run_computer"]

_LONGEST = 2**31 - 1

_RECORDED = 8
"""Cycles after which a run with waveforms is looked at: it is slow, and its end is shown."""


@dataclass(frozen=True)
class CoresRun:
    """What the cores say of a program that has ended.

    Attributes
    ----------
    network, engine, cycles, results, console, cores
        As in `ComputerRun`.
    """

    network: str
    engine: str
    cycles: int
    results: list[int]
    console: list[ConsoleLine]
    cores: dict[str, list[int]]

    @property
    def failed(self) -> list[int]:
        """The cores whose result is not 0."""
        return [core for core, result in enumerate(self.results) if result]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data.

        Returns
        -------
        dict[str, Any]
            Of JSON's types.
        """
        return {**asdict(self), "console": [line._asdict() for line in self.console]}


@dataclass(frozen=True)
class ComputerRun(CoresRun):
    """The result of a program.

    Attributes
    ----------
    network : str
        The network, in words.
    engine : str
        The engine that ran it.
    cycles : int
        Cycles until the last core had ended.
    results : list[int]
        What `main` returned in each core.
    console : list[ConsoleLine]
        The lines that cores printed, in the order of time.
    cores : dict[str, list[int]]
        For each core: the cycle in which it `ended`, the `instructions` that ended, and the cycles
        in which none did, by cause: it waited for the fetch of an instruction, for its own memory
        or devices, or for the network, with a load, a store or an update; or (`pipeline`) its
        pipeline filled after a jump, or worked on a long instruction. Together these are all cycles
        of the core.
    links : dict[str, int]
        What crossed each link of the network, by name.
    requests : int
        Requests of all cores to shared memory.
    combined : int
        Requests that boxes or routers combined with others.
    memory_requests : list[int]
        Requests that reached each memory module.
    shared : dict[str, list[int]]
        The words of each global of whole words at the end, as signed numbers.
    warnings : str
        What the compiler said.
    """

    links: dict[str, int]
    requests: int
    combined: int
    memory_requests: list[int]
    shared: dict[str, list[int]]
    warnings: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return (
            f"<ComputerRun of {len(self.results)} cores on {self.network}: {self.cycles} cycles, "
            f"{self.combined} requests combined>"
        )


def run_computer(
    program: str | os.PathLike[str],
    network: Network,
    *,
    engine: str = "auto",
    cycles: int = LIMIT,
    stack: int = STACK_BYTES,
    defines: Sequence[str] = (),
    vcd: str | os.PathLike[str] | None = None,
    vcd_cores: Sequence[int] | None = None,
) -> ComputerRun:
    """Compile a program in C, and run it on a computer with a core at each terminal of a network.

    Parameters
    ----------
    program : path-like
        A file in C that includes `multicube.h`.
    network : Network
        One with memory, or one that carries packets in order and loses none. Its terminals are a
        power of two.
    engine : str
        `auto`, `compiled`, `amaranth` or `verilator`.
    cycles : int
        Cycles after which the run is given up.
    stack : int
        Bytes of each core's stack.
    defines : Sequence[str]
        Macros of the compiler, such as `N=64`.
    vcd : path-like, optional
        A file for the waveforms of some cores; the engine is then `compiled`.
    vcd_cores : Sequence[int], optional
        Which; by default core 0.

    Returns
    -------
    ComputerRun
        What the cores printed and returned, and where they waited.

    Raises
    ------
    ProgramFault
        If a core comes to an exception, such as an access outside of all memory or of its stack, or
        the program does not end.
    TypeError, ValueError
        If the program can't be compiled, or the network is not one of those.
    MulticubeError
        If a package of `multicube[computer]` is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from multicube import build
    >>> from multicube.sim import run_computer
    >>> _ = Path("end.c").write_text("int main(void) { return 0; }")
    >>> run_computer("end.c", build("combining", ports=2)).results
    [0, 0]
    """
    check_kind("Network", network, Network, "a network")
    check_engine(engine)
    cycles = check_integer("Cycles", cycles, 1, _LONGEST)
    watched = [0]
    if vcd_cores is not None:
        if vcd is None:
            raise InvalidValue("Cores for waveforms need a file for them")
        watched = check_several("Cores for waveforms", vcd_cores, "numbers")
    if vcd is not None:
        check_output(vcd)
        if engine not in ("auto", CompiledEngine.name):
            raise InvalidValue(f"Engine must be compiled to write waveforms, not {engine}")
        engine = CompiledEngine.name
    image = compile_program(program, defines=defines, stack=stack)
    computer = computer_of(network, image, stack)
    most = len(computer.nodes) - 1
    watched = [check_integer("Core for waveforms", core, 0, most) for core in watched]
    if len(set(watched)) < len(watched) or not watched:
        raise InvalidValue(f"Cores for waveforms must be some, each once, not {watched}")
    with ExitStack() as opened:
        (running,) = open_engines(engine, [computer])
        opened.enter_context(running)
        step: Callable[[int], None] = running.step
        running.set("on", 1)
        if vcd is not None:
            assert isinstance(running, CompiledEngine)
            cells = [computer.nodes[core] for core in watched]
            step = opened.enter_context(running.vcd(vcd, cells)).step
        try:
            console = _run(running, step, computer, image, cycles)
        except ProgramFault:
            opened.close()  # The waveforms, which show how it came to the fault, are kept.
            raise
        return _result(running, computer, image, console)


def computer_of(
    network: Network, image: ProgramImage, stack: int, *, readable: bool = False
) -> Computer:
    """The computer whose cores have a program and stacks of so many bytes."""
    return Computer(
        network,
        program=image.program,
        local=image.own,
        local_rows=max(len(image.own), stack // 4),
        shared=image.shared,
        shared_words=image.shared_words,
        messages=image.messages,
        readable=readable,
    )


def _run(
    engine: Engine, step: Callable[[int], None], computer: Computer, image: ProgramImage, limit: int
) -> Console:
    """Run until all cores have ended."""
    console = Console(computer.nodes)
    most = CONSOLE_ROWS if step == engine.step else _RECORDED
    while True:
        step(min(most, limit - engine.cycle))
        console.read(engine)
        if (fault := fault_of(engine, console, image)) is not None:
            raise fault
        if all(engine.read(computer.nodes, "done")):
            return console
        if engine.cycle >= limit:
            raise not_ended(engine, console, image)


def cores_run(engine: NodeReader, computer: Computer, console: Console) -> CoresRun:
    """What the cores of a computer say that have all ended."""
    nodes = computer.nodes
    cores = {name: engine.read(nodes, name) for name in ("ended", *COUNTERS)}
    counted = zip(*(cores[name] for name in COUNTERS))
    cores["pipeline"] = [1 + end - sum(each) for end, each in zip(cores["ended"], counted)]
    return CoresRun(
        network=computer.words,
        engine=engine.name,
        cycles=1 + max(cores["ended"]),
        results=[_signed(value) for value in engine.read(nodes, "result")],
        console=console.lines(),
        cores=cores,
    )


def _result(
    engine: Engine, computer: Computer, image: ProgramImage, console: Console
) -> ComputerRun:
    meters = computer.meters.get("combined", {}).values()
    crossed = crossings(engine, computer)
    links: dict[str, int] = {}
    for output, wire in computer.wires.items():
        links[wire.link] = links.get(wire.link, 0) + crossed[output]
    values = []
    if computer.memory is not None:
        rows = [engine.memory(memory_cell(n), "words") for n in range(len(computer.nodes))]
        places = map(computer.memory.stored, range(image.shared_words))
        values = [_signed(rows[module][row]) for module, row in places]
    return ComputerRun(
        **vars(cores_run(engine, computer, console)),
        links=links,
        requests=sum(crossed[output] for output in computer.requests),
        combined=sum(engine.read(list(meters), "total")),
        memory_requests=[crossed[output] for output in computer.memory_inputs],
        shared={
            name: values[at.first : at.first + at.words]
            for name, at in sorted(image.variables.items())
        },
        warnings=image.warnings,
    )


def _signed(value: int) -> int:
    """The number that the lowest bits of a row of memory are."""
    value &= (1 << WORD_BITS) - 1
    return value - (value >> WORD_BITS - 1 << WORD_BITS)
