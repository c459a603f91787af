"""The communication of a parallel FFT, carried by multistage cube networks.

64 processors hold 4096 complex points, 64 each in the order of their addresses, and compute a
radix-2 FFT by decimation in frequency. Every value that one processor sends to another is recorded:
cycle, source, destination. The record, a *trace*, is then replayed through 64-port cube networks of
2 x 2, 4 x 4 and 8 x 8 boxes.

- In the first six stages, the two points of a butterfly lie on two processors whose numbers differ
  in one bit. Each sends all its points to the other, and computes its own half of the butterflies.
  This permutation passes a Generalized Cube without a conflict.
- In the other six stages butterflies stay inside a processor, and the network is silent.
- The spectrum is then in bit-reversed order: point i moves to the address that is i with its bits
  reversed, so every processor sends one value to every other one. The order is free, but matters.
  `memory`: in the order of memory; in each cycle all processors send to the same one. `rotated`:
  starting with the point of the processor's own number; each cycle is a cyclic shift followed by a
  bit reversal, so destinations differ, but paths share links. `shifted`: first to itself, then to
  the next processor, and so on; each cycle is a cyclic shift, which passes a cube without a
  conflict.

A processor sends one value per cycle (a value for itself takes a cycle too) and computes one
butterfly per cycle. In the first stages it computes as the other processor's values arrive, so the
exchanges follow each other without a pause. The times in the trace are fixed, as if the network had
no delay; values that it can't accept at once wait in front of it.

    python examples/fft.py [--help]
"""

import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
import joblib
import numpy as np
from multicube.hdl import build
from multicube.hdl.fabric.errors import InvalidValue, MulticubeError
from multicube.hdl.support.output_file import whole_file
from multicube.sim import Comparison, Result, Trace, TracePacket, simulate
from multicube.sim.report.look import Look
from multicube.sim.report.save import save_comparison
from multicube.sim.run.sweeps import sweep
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

DEPTH = 8
"""Packets that fit into each queue of the networks."""


class Letter(NamedTuple):
    """A value on its way to a place in another processor's memory."""

    destination: int
    address: int
    value: complex


class Phase(NamedTuple):
    """A part of the program: its start, its length, and the number of values sent."""

    name: str
    start: int
    cycles: int
    values: int


@dataclass
class Machine:
    """Processors that each send one value per cycle to others, and a record of these values."""

    processors: int
    clock: int = 0
    packets: list[TracePacket] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)

    def communicate(self, name: str, outboxes: Sequence[Sequence[Letter]]) -> list[np.ndarray]:
        """Send the letters of every processor in order; return the values that each received.

        The returned arrays are indexed by the letters' addresses, all of which must be written.
        """
        received = [np.full(len(outbox), np.nan, complex) for outbox in outboxes]
        before = len(self.packets)
        for source, outbox in enumerate(outboxes):
            for turn, letter in enumerate(outbox):
                received[letter.destination][letter.address] = letter.value
                if letter.destination != source:
                    packet = TracePacket(self.clock + turn, source, letter.destination)
                    self.packets.append(packet)
        self._phase(name, max(map(len, outboxes)), len(self.packets) - before)
        return received

    def compute(self, name: str, cycles: int) -> None:
        """Let time pass without communication."""
        self._phase(name, cycles, 0)

    def _phase(self, name: str, cycles: int, values: int) -> None:
        self.phases.append(Phase(name, self.clock, cycles, values))
        self.clock += cycles


def _memory_order(processor: int, processors: int, letters: list[Letter]) -> list[Letter]:
    return letters


def _rotated_order(processor: int, processors: int, letters: list[Letter]) -> list[Letter]:
    first = processor % len(letters)
    return letters[first:] + letters[:first]


def _shifted_order(processor: int, processors: int, letters: list[Letter]) -> list[Letter]:
    return sorted(letters, key=lambda letter: (letter.destination - processor) % processors)


ORDERS: dict[str, Callable[[int, int, list[Letter]], list[Letter]]] = {
    "memory": _memory_order,
    "rotated": _rotated_order,
    "shifted": _shifted_order,
}
"""The orders in which a processor sends the points of the last phase, by name."""


def check_sizes(points: int, processors: int) -> None:
    """Raise ValueError if the FFT can't be distributed evenly over the processors."""
    for what, number in (("Points", points), ("Processors", processors)):
        if number < 2 or number & (number - 1):
            raise InvalidValue(f"{what} must be a power of two of at least 2, not {number}")
    if points < processors:
        raise InvalidValue(f"Points must be at least as many as the processors, not {points}")


