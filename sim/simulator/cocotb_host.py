"""The objects of a design as cocotb sees them: modules, words, memories, and callbacks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from amaranth.hdl import DriverConflict, Fragment, Shape, Signal, Value
from amaranth.lib import wiring

from ..engines.amaranth_internals import BaseProcess, MemoryInstance
from .simulator import Simulator

__all__ = ["MODULE_NAME", "CocotbHost"]


MODULE_NAME = "cocotb.simulator"

_KINDS = (
    *("UNKNOWN", "MEMORY", "MODULE", "NETARRAY", "REAL", "INTEGER", "ENUM", "STRING"),
    *("GENARRAY", "PACKAGE", "LOGIC", "LOGIC_ARRAY", "FIXED_STRING", "STRUCTURE", "PACKED"),
)
"""Kinds of objects, of which there are modules, bits, words and memories here."""

_CONSTANTS = {
    **{kind: number for number, kind in enumerate(_KINDS)},
    **{"OBJECTS": 1, "DRIVERS": 2, "LOADS": 3, "RISING": 0, "FALLING": 1, "VALUE_CHANGE": 2},
    **{"RANGE_UP": 1, "RANGE_DOWN": -1, "RANGE_NO_DIR": 0},
}

_DEPOSITS = (0, 3)
"""Ways to write that there are here: at the next moment for writing, and at once."""


class _Callback:
    """A call that cocotb waits for."""

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        self._function, self._arguments = function, arguments
        self.waits = True

    def deregister(self) -> None:
        self.waits = False

    def __call__(self) -> None:
        if self.waits:
            self.waits = False
            self._function(*self._arguments)


class _Changes(BaseProcess):
    """Calls those who wait for changes, in the delta cycle after them."""

    def __init__(self) -> None:
        self.fired: list[_Callback] = []
        self.reset()

    def reset(self) -> None:
        self.runnable = self.critical = False

    def run(self) -> None:
        fired, self.fired = self.fired, []
        for callback in fired:
            callback()


class _Object:
    """A module, signal or memory, as cocotb sees it."""

    kind = "MODULE"

    def __init__(self, name: str, definition: str = "") -> None:
        self._name, self._definition = name, definition

    def get_name_string(self) -> str:
        return self._name

    def get_type(self) -> int:
        return _CONSTANTS[self.kind]

    def get_type_string(self) -> str:
        return f"GPI_{self.kind}"

    def get_definition_name(self) -> str:
        return self._definition

    def get_definition_file(self) -> str:
        return ""

    def get_const(self) -> bool:
        return False

    def get_indexable(self) -> bool:
        return False

    def get_handle_by_index(self, index: int) -> "_Object | None":
        return None

    def get_handle_by_name(self, name: str, discovery: object = None) -> "_Object | None":
        return None

    def iterate(self, mode: int) -> Iterator["_Object"]:
        return iter(())


class _Module(_Object):
    """A module. `ports` take precedence over other signals of the same names."""

    def __init__(
        self, host: "CocotbHost", fragment: Fragment, name: str, ports: Mapping[str, Any] = {}
    ) -> None:
        super().__init__(name)
        design = host.simulator._design
        named = {name: signal for signal, name in design.fragments[fragment].signal_names.items()}
        self._inner: dict[str, _Object] = {
            name: _Word(host, value, name) for name, value in {**named, **ports}.items()
        }
        for each, *_ in fragment.subfragments:
            inner = design.fragments[each].name[-1]
            kind = _Memory if isinstance(each, MemoryInstance) else _Module
            self._inner[inner] = kind(host, each, inner)

    def get_handle_by_name(self, name: str, discovery: object = None) -> _Object | None:
        return self._inner.get(name.strip("\\"))

    def iterate(self, mode: int) -> Iterator[_Object]:
        return iter(self._inner.values() if mode == _CONSTANTS["OBJECTS"] else ())


class _Word(_Object):
    """A signal, a row of a memory, or a bit of these."""

    def __init__(self, host: "CocotbHost", value: Any, name: str) -> None:
        super().__init__(name)
        self.host, self.value = host, value
        self.width = len(Value.cast(value))
        self.kind = "LOGIC" if self.width == 1 else "LOGIC_ARRAY"

    def get_num_elems(self) -> int:
        return self.width

    def get_range(self) -> tuple[int, int, int]:
        return self.width - 1, 0, _CONSTANTS["RANGE_DOWN"]

    def get_handle_by_index(self, index: int) -> _Object | None:
        if index not in range(self.width):
            return None
        return _Word(self.host, Value.cast(self.value)[index], f"{self._name}[{index}]")

    def get_signed(self) -> int:
        return 0

    def get_signal_val_long(self) -> int:
        return int(self.host.engine.get_value(self.value)) & (1 << self.width) - 1

    def get_signal_val_binstr(self) -> str:
        return format(self.get_signal_val_long(), f"0{self.width}b")

    def set_signal_val_int(self, action: int, value: int) -> None:
        if action not in _DEPOSITS:
            raise NotImplementedError(f"{self._name} can't be forced or released here")
        value &= (1 << self.width) - 1
        if Value.cast(self.value).shape().signed and value >> self.width - 1:
            value -= 1 << self.width
        try:
            self.host.engine.set_value(self.value, value)
        except DriverConflict:
            message = f"{self._name} can't be written here: logic makes it"
            raise NotImplementedError(message) from None

    def set_signal_val_binstr(self, action: int, value: str) -> None:
        """All that is neither 0 nor 1 is 0: there is nothing else here."""
        self.set_signal_val_int(action, int("".join("01"[bit in "1H"] for bit in value), 2))


class _Memory(_Object):
    kind = "NETARRAY"

    def __init__(self, host: "CocotbHost", fragment: Fragment, name: str) -> None:
        super().__init__(name)
        data = fragment._data
        self._rows = [
            _Word(host, data[row], f"{name}[{row}]")
            for row in range(data.depth)
            if Shape.cast(data.shape).width
        ]

    def get_indexable(self) -> bool:
        return True

    def get_num_elems(self) -> int:
        return len(self._rows)

    def get_range(self) -> tuple[int, int, int]:
        return 0, len(self._rows) - 1, _CONSTANTS["RANGE_UP"]

    def get_handle_by_index(self, index: int) -> _Object | None:
        return self._rows[index] if index in range(len(self._rows)) else None


class _Clock:
    """A clock of cocotb's `Clock`."""

    def __init__(self, word: _Word) -> None:
        self._word, self._run = word, 0

    def start(self, period: int, high: int, start_high: bool, action: int) -> None:
        self._run += 1
        run = self._run

        def change(level: int) -> None:
            if run == self._run:
                self._word.set_signal_val_int(action, level)
                self._word.host.timed(high if level else period - high, change, 1 - level)

        change(int(start_high))

    def stop(self) -> None:
        self._run += 1


