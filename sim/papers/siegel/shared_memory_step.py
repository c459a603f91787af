"""One step of a shared-memory machine on a network with hashed memory (Siegel et al., VIII-G).

In one step of the theoreticians' machine, each of N processors reads one address of a shared memory
in constant time. Here the memory is in N modules behind a multistage cube: a hash function says in
which module an address is, and the step takes until the last reply has arrived.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from tqdm import tqdm

from ....hdl.families.combining_network import CombiningNetwork
from ....hdl.operations.memory import find_operation
from ...measure.confidence_intervals import ratio_interval
from ...run.program_requests import Pause, Program, Request
from ...run.programs import run_programs
from ...workload.hashing import PolynomialHash, random_hash
from ..item import Item, Options, Row, deviation, grouped
from ..panels import Layer, Lines, Panel, Plot, dots
from . import SOURCE

__all__ = ["PATTERNS", "SHARED_MEMORY", "Addresses", "Placement", "Steps", "placed", "run_steps"]

_SIZES = (16, 32, 64, 128, 256, 512, 1024)
_STEPS = 16
"""Steps of each pattern, each with addresses and a hash function of its own."""
_HOT = 1 / 8
"""Probability of the hot address."""
_ROWS = 64
"""Words of a module: more than the addresses of a step that a random function puts into one."""

Addresses = Callable[[int, np.random.Generator], list[int]]


def _distinct(processors: int, random: np.random.Generator) -> list[int]:
    """N different addresses, N apart: modulo N they would all be in one module."""
    return [processors * each for each in range(processors)]


def _random(processors: int, random: np.random.Generator) -> list[int]:
    return random.integers(0, processors, processors).tolist()


def _hot_spot(processors: int, random: np.random.Generator) -> list[int]:
    hot = random.random(processors) < _HOT
    return np.where(hot, 0, random.integers(0, processors, processors)).tolist()


def _one(processors: int, random: np.random.Generator) -> list[int]:
    return [0] * processors


PATTERNS: dict[str, tuple[Addresses, bool]] = {
    "different": (_distinct, False),
    "random": (_random, False),
    "hot spot": (_hot_spot, True),
    "one": (_one, True),
}
"""For each pattern: which address each processor reads, and whether a share of all read one."""


@dataclass(frozen=True)
class Placement:
    """Where the addresses of a step are.

    Attributes
    ----------
    words : list[int]
        For each processor, the word of the network's memory that it reads.
    fullest : int
        The most requests for one module.
    fullest_different : int
        The most requests for different words of one module.
    """

    words: list[int]
    fullest: int
    fullest_different: int


def placed(addresses: Sequence[int], module: PolynomialHash) -> Placement:
    """Place the addresses of a step: in the modules of a hash function, in the next free rows."""
    rows: dict[int, dict[int, int]] = defaultdict(dict)
    words, load = [], [0] * module.modules
    for address in addresses:
        at = module(address)
        load[at] += 1
        row = rows[at].setdefault(address, len(rows[at]))
        words.append(at + module.modules * row)
    return Placement(words, max(load), max(map(len, rows.values())))


@dataclass(frozen=True)
class Steps:
    """Measured steps.

    Attributes
    ----------
    cycles : list[int]
        Of each step, from the offer of all requests to the last reply.
    combined : float
        Requests that were absorbed by another, as a share of all.
    """

    cycles: list[int]
    combined: float


def run_steps(
    network: CombiningNetwork, steps: Sequence[Sequence[int]], engine: str = "auto"
) -> Steps:
    """Run steps one after the other, each when the network is empty.

    Parameters
    ----------
    network : CombiningNetwork
        With the operation load.
    steps : Sequence[Sequence[int]]
        For each step, the word that each processor reads.
    engine : str

    Raises
    ------
    RuntimeError
        If a processor receives another word than it reads, or a step takes longer than N + 4 n + 8
        cycles, so that it would meet the next one.
    """
    period = network.ports + 4 * network.stages + 8
    memory = {word: word + 1 for step in steps for word in step}

    def processor(number: int) -> Program:
        times = []
        for count, step in enumerate(steps):
            now = yield Pause(0)
            start = count * period
            if now > start:
                raise RuntimeError(f"A step must end within {period} cycles")
            yield Pause(start - now)
            found = yield Request("load", step[number])
            if found != memory[step[number]]:
                raise RuntimeError(f"Word {step[number]} must hold its number + 1, not {found}")
            # A program resumes in the cycle after the reply.
            now = yield Pause(0)
            times.append(now - 1 - start)
        return times

    programs = [processor(number) for number in range(network.ports)]
    run = run_programs(network, programs, engine=engine, memory=memory)
    return Steps([max(times) for times in zip(*run.results)], run.share_combined)


def _measure(options: Options) -> Iterator[dict[str, Any]]:
    sizes = _SIZES[:3] if options.quick else _SIZES
    count = 4 if options.quick else _STEPS
    load = (find_operation("load"),)
    bar = tqdm(
        total=2 * len(PATTERNS) * len(sizes),
        unit="measurements",
        disable=None if options.progress else True,
        leave=False,
    )
    with bar:
        for ports in sizes:
            n = ports.bit_length() - 1
            random = np.random.default_rng((options.seed, ports))
            for pattern, (addresses, _) in PATTERNS.items():
                steps = [
                    placed(addresses(ports, random), random_hash(ports, n, random))
                    for _ in range(count)
                ]
                for combine in ("none", "all"):
                    network = CombiningNetwork(ports, combine=combine, rows=_ROWS, operations=load)
                    run = run_steps(network, [step.words for step in steps], options.engine)
                    fullest = "fullest_different" if combine == "all" else "fullest"
                    yield {
                        "pattern": pattern,
                        "combine": combine,
                        "ports": ports,
                        "stages": n,
                        "fullest": fmean(getattr(step, fullest) for step in steps),
                        "measured": fmean(run.cycles),
                        "ci99": ratio_interval(run.cycles, [1] * count, least=2),
                        "most": max(run.cycles),
                        "combined": run.combined,
                    }
                    bar.update()


def _fit(rows: Sequence[Row]) -> None:
    """Add a fit to the rows of one pattern and kind of boxes, and its description.

    Without combining, a module answers all requests for a hot address one after another. Their
    number grows with N; all else should grow with log N.
    """
    pattern, combine = rows[0]["pattern"], rows[0]["combine"]
    linear = combine == "none" and PATTERNS[pattern][1]
    at = [row["ports"] if linear else row["stages"] for row in rows]
    b, a = np.polyfit(at, [row["measured"] for row in rows], 1)
    for x, row in zip(at, rows):
        row["linear"] = linear
        row["fit"] = round(float(a + b * x), 6)
        row["deviation"] = deviation(row["measured"], row["fit"])
    worst = max(abs(row["deviation"]) for row in rows)
    line = f"{a:.2f} + {b:.3f} {'N' if linear else 'log2 N'}"
    rows[0]["line"] = f"{pattern}, combine={combine}: {line}, at most {worst:.1%} off"


def _rows(options: Options) -> Iterator[Row]:
    for rows in grouped(_measure(options), "pattern", "combine").values():
        _fit(rows)
        yield from rows


def _combines(row: Row) -> bool:
    return bool(row["combine"] == "all")


def _filled(row: Row) -> dict[str, Any]:
    return {"fillstyle": "full" if _combines(row) else "none", "markersize": 5}


def _panel(title: str, *more: Layer, linear: bool, **axes: Any) -> Panel:
    """Cycles and their fits; those that grow with N are only in a `linear` panel."""

    def only(row: Row) -> bool:
        return linear or not row["linear"]

    def label(row: Row) -> str:
        return f"{row['pattern']}, {'' if _combines(row) else 'no '}combining" if linear else ""

    return Panel(
        "ports",
        [
            dots(label, only=only, look=_filled),
            Lines("fit", lambda row: "-" if _combines(row) else "--", only=only),
            *more,
        ],
        ["pattern", "combine"],
        colour=lambda row: list(PATTERNS).index(row["pattern"]),
        title=title,
        xlabel="N (processors)",
        ylabel="cycles to the last reply",
        **axes,
        xlog=2,
        ticks=True,
    )


def _draw_least(axes: Axes, rows: Sequence[Row]) -> None:
    least = {row["ports"]: 2 * row["stages"] + 1 for row in rows}
    axes.plot(*zip(*least.items()), ":", color="grey", label="no conflict: 2 log2 N + 1")


def _notes(rows: Sequence[Row], options: Options) -> tuple[str, ...]:
    fits = [row["line"] for row in rows if "line" in row]
    return (
        "Cycles from the offer of N loads to the last reply: mean of steps with different hash "
        "functions. Without any conflict: 2 log2 N + 1.",
        "Different: addresses 0, N, 2 N, ... Random: each of N addresses equally likely. "
        f"Hot spot: address 0 with probability {_HOT:g}, else random. "
        "One: all processors read one address.",
        "Fullest: most requests for one module; with combining, for different addresses "
        "there. Combined: the share of the requests that did not reach the memory themselves.",
        "Fits by least squares, with N or log2 N: " + "; ".join(fits) + ".",
    )


SHARED_MEMORY = Item(
    "siegel-shared-memory",
    "One step of a shared-memory machine with hashed memory, against N and log N",
    f"{SOURCE}, VIII-G",
    columns="pattern | combine | ports = N : , | fullest : .1f | measured = cycles : ,.2f"
    " | ci99 = ± 99 % : .2f | most = max : , | fit : ,.2f | deviation = off : +.1%"
    " | combined : .3f",
    rows=_rows,
    draw=Plot(
        [
            _panel(
                "growth with log N; lines: a + b log2 N", _draw_least, linear=False, ylim=(0, None)
            ),
            _panel("all; lines: fits", linear=True, ylog=10),
        ],
        size=(5.5, 4.8),
    ),
    notes=_notes,
    ignores=("cycles",),
)
