"""The machines of the case studies (Siegel et al., section VII) as presets of the networks here."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["PRESETS", "Figure", "Preset"]


@dataclass(frozen=True)
class Figure:
    """An effective bandwidth of one path that the paper gives for packets of some size.

    Attributes
    ----------
    data_bits : int
        Data bits per packet.
    megabits : float
        Mbit/s.
    """

    data_bits: int
    megabits: float


@dataclass(frozen=True)
class Preset:
    """The network of a machine.

    Attributes
    ----------
    description : str
    family : str
        The family that it belongs to.
    defaults : dict[str, Any]
        Values for the parameters of this family.
    cycle_ns : float or None
        The printed cycle time of a box, in nanoseconds.
    path_bits : int
        The printed width of a data path in bits.
    overhead : int or None
        Flits of a packet that carry no data, derived from the printed bandwidths.
    bandwidths : tuple[Figure, ...]
        The printed effective bandwidths, for 128 processors.
    source : str
        Section of the paper.
    example : dict[str, Any]
        Parameters of a small network of its kind; see `Family`.
    """

    description: str
    family: str
    defaults: dict[str, Any]
    cycle_ns: float | None
    path_bits: int
    overhead: int | None = None
    bandwidths: tuple[Figure, ...] = field(default_factory=tuple)
    source: str = ""
    example: dict[str, Any] = field(default_factory=lambda: {"ports": 8})


_RP3 = {
    "ports": 128,
    "radix": 4,
    "combine": "none",
    "operations": "rp3",
    "lengths": "2:3",
    "beats": 4,
    "queues": "input",
    "depth": 8,
    "delay": 2,
    "paths": 2,
    "width": 32,
}

PRESETS: dict[str, Preset] = {
    "aspro": Preset(
        "Goodyear ASPRO: flip network of 32 lines, one control per stage, set by a sequencer",
        "stage-sequenced",
        {"ports": 32, "payload": 1},
        cycle_ns=None,
        path_bits=1,
        source="VII-A",
    ),
    # The boxes hold two words at each input and two at each output; a queue of four is both.
    "cedar": Preset(
        "Cedar: 8 x 8 boxes, packets of one to three 64-bit words, forward network",
        "omega",
        {
            "ports": 64,
            "radix": 8,
            "switch": "wormhole",
            "depth": 4,
            "payload": 64,
            "length": "1:3",
        },
        cycle_ns=85,
        path_bits=64,
        source="VII-B",
    ),
    "pasm": Preset(
        "PASM: circuit-switched Extra Stage Cube, parity on 16-bit paths, destinations checked",
        "cube",
        {"ports": 16, "switch": "circuit", "extra_stage": 1, "payload": 16, "parity": "byte"},
        cycle_ns=None,
        path_bits=16,
        source="VII-D",
    ),
    # 128 ports are three stages of 4 x 4 boxes and one of 2 x 2 boxes; the paper does not say how.
    # Packets of 16 to 256 data bits; 5.3 and 24.4 Mbit/s at 8 MHz are 24 and 84 cycles per packet,
    # which is 20 flits of 4 bits in addition to the data both times.
    "gp1000": Preset(
        "BBN GP1000: 4 x 4 boxes, 4-bit paths, wormhole; blocked packets are rejected and retried",
        "butterfly",
        {
            "ports": 128,
            "radix": "4+",
            "switch": "wormhole",
            "policy": "drop",
            "payload": 4,
            "length": "24:84",
        },
        cycle_ns=125,
        path_bits=4,
        overhead=20,
        bandwidths=(Figure(16, 5.3), Figure(256, 24.4)),
        source="VII-C",
        example={"ports": 16},
    ),
    # 32 to 128 data bits; 86.9 and 187.1 Mbit/s at 38 MHz are 14 and 26 cycles per packet.
    "tc2000": Preset(
        "BBN TC2000: as the GP1000, with 8 x 8 boxes and 8-bit paths",
        "butterfly",
        {
            "ports": 128,
            "radix": "8+",
            "switch": "wormhole",
            "policy": "drop",
            "payload": 8,
            "length": "14:26",
        },
        cycle_ns=1000 / 38,
        path_bits=8,
        overhead=10,
        bandwidths=(Figure(32, 86.9), Figure(128, 187.1)),
        source="VII-C",
    ),
    "ultracomputer": Preset(
        "NYU Ultracomputer: 2 x 2 combining boxes, cut-through, messages of 2 and 4 words",
        "combining",
        {
            "ports": 256,
            "radix": 2,
            "combine": "ultracomputer",
            "operations": "ultracomputer",
            "lengths": "2:4",
            "width": 32,
        },
        cycle_ns=None,
        path_bits=32,
        source="VII-F",
        example={"ports": 4},
    ),
    # 512 processor/memory elements; the paper says how many share a port of the other network only.
    "rp3-combining": Preset(
        "IBM RP3, combining network: 2 x 2 boxes, equal operations combine, loads as adds of zero",
        "combining",
        {
            "ports": 128,
            "radix": 2,
            "combine": "rp3",
            "operations": "rp3",
            "lengths": "2:3",
            "width": 32,
            "processors_per_port": 4,
        },
        cycle_ns=None,
        path_bits=32,
        source="VII-E",
        example={"ports": 4, "processors_per_port": 2},
    ),
    # The architectural design: "each port is connected to four PMEs".
    "rp3-design": Preset(
        "IBM RP3 as designed: the network of rp3, with four processors and memories at each port",
        "combining",
        {**_RP3, "processors_per_port": 4},
        cycle_ns=None,
        path_bits=8,
        source="VII-E",
        example={"ports": 4, "radix": 2},
    ),
    # The prototype: "each PME has its own port".
    "rp3": Preset(
        "IBM RP3 as built: four stages of 4 x 4 boxes of two cycles, buffers of 8 words at inputs",
        "combining",
        _RP3,
        cycle_ns=70,
        path_bits=8,
        source="VII-E",
    ),
}
"""All presets by name. Parameters that the paper does not give have the network's defaults."""
