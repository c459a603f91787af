"""The RISC-V core Minerva, of the package `pythondata-cpu-minerva`, as a cell needs it.

Its bus comes from amaranth-soc, which luna-soc has inside. What is read of the core's inside is
read here only.
"""

import importlib
import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.hdl import Elaboratable, Fragment, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..fabric.errors import MulticubeError

__all__ = ["Core", "core_missing", "minerva"]

_INSIDE = {"pythondata_cpu_minerva": "sources", "luna_soc": "gateware/vendor"}
"""Where the core and its bus are inside packages."""


class Core(NamedTuple):
    """A core and what is known of its state in each cycle.

    Attributes
    ----------
    logic : Elaboratable
    ibus, dbus
        Its Wishbone buses for instructions and for data.
    retired : Value
        An instruction ends in this cycle.
    trapped : Value
        An instruction ends with an exception, which the following describe.
    cause, value : Value
        `mcause` and `mtval`.
    end_pc : Value
        The address of the instruction that ends.
    valid, pc : Value
        There is an instruction in the stage in which loads and stores wait; and its address.
    """

    logic: Elaboratable
    ibus: Any
    dbus: Any
    retired: Value
    trapped: Value
    cause: Value
    value: Value
    end_pc: Value
    valid: Value
    pc: Value


def core_missing() -> str:
    """The packages that are missing, or ""."""
    return ", ".join(name for name in _INSIDE if importlib.util.find_spec(name) is None)


def minerva(reset_address: int) -> Core:
    """A core that multiplies and divides, without caches.

    Its divider starts only at divisions. As its authors have it, it also starts at every other
    instruction whose code has the same three bits, such as shifts to the right, AND, OR and many
    branches, which then take 33 cycles longer.

    Raises
    ------
    MulticubeError
        If it is not installed.
    """
    core = _minerva_class()(reset_address=reset_address, with_muldiv=True)
    core._divider = _OnlyDivisions(core._divider, core._x.sink.p.divide)
    exception, w, m = core._exception, core._w, core._m
    return Core(
        logic=_Quiet(core),
        ibus=core.ibus,
        dbus=core.dbus,
        retired=w.valid & ~w.sink.p.trap,
        trapped=exception._mcause.f.w_en,
        cause=exception._mcause.f.w_data,
        value=exception._mtval.f.w_data,
        end_pc=w.sink.p.pc,
        valid=m.sink.valid,
        pc=m.sink.p.pc,
    )


def _minerva_class() -> Any:
    if "minerva.core" not in sys.modules:
        if missing := core_missing():
            raise MulticubeError(f"{missing} is not installed: pip install 'multicube[computer]'")
        folders = []
        for package, folder in _INSIDE.items():
            spec = importlib.util.find_spec(package)
            assert spec is not None
            assert spec.submodule_search_locations
            folders.append(str(Path(spec.submodule_search_locations[0], folder)))
        # Last, so that amaranth-soc itself comes first where it is installed.
        sys.path += folders
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module("minerva.core")
        finally:
            for folder in folders:
                sys.path.remove(folder)
        if sys.version_info >= (3, 14):
            _annotate(sys.modules["minerva.csr.reg"].Register)
    return sys.modules["minerva.core"].Minerva


def _annotate(register: Any) -> None:
    """Registers read their fields from `self.__annotations__`, which only classes have now."""
    given = register.__init__

    def init(self: Any, *fields: Any) -> None:
        self.__annotations__ = type(self).__annotations__
        given(self, *fields)

    register.__init__ = init


class _OnlyDivisions(wiring.Component):
    """A divider that starts only where the core has a division in this stage."""

    def __init__(self, divider: Any, divides: Value) -> None:
        self._inner = divider
        self._divides = divides
        super().__init__(divider.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        for name, member in self.signature.members.items():
            outer = getattr(self, name)
            if member.flow == Out:
                m.d.comb += outer.eq(getattr(inner, name))
            else:
                started = outer & self._divides if name == "x_valid" else outer
                m.d.comb += getattr(inner, name).eq(started)
        return m


class _Quiet(Elaboratable):
    """Logic that is elaborated without the warnings that its authors have left."""

    def __init__(self, logic: Elaboratable) -> None:
        self._logic = logic

    def elaborate(self, platform: object) -> Fragment:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Fragment.get(self._logic, platform)
