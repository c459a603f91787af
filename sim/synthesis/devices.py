"""The FPGAs that designs are measured on, and the primitives counted in each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...hdl.fabric.checks import check_word

__all__ = ["DEVICES", "Area", "Device", "find_device"]


class Area(NamedTuple):
    """The primitives that a design uses.

    Attributes
    ----------
    tables : int
        All look-up tables used: for logic, and for carry cells and memories.
    luts : int
        Look-up tables for logic only (LUT4, SB_LUT4, LUT6).
    multiplexers : int
        Multiplexers that combine tables to wider functions (PFUMX, L6MUX21, MUXF7). They are not
        tables.
    carries : int
        Carry cells (CCU2C, SB_CARRY, CARRY4).
    lut_rams : int
        Memories made of tables (TRELLIS_DPR16X4, RAM16SDP4, RAM32M).
    flip_flops : int
        Flip-flops (TRELLIS_FF, SB_DFF and its kinds).
    block_rams : int
        DP16KD of 18 Kbit, SB_RAM40_4K of 4 Kbit, RAMB18E1.
    others : dict[str, int]
        Cells of other kinds, such as multipliers.

    Examples
    --------
    >>> from multicube.sim.synthesis import Area
    >>> Area(10, 10, 0, 0, 0, 4, 0, {}).tables
    10
    """

    tables: int
    luts: int
    multiplexers: int
    carries: int
    lut_rams: int
    flip_flops: int
    block_rams: int
    others: dict[str, int]


@dataclass(frozen=True)
class Device:
    """An FPGA.

    Parameters
    ----------
    name : str
        Name on the command line.
    part : str
        The device, its package and its speed grade.
    family : str
        Name used by the tools: `synth_FAMILY` in Yosys, `nextpnr-FAMILY`.
    options : tuple[str, ...]
        Options of nextpnr: the device, and pins where there is room.
    cells : Mapping[str, tuple[str, ...]]
        For each field of `Area`, name prefixes of the primitives that it counts.
    per_carry, per_ram : int
        Tables used by a carry cell, and by a memory made of tables.
    flags : str
        What `synth_FAMILY` needs besides.
    target : str
        The target of Verilog for it (`hdl.export.target`): the inputs of its look-up tables.
    places : bool
        Whether nextpnr can place designs on it; otherwise its primitives are only counted.

    Examples
    --------
    >>> from multicube.sim.synthesis import DEVICES
    >>> DEVICES["ecp5-85k"].count({"LUT4": 10, "TRELLIS_FF": 4}).flip_flops
    4
    """

    name: str
    part: str
    family: str
    options: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    per_carry: int = 0
    per_ram: int = 0
    flags: str = ""
    target: str = "lut4"
    places: bool = True

    def count(self, cells: Mapping[str, int]) -> Area:
        """The area, from the number of cells of each type.

        Parameters
        ----------
        cells : Mapping[str, int]
            The numbers, by the name of the primitive.

        Returns
        -------
        Area
            What they take of the device.
        """
        counts = dict.fromkeys(
            ("luts", "multiplexers", "carries", "lut_rams", "flip_flops", "block_rams"), 0
        )
        others: dict[str, int] = {}
        for cell, number in cells.items():
            for field, names in self.cells.items():
                if cell.startswith(names):
                    counts[field] += number
                    break
            else:
                if cell != "$scopeinfo":
                    others[cell] = number
        tables = counts["luts"] + self.per_carry * counts["carries"]
        return Area(tables + self.per_ram * counts["lut_rams"], **counts, others=others)


_ECP5 = {
    "luts": ("LUT4",),
    "multiplexers": ("PFUMX", "L6MUX21"),
    "carries": ("CCU2C",),
    "lut_rams": ("TRELLIS_DPR16X4",),
    "flip_flops": ("TRELLIS_FF",),
    "block_rams": ("DP16KD", "PDPW16KD"),
}
_ICE40 = {
    "luts": ("SB_LUT4",),
    "carries": ("SB_CARRY",),  # Next to a table, whose inputs it shares.
    "flip_flops": ("SB_DFF",),
    "block_rams": ("SB_RAM40",),
}

_XC7 = {
    "luts": ("LUT",),
    "multiplexers": ("MUXF",),
    "carries": ("CARRY4",),  # Next to tables, whose inputs it shares.
    "lut_rams": ("RAM32M", "RAM64M"),
    "flip_flops": ("FD",),
    "block_rams": ("RAMB",),
}
_GOWIN = {
    "luts": ("LUT1", "LUT2", "LUT3", "LUT4"),
    "multiplexers": ("MUX2_LUT",),
    "carries": ("ALU",),
    "lut_rams": ("RAM16S",),
    "flip_flops": ("DFF",),
    "block_rams": ("SDP", "DPB", "SPX9", "pROM"),
}

DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        # A carry cell uses two tables; a memory uses four, and two for its write port.
        Device(
            "ecp5-85k",
            "Lattice LFE5U-85F, CABGA381, speed grade 6",
            "ecp5",
            ("--85k", "--package", "CABGA381", "--speed", "6", "--lpf-allow-unconstrained"),
            _ECP5,
            per_carry=2,
            per_ram=6,
        ),
        Device(
            "ice40-up5k",
            "Lattice iCE40UP5K, SG48",
            "ice40",
            ("--up5k", "--package", "sg48", "--pcf-allow-unconstrained"),
            _ICE40,
        ),
        Device(
            "ice40-hx8k",
            "Lattice iCE40HX8K, CT256",
            "ice40",
            ("--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"),
            _ICE40,
        ),
        # An ALU is a table; a memory uses four.
        Device(
            "gowin",
            "Gowin GW1N and GW2A",
            "gowin",
            (),
            _GOWIN,
            per_carry=1,
            per_ram=4,
            places=False,
        ),
        # A memory of 32 x 6 bits uses the four tables of half a slice.
        Device(
            "xc7",
            "AMD 7-series",
            "xilinx",
            (),
            _XC7,
            per_ram=4,
            flags="-family xc7 -flatten",
            target="lut6",
            places=False,
        ),
    )
}
"""The FPGAs for which designs can be measured, by name."""


def find_device(name: str) -> Device:
    """The device with this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    check_word("Device", name, DEVICES)
    return DEVICES[name]
