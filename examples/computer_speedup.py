"""The speed-up of a program by the number of processors, with and without combining.

    pip install 'multicube[computer]'
    python examples/computer_speedup.py [--cores N] [--words W] [-o speedup.svg]

A histogram of W words, of which seven in eight are counted in one bin: `computer/histogram.c` on
combining networks of 1, 4, 16 ... processors.
"""

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from multicube import build
from multicube.sim import run_computer

PROGRAM = Path(__file__).parent / "computer" / "histogram.c"


def cycles(cores: int, words: int, combine: str) -> int:
    """How long the histogram takes."""
    network = build("combining", ports=cores, combine=combine)
    return run_computer(PROGRAM, network, defines=[f"EACH={words // cores}"]).cycles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cores", type=int, default=256, help="most processors (256)")
    parser.add_argument("--words", type=int, default=4096, help="words in all (4096)")
    parser.add_argument("-o", "--output", default="speedup.svg", help="picture (speedup.svg)")
    asked = parser.parse_args()
    if asked.cores < 2 or asked.words < asked.cores:
        sys.exit("There must be 2 processors or more, and a word for each")
    sizes = [2 << step for step in range(20) if 2 << step <= asked.cores]
    print("processors   combining   without")
    taken: dict[str, list[int]] = {"all": [], "none": []}
    for size in sizes:
        for combine, found in taken.items():
            found.append(cycles(size, asked.words, combine))
        print(f"{size:10} {taken['all'][-1]:11} {taken['none'][-1]:9}", flush=True)
    figure, axes = pyplot.subplots(figsize=(5, 4))
    for combine, label in (("all", "combining"), ("none", "without")):
        first = sizes[0] * taken[combine][0]
        axes.loglog(sizes, [first / found for found in taken[combine]], "o-", label=label, base=2)
    axes.loglog(sizes, sizes, ":", color="grey", label="processors", base=2)
    axes.set_xlabel("processors")
    axes.set_ylabel("speed-up")
    axes.legend()
    figure.savefig(asked.output, bbox_inches="tight")


if __name__ == "__main__":
    main()
