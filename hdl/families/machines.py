"""Presets of the networks here: the machines of the case studies (Siegel et al., section VII), and
Cm*, of which Dandamudi and Eager say how many modules and clusters it had."""

from ..networks.preset import Field, Figure, Preset

__all__ = ["PRESETS"]


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


def _fields(address: int, memory: str, amounts: int, data: str) -> tuple[Field, ...]:
    """The fields of a BBN machine's packets, for a memory address of some bits."""
    return (
        Field("destination", 7, "routing bits: the destination tag of 128 ports"),
        Field("origin", 7, "a reply goes back to the PE that sent the request"),
        Field("address", address, f"a byte of a PE's {memory} M-bytes"),
        Field("kind", 2, "request or reply, read or write"),
        Field("amount", amounts, f"{data} data bits, in units of the fewest"),
    )


def _length(fields: tuple[Field, ...], data: str) -> str:
    """The length of packets with these fields and so many data bits."""
    return f"bits:{sum(field.bits for field in fields)}+{data}"


_GP1000 = _fields(22, "four", 4, "16 to 256")
_TC2000 = _fields(24, "16", 2, "32 to 128")

PRESETS: dict[str, Preset] = {
    "aspro": Preset(
        "Goodyear ASPRO: flip network of 32 lines, one control per stage, set by a sequencer",
        "stage-sequenced",
        {"ports": 32, "payload": 1},
        cycle_ns=None,
        path_bits=1,
        source="VII-A",
        papers=("batcher",),
    ),
    # The paper has ASPRO's size; 256 lines are from the works that it names.
    "staran": Preset(
        "Goodyear STARAN: flip network of 256 lines, one control per stage, set by a sequencer",
        "stage-sequenced",
        {"ports": 256, "payload": 1},
        cycle_ns=None,
        path_bits=1,
        source="VII-A",
        papers=("batcher",),
    ),
    "cedar": Preset(
        "Cedar: 8 x 8 boxes of two buffers, packets of 64-bit words, a network each way, memory",
        "processor-memory",
        {
            "ports": 64,
            "radix": 8,
            "depth": 2,
            "output_depth": 2,
            "width": 64,
            "lengths": "1:2:3",
            "memory_latency": 8,
            "memory_interval": 4,
        },
        cycle_ns=85,
        path_bits=64,
        source="VII-B",
        example={"ports": 4, "radix": 2},
    ),
    "pasm": Preset(
        "PASM: circuit-switched Extra Stage Cube, parity on 16-bit paths, destinations checked",
        "cube",
        {"ports": 16, "switch": "circuit", "extra_stage": 1, "payload": 16, "parity": "byte"},
        cycle_ns=None,
        path_bits=16,
        source="VII-D",
        papers=("adams-siegel",),
    ),
    # 128 ports are three stages of 4 x 4 boxes and one of 2 x 2 boxes; the paper does not say how.
    # The paper names checksums too, and further control bits, but no widths: they are left out.
    "gp1000": Preset(
        "BBN GP1000: 4 x 4 boxes, 4-bit paths, wormhole; blocked packets are rejected and retried",
        "butterfly",
        {
            "ports": 128,
            "radix": "4+",
            "switch": "wormhole",
            "policy": "drop",
            "payload": 4,
            "length": _length(_GP1000, "16:256"),
        },
        cycle_ns=125,
        path_bits=4,
        fields=_GP1000,
        bandwidths=(Figure(16, 5.3), Figure(256, 24.4)),
        source="VII-C",
        example={"ports": 16},
    ),
    "tc2000": Preset(
        "BBN TC2000: as the GP1000, with 8 x 8 boxes and 8-bit paths",
        "butterfly",
        {
            "ports": 128,
            "radix": "8+",
            "switch": "wormhole",
            "policy": "drop",
            "payload": 8,
            "length": _length(_TC2000, "32:128"),
        },
        cycle_ns=1000 / 38,
        path_bits=8,
        fields=_TC2000,
        bandwidths=(Figure(32, 86.9), Figure(128, 187.1)),
        source="VII-C",
        example={"ports": 16},
    ),
    "ultracomputer": Preset(
        "NYU Ultracomputer: 2 x 2 combining boxes, cut-through, messages of 2 and 4 words",
        "combining",
        {
            "ports": 256,
            "radix": 2,
            "combine": "ultracomputer",
            "operations": "ultracomputer-sizes",
            "lengths": "2:4",
            "width": 32,
        },
        cycle_ns=None,
        path_bits=32,
        source="VII-F",
        example={"ports": 4},
        papers=("gottlieb",),
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
        papers=("pfister",),
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
        papers=("pfister",),
    ),
    # The prototype: "each PME has its own port".
    "rp3": Preset(
        "IBM RP3 as built: four stages of 4 x 4 boxes of two cycles, buffers of 8 words at inputs",
        "combining",
        _RP3,
        cycle_ns=70,
        path_bits=8,
        source="VII-E",
        papers=("pfister",),
    ),
    # "50 processor memory pairs", "five clusters", "communication within a cluster is via a
    # parallel bus", clusters "communicate via an intercluster bus". A cluster's interface is a
    # module here, not a controller of its own.
    "cm-star": Preset(
        "Cm*: five clusters of ten modules on a bus, joined by another bus",
        "hierarchical",
        {"level1": "bus:ports=10", "level2": "bus:ports=5"},
        cycle_ns=None,
        path_bits=None,
        source="Dandamudi and Eager, II-B",
        example={"level1": "bus:ports=3", "level2": "bus:ports=2"},
    ),
}
"""All presets by name. Parameters that the paper does not give have the network's defaults."""
