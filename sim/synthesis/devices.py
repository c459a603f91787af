"""The FPGAs that designs are measured on, and what is counted in each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...hdl.core.errors import InvalidValue

__all__ = ["DEVICES", "Area", "Device", "find_device"]


class Area(NamedTuple):
    """Primitives that a design takes.

    Attributes
    ----------
    tables : int
        All 4-input look-up tables that are taken: those of logic, and those that carry cells and
        memories stand on.
    luts : int
        Tables of logic alone (LUT4, SB_LUT4).
    multiplexers : int
        That make wider functions of tables (PFUMX, L6MUX21). They are beside the tables.
    carries : int
        Carry cells (CCU2C, SB_CARRY).
    lut_rams : int
        Memories of 16 x 4 bits made of tables (TRELLIS_DPR16X4).
    flip_flops : int
    block_rams : int
        DP16KD of 18 Kbit, SB_RAM40_4K of 4 Kbit.
    others : dict[str, int]
        Cells of other kinds, such as multipliers.
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
        As the command takes it.
    part : str
        The device, its package and its speed grade.
    family : str
        Of the tools: `synth_FAMILY` in Yosys, `nextpnr-FAMILY`.
    options : tuple[str, ...]
        Of nextpnr: the device, and pins where there is room.
    cells : Mapping[str, tuple[str, ...]]
        The beginnings of the names of the primitives that are counted in each field of `Area`.
    per_carry, per_ram : int
        Tables that a carry cell stands on, and a memory of 16 x 4 bits.
    """

    name: str
    part: str
    family: str
    options: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    per_carry: int = 0
    per_ram: int = 0

    def count(self, cells: Mapping[str, int]) -> Area:
        """The area of so many cells of each type."""
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
    "carries": ("SB_CARRY",),  # Beside a table, whose inputs it shares.
    "flip_flops": ("SB_DFF",),
    "block_rams": ("SB_RAM40",),
}

DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        # A carry cell is two tables; a memory four, and two that its write port needs.
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
    )
}


def find_device(name: str) -> Device:
    """The device of a name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in DEVICES:
        raise InvalidValue(f"Device must be one of {', '.join(DEVICES)}, not {name!r}")
    return DEVICES[name]
