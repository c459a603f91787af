"""Measures a design on an FPGA: its area, its storage, and how fast it can be clocked.

Yosys maps the design alone to the primitives of the device, which are counted. Then the harness of
registers (`harness`) is put around the same primitives, and nextpnr places and routes the result
once for each seed.
"""

import json
import re
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...hdl.fabric.checks import check_field
from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.children import scratch_folder
from .design import Design
from .devices import Area, Device, find_device
from .harness import HARNESS, SUBJECT, Roles, find_roles, harness_text, input_of, ports_of
from .tools import SynthesisError, need_tools, place_and_route, run_yosys

__all__ = [
    "STORAGE_PASSES",
    "Measurement",
    "Route",
    "Setup",
    "Storage",
    "area_of",
    "check_limit",
    "measure",
    "read_design",
    "source_name",
    "stat_of",
    "storage_of",
    "synthesise",
]


class Storage(NamedTuple):
    """Bits that a design has to hold.

    Attributes
    ----------
    registers : int
        Bits of registers.
    memories : int
        Bits of memories.

    Examples
    --------
    >>> from multicube.sim.synthesis import Storage
    >>> sum(Storage(registers=32, memories=1024))
    1056
    """

    registers: int
    memories: int


class Route(NamedTuple):
    """One placement and routing.

    Attributes
    ----------
    seed : int
        The seed of the placer.
    fmax : float
        In MHz.
    logic, routing : float
        Delay of the longest path in ns: inside primitives, and between them.
    begin, end : str
        The cells at its ends, as nextpnr names them.
    path : tuple[str, ...]
        Along it, the names of registers, memories and signals of the source; "an input" and "an
        output" are ports of the design.
    """

    seed: int
    fmax: float
    logic: float
    routing: float
    begin: str
    end: str
    path: tuple[str, ...] = ()


def check_limit(limit: float) -> None:
    """Raise ValueError if a tool can't be given so many seconds."""
    if not 0 < limit <= 1e6:
        raise InvalidValue(f"Limit must be above 0 and at most 1000000 seconds, not {limit:g}")


@dataclass(frozen=True)
class Setup:
    """How a design is measured.

    Parameters
    ----------
    device : str
        One of `DEVICES`.
    seeds : int
        Number of placements and routings, with the seeds 1, 2, ..., at most 1,000. With 0, only the
        primitives are counted.
    flags : str
        Further flags for `synth_ecp5`, `synth_ice40` and so on of Yosys.
    limit : float
        Seconds for each run of a tool, at most 1,000,000.

    Raises
    ------
    ValueError
        If a required tool is not installed.

    Examples
    --------
    >>> from multicube.sim.synthesis import Setup
    >>> Setup(seeds=3).target.family
    'ecp5'
    """

    device: str = "ecp5-85k"
    seeds: int = 3
    flags: str = ""
    limit: float = 600

    def __post_init__(self) -> None:
        check_field(self, "seeds", "Seeds", 0, 1000)
        for word in self.flags.split():
            if not re.fullmatch(r"-\w+", word):
                raise InvalidValue(f"Flags must be words such as -nowidelut, not {word!r}")
        check_limit(self.limit)
        if self.seeds and not self.target.places:
            raise InvalidValue(
                f"Nothing places designs on {self.device}: with seeds=0 its primitives are counted"
            )
        need_tools(self.target if self.seeds else None)

    @property
    def target(self) -> Device:
        """The device with this name."""
        return find_device(self.device)

    @property
    def verilog(self) -> str:
        """What Verilog is made for that is measured so: a name in `hdl.export.target.TARGETS`."""
        return self.target.target