class CocotbHost:
    """Runs a simulation for cocotb.

    Attributes
    ----------
    module : ModuleType
        What takes the place of `cocotb.simulator`.
    """

    def __init__(self, design: Any, name: str) -> None:
        self.simulator = simulator = Simulator(design)
        self.engine = simulator._engine
        ports = {}
        if isinstance(design, wiring.Component):
            for path, _, value in design.signature.flatten(design):
                ports["__".join(map(str, path))] = Value.cast(value)
        self._top = _Module(self, simulator._design.fragment, name, ports)
        self._changes = _Changes()
        self.engine._processes.add(self._changes)
        self._due: list[_Callback] = []
        self._next: list[_Callback] = []
        self._writing: list[_Callback] = []
        self._reading: list[_Callback] = []
        self._ended: Callable[[], object] = lambda: None
        self._runs = True
        self.module = ModuleType(MODULE_NAME)
        vars(self.module).update(
            _CONSTANTS,
            sim_obj=_Object,
            sim_callback=_Callback,
            sim_obj_iterator=Iterator,
            cpp_clock=_Clock,
            clock_create=_Clock,
            get_precision=lambda: -15,
            get_root_handle=lambda name: self._top,
            root_iterate=lambda: iter([self._top]),
            package_iterate=lambda: None,
            get_sim_time=lambda: divmod(self.engine.now, 1 << 32),
            get_simulator_product=lambda: "multicube",
            get_simulator_version=lambda: "",
            get_simulator_args=lambda: [],
            is_running=lambda: self._runs,
            set_gpi_log_level=lambda level: None,
            initialize_logger=lambda log, get: None,
            register_timed_callback=self.timed,
            register_nextstep_callback=self._collects("_next"),
            register_readonly_callback=self._collects("_reading"),
            register_rwsynch_callback=self._collects("_writing"),
            register_value_change_callback=self._changed,
            stop_simulator=self._stop,
            set_sim_event_callback=self._at_end,
        )

    def _collects(self, name: str) -> Callable[..., _Callback]:
        def register(function: Callable[..., Any], *arguments: Any) -> _Callback:
            made = _Callback(function, arguments)
            getattr(self, name).append(made)
            return made

        return register

    def timed(self, interval: int, function: Callable[..., Any], *arguments: Any) -> _Callback:
        made = _Callback(function, arguments)
        self.engine.state.set_delay_waker(interval, lambda: self._due.append(made))
        return made

    def _changed(
        self, word: _Word, function: Callable[..., Any], edge: int, *arguments: Any
    ) -> _Callback:
        made = _Callback(function, arguments)
        if not isinstance(word.value, Signal):
            raise NotImplementedError(f"Nobody can wait for {word.get_name_string()} here")

        def waker(before: int, after: int) -> bool:
            if not made.waits or edge == _CONSTANTS["RISING" if not after & 1 else "FALLING"]:
                return made.waits
            self._changes.fired.append(made)
            self._changes.runnable = True
            return False

        self.engine.state.add_signal_waker(word.value, waker)
        return made

    def _stop(self) -> None:
        self._runs = False

    def _at_end(self, function: Callable[[], object]) -> None:
        self._ended = function

    def run(self) -> None:
        """Run until cocotb stops it, or nothing more happens."""
        timeline = self.engine.state.timeline
        while True:
            self._call("_next")
            self._call("_due")
            self.engine.step_design()
            while self._runs and any(callback.waits for callback in self._writing):
                self._call("_writing")
                self.engine.step_design()
            self._call("_reading")
            if not self._runs:
                return
            if not timeline.advance():
                self._ended()
                return

    def _call(self, name: str) -> None:
        callbacks: list[_Callback] = getattr(self, name)
        setattr(self, name, [])
        for callback in callbacks:
            callback()