def parallel_fft(points: np.ndarray, processors: int, order: str) -> tuple[np.ndarray, Machine]:
    """The discrete Fourier transform of complex points, computed by processors that communicate.

    Returns
    -------
    numpy.ndarray
        The spectrum, in its natural order.
    Machine
        The machine, with the record of the values sent.
    """
    total = len(points)
    check_sizes(total, processors)
    share = total // processors
    machine = Machine(processors)
    memory = [block.astype(complex) for block in np.split(points, processors)]

    half = total // 2
    while half >= share:
        # The butterflies of this stage pair points `half` apart, on processors `reach` apart.
        reach = half // share
        outboxes = [
            [Letter(own ^ reach, j, value) for j, value in enumerate(block)]
            for own, block in enumerate(memory)
        ]
        received = machine.communicate(f"exchange across {reach}", outboxes)
        for own in range(processors):
            if own & reach:
                index = (own * share + np.arange(share)) % half
                turn = np.exp(-1j * np.pi * index / half)
                memory[own] = (received[own] - memory[own]) * turn
            else:
                memory[own] = memory[own] + received[own]
        half //= 2

    stages = 0
    while half >= 1:
        turn = np.exp(-1j * np.pi * np.arange(half) / half)
        for block in memory:
            upper, lower = block.reshape(-1, 2, half).transpose(1, 0, 2)
            upper[:], lower[:] = upper + lower, (upper - lower) * turn
        half //= 2
        stages += 1
    machine.compute(f"{stages} stages inside processors", stages * share // 2)

    bits = total.bit_length() - 1
    outboxes = []
    for own, block in enumerate(memory):
        letters = []
        for j, value in enumerate(block):
            target = int(f"{own * share + j:0{bits}b}"[::-1], 2)
            letters.append(Letter(target // share, target % share, value))
        outboxes.append(ORDERS[order](own, processors, letters))
    memory = machine.communicate(f"bit reversal, {order}", outboxes)
    return np.concatenate(memory), machine


def write_trace(path: Path, packets: Sequence[TracePacket]) -> None:
    """Write a trace as `multicube sim --trace` reads it."""
    with whole_file(path) as file, open(file, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("cycle", "source", "destination"))
        for packet in sorted(packets, key=lambda packet: (packet.cycle, packet.source)):
            writer.writerow((packet.cycle, packet.source, packet.destination))


def box_sizes(ports: int) -> list[int]:
    """Those of the radices 2, 4 and 8 that a network of this size can have."""
    return [radix for radix in (2, 4, 8) if ports in (radix**n for n in range(1, 33))]


def is_fast(engine: str) -> bool:
    """Whether the engine is orders of magnitude faster than Amaranth's simulator."""
    smallest = simulate(build("cube", ports=2), cycles=1, warmup=0, engine=engine)
    return smallest.engine != "amaranth"


def carry(parameters: dict[str, Any], trace: Trace, engine: str) -> Result:
    """Run a trace on a cube network."""
    return simulate(build("cube", **parameters), traffic=trace, engine=engine)


def program_table(phases: Sequence[Phase]) -> Table:
    """A table of the program's phases."""
    table = Table("phase", "from cycle", "cycles", "values sent")
    for phase in phases:
        table.add_row(phase.name, str(phase.start), str(phase.cycles), str(phase.values))
    return table


def replay_table(
    traces: dict[str, Trace], parameters: Sequence[dict[str, Any]], engine: str
) -> Table:
    """Run each trace on each network, in parallel processes; return the results."""
    jobs = [(order, choice) for order in traces for choice in parameters]
    results = joblib.Parallel(n_jobs=-1)(
        joblib.delayed(carry)(choice, traces[order], engine) for order, choice in jobs
    )
    engine = results[0].engine
    table = Table(
        title=f"The trace on cube networks (engine {engine})",
        box=SIMPLE,
        padding=(0, 1, 0, 0),
    )
    for column in ("order", "queues"):
        table.add_column(column)
    for column in ("boxes", "stages", "trace", "done", "mean", "p95", "max", "rate", "lost"):
        table.add_column(column, justify="right")
    for (order, choice), result in zip(jobs, results):
        latency = result.latency
        table.add_row(
            order,
            choice["switch"].removesuffix("-queued"),
            f"{choice['radix']}x{choice['radix']}",
            str(build("cube", **choice).stages),
            str(traces[order].cycles),
            str(result.cycles),
            f"{latency.mean:.2f}",
            str(latency.p95),
            str(latency.max),
            f"{result.throughput:.4f}",
            str(result.lost),
        )
    table.caption = (
        "trace, done: cycles until the last value is sent, and until it has arrived;\n"
        "mean, p95, max: latency in cycles; rate: packets per terminal per cycle"
    )
    return table


def draw_curves(path: Path, ports: int, engine: str, fast: bool) -> None:
    """Draw latency and throughput under uniform traffic, for boxes of both sizes."""
    loads = [0.3, 0.6, 0.8]
    options: dict[str, Any] = {"cycles": 80, "warmup": 40, "refine": False}
    if fast:
        loads = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9]
        options = {"cycles": 20_000}
    radices = [radix for radix in box_sizes(ports) if radix <= 4]
    networks = [build("cube", ports=ports, radix=radix, depth=DEPTH) for radix in radices]
    sweeps = [
        sweep(network, loads, engine=engine, progress=True, **options) for network in networks
    ]
    comparison = Comparison(sweeps, [f"{radix} x {radix} boxes" for radix in radices])
    title = f"{ports}-port cube networks, output queues of {DEPTH} packets, uniform traffic "
    save_comparison(comparison, path, Look(title=f"{title}(hollow: saturated)"))


@click.command(context_settings={"show_default": True})
@click.option("--points", default=4096, help="Length of the FFT, a power of two.")
@click.option("--processors", default=64, help="A power of two.")
@click.option("--output", default="demo-out", help="Folder for traces and pictures.")
@click.option("--engine", default="auto", help="Engine of the simulations; see `multicube list`.")
@click.option("--seed", default=1, help="Seed of the points to transform.")
def demo(points: int, processors: int, output: str, engine: str, seed: int) -> None:
    """Carry the communication of a parallel FFT through cube networks."""
    check_sizes(points, processors)
    fast = is_fast(engine)
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)

    random = np.random.default_rng(seed)
    signal = random.standard_normal(points) + 1j * random.standard_normal(points)
    machines: dict[str, Machine] = {}
    for order in ORDERS:
        spectrum, machines[order] = parallel_fft(signal, processors, order)
        error = np.abs(spectrum - np.fft.fft(signal)).max() / np.abs(spectrum).max()
        if not error < 1e-10:
            raise MulticubeError(f"The FFT differs from numpy's by {error:.1e} of its maximum")
    console.print(
        f"FFT of {points} points on {processors} processors: "
        f"equal to numpy's within {error:.0e} of its maximum"
    )
    console.print(program_table(machines["memory"].phases))

    first = 0
    if not fast:
        first = machines["memory"].phases[-1].start
        console.print(
            "Only Amaranth's simulator is available (a compiler, such as gcc, makes the runs "
            "thousands of times faster): only the last phase is simulated, and the curves are "
            "those of smaller networks."
        )
    traces = {}
    for order, machine in machines.items():
        file = folder / ("fft.csv" if order == "memory" else f"fft-{order}.csv")
        write_trace(file, machine.packets)
        late = [packet for packet in machine.packets if packet.cycle >= first]
        packets = [replace(packet, cycle=packet.cycle - first) for packet in late]
        traces[order] = Trace(str(file), tuple(packets))
    choices = [
        {"ports": processors, "radix": radix, "switch": switch, "depth": DEPTH}
        for radix in box_sizes(processors)
        for switch in ("output-queued", "input-queued")
        if fast or (radix <= 4 and switch == "output-queued")
    ]
    shown = {order: trace for order, trace in traces.items() if fast or order != "rotated"}
    console.print(replay_table(shown, choices, engine))

    picture = folder / "latency.png"
    draw_curves(picture, processors if fast else min(processors, 16), engine, fast)
    console.print(f"Traces: {', '.join(trace.name for trace in traces.values())}; replay one with")
    console.print(f"  multicube sim cube ports={processors} --trace {folder / 'fft.csv'}")
    console.print(f"Latency curves: {picture}")


def main() -> None:
    """Run the demo and exit: errors are one line on standard error."""
    try:
        demo.main(standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message())
    except (MulticubeError, OSError) as error:
        _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", 130)


def _fail(message: str, status: int = 2) -> NoReturn:
    click.echo(f"fft.py: {' '.join(message.split())}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