@dataclass(frozen=True)
class Measurement:
    """The measured area, storage and speed.

    Attributes
    ----------
    setup : Setup
        Device, seeds and flags.
    area : Area
        Area of the design alone.
    storage : Storage
        Bits that it has to store on any device.
    bits : tuple[int, int]
        Bits of its inputs and of its outputs, without clock and reset.
    routes : list[Route]
        One per seed.
    tools : dict[str, str]
        Version of each tool's package.
    seconds : float
        Time that the measurement took.
    """

    setup: Setup
    area: Area
    storage: Storage
    bits: tuple[int, int]
    routes: list[Route]
    tools: dict[str, str]
    seconds: float

    @property
    def fmax(self) -> float | None:
        """Median over the seeds, in MHz; None if there are no seeds."""
        return statistics.median(route.fmax for route in self.routes) if self.routes else None

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON.

        Returns
        -------
        dict[str, Any]
            The values by name.
        """
        speeds = [route.fmax for route in self.routes]
        return {
            "device": {"name": self.setup.device, "part": self.setup.target.part},
            "area": self.area._asdict(),
            "storage": {**self.storage._asdict(), "bits": sum(self.storage)},
            "input_bits": self.bits[0],
            "output_bits": self.bits[1],
            "fmax_mhz": {
                "median": self.fmax,
                "min": min(speeds, default=None),
                "max": max(speeds, default=None),
            },
            "routes": [route._asdict() for route in self.routes],
            "flags": self.setup.flags,
            "tools": self.tools,
            "seconds": self.seconds,
        }


STORAGE_PASSES = """
flatten; opt; memory_collect; memory_map -rom-only
memory_map t:$mem_v2 r:SIZE=1 %i
memory_unpack; simplemap t:$*dff* t:$*latch*; opt_clean
"""
"""Yosys passes after which a design's storage can be counted: unused parts are removed, memories of
one row become registers, and tables of constants become logic."""


def storage_of(stat: Mapping[str, Any]) -> Storage:
    """The storage of a module, from the output of `stat -json`."""
    cells = stat["num_cells_by_type"].items()
    registers = sum(number for cell, number in cells if re.search("DFF|LATCH|_SR_", cell))
    return Storage(registers, stat["num_memory_bits"])


def measure(
    design: Design, setup: Setup | None = None, progress: Callable[[str], None] = lambda step: None
) -> Measurement:
    """Measure a design on an FPGA.

    Parameters
    ----------
    design : Design
        The Verilog.
    setup : Setup, optional
        Device, seeds and flags; by default those of `Setup()`.
    progress : Callable[[str], None]
        Called at the start of each step with its description: two steps, and one per seed.

    Returns
    -------
    Measurement
        Area, storage and speed.

    Raises
    ------
    ValueError
        If Yosys does not accept the design, or its ports can't be used.
    SynthesisError
        If a tool takes too long, or the design does not fit the device.

    Examples
    --------
    >>> from multicube.sim.synthesis import Design, Setup, measure
    >>> text = "module both(input a, b, output y); assign y = a & b; endmodule"
    >>> design = Design({"both.v": text}, top="both")
    >>> measure(design, Setup(seeds=0)).area.tables
    1
    """
    setup = setup or Setup()
    versions = need_tools(setup.target if setup.seeds else None)
    begin = time.monotonic()
    with scratch_folder() as folder:
        progress("reading")
        roles, storage = read_design(design, folder, setup.limit)
        progress("synthesis")
        area = synthesise(setup, roles if setup.seeds else None, folder)
        routes = []
        for seed in range(1, setup.seeds + 1):
            progress(f"seed {seed}")
            report = place_and_route(setup.target, "harness.json", seed, folder, setup.limit)
            routes.append(_route(seed, report, roles))
    seconds = time.monotonic() - begin
    return Measurement(setup, area, storage, roles.bits, routes, versions, seconds)


def area_of(design: Design, setup: Setup) -> Area:
    """The area of a design alone. Raises as `measure`."""
    with scratch_folder() as folder:
        read_design(design, folder, setup.limit)
        return synthesise(setup, None, folder)


def read_design(design: Design, folder: Path, limit: float) -> tuple[Roles, Storage]:
    """The roles of a design's ports, and its storage. Writes the design to design.il."""
    for path, text in design.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    script = [
        *design.commands(),
        "proc",
        f"rename -top {SUBJECT}",
        "write_rtlil design.il",
        f"select {SUBJECT}; write_json -selected ports.json; select -clear",
        STORAGE_PASSES,
        "tee -o storage.json stat -json",
    ]
    run_yosys("\n".join(script), folder, limit)
    ports = ports_of(json.loads((folder / "ports.json").read_text("utf-8")), SUBJECT)
    storage = storage_of(stat_of(folder / "storage.json", SUBJECT))
    roles = find_roles(ports, design.clock, design.reset, design.other_clocks)
    if sum(storage) and roles.clock is None:
        inputs = ", ".join(port.name for port in roles.inputs if port.width == 1)
        raise InvalidValue(f"No clock found among the inputs ({inputs}): name it with --clock")
    return roles, storage


def synthesise(setup: Setup, roles: Roles | None, folder: Path) -> Area:
    """Map design.il to primitives and count them; with `roles`, also put it into its harness."""
    device = setup.target
    script = [
        "read_rtlil design.il",
        f"synth_{device.family} {device.flags} {setup.flags} -top {SUBJECT}",
        "setattr -mod -unset keep_hierarchy *; flatten; opt_clean -purge",
        "tee -o area.json stat -json",
    ]
    if roles is not None:
        (folder / "harness.v").write_text(harness_text(roles), "utf-8")
        script += [
            "design -stash mapped",
            "read_verilog harness.v",
            f"synth_{device.family} -noflatten -top {HARNESS}",
            f"design -copy-from mapped {SUBJECT}",
            f"hierarchy -check -top {HARNESS}",
            "flatten; opt_clean",
            "write_json harness.json",
        ]
    run_yosys("\n".join(script), folder, setup.limit)
    return device.count(stat_of(folder / "area.json", SUBJECT)["num_cells_by_type"])


def stat_of(path: Path, module: str) -> dict[str, Any]:
    """What `stat -json` wrote of a module."""
    return json.loads(path.read_text("utf-8"))["modules"][f"\\{module}"]


_OTHER_PIN = re.compile(r"clk_\d+")


def _route(seed: int, report: Mapping[str, Any], roles: Roles) -> Route:
    # The clock nets as the text names them: nextpnr's global networks, and pins, have longer names.
    nets = {net: net.removeprefix("$glbnet$").split("$")[0] for net in report["fmax"]}
    if roles.other_clocks:
        nets = {net: name for net, name in nets.items() if not _OTHER_PIN.fullmatch(name)}
    if len(nets) != 1:
        names = ", ".join(input_of(roles, name) or "another" for name in nets.values()) or "none"
        raise SynthesisError(
            f"Only designs with a single clock can be measured, not with {names} "
            "(name further clocks that are inputs with --other-clock)"
        )
    (clock,) = nets
    speed = report["fmax"][clock]
    # Paths are from an edge of a clock to one of a clock: "posedge clk".
    longest = next(
        path
        for path in report["critical_paths"]
        if {path[end].split(" ", 1)[-1] for end in ("from", "to")} == {clock}
    )
    steps = longest["path"]
    routing = sum(step["delay"] for step in steps if step["type"] == "routing")
    logic = sum(step["delay"] for step in steps) - routing
    ends = steps[0]["from"]["cell"], steps[-1]["to"]["cell"]
    passed = [ends[0], *(step["net"] for step in steps if step["type"] == "routing"), ends[1]]
    path = tuple(dict.fromkeys(map(source_name, passed)))
    return Route(seed, speed["achieved"], logic, routing, *ends, path)


def source_name(name: str) -> str:
    """The name in the source from which a tool made the name of a cell or a net.

    The tools append what they made of it. Parts of an exported network are joined by "__".
    """
    if name.startswith("scan_"):
        return "an input" if name.startswith("scan_in") else "an output"
    name = re.sub(r"(_(LUT4|TRELLIS|CCU2C|PFUMX|L6MUX21|SB)_|(\.\d+)+(_DO)?|\$|\[).*", "", name)
    return name.removeprefix("subject.").removeprefix("alone.").replace("__", ".")
