"""Core files for FuseSoC 2 (CAPI2), so that projects can find, lint and synthesise a network."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import PurePath

from .target import Target

__all__ = ["core_text", "memories_file"]


def memories_file(verilog: str) -> str:
    """The file in which cores and components expect the external memories of a Verilog file."""
    return f"{PurePath(verilog).stem}_memories.v"


def core_text(
    name: str, verilog: str, *, description: str, target: Target, external: Sequence[str] = ()
) -> str:
    """A core `multicube:networks:NAME:VERSION` of one Verilog file, and one of external memories.

    The version is that of the library. Besides `lint` there is a target for each tool that the
    Verilog is made for, with the flags that it needs.

    Parameters
    ----------
    name : str
        Name of the top module, and of the core.
    verilog : str
        The file's name, relative to the core file's folder.
    description : str
        One line.
    target : Target
        What the Verilog is made for.
    external : Sequence[str]
        The modules of memories that `memories_file` must have.
    """
    stem = PurePath(verilog).stem
    files, yours = [verilog], ""
    if external:
        files.append(memories_file(verilog))
        yours = f"    # {files[-1]} is yours: it must have {', '.join(external)}.\n"
    # In YAML, text may be quoted as in JSON.
    return f"""\
CAPI=2:
name: {json.dumps(f"multicube:networks:{name}:{version('multicube')}")}
description: {json.dumps(description)}

filesets:
  rtl:
{yours}    files: {json.dumps(files)}
    file_type: verilogSource
  sdc:
    files:
      - {json.dumps(f"{stem}.sdc")}: {{file_type: SDC}}
  xdc:
    files:
      - {json.dumps(f"{stem}.xdc")}: {{file_type: xdc}}

# The Verilog is made for {target.description}.
targets:
  default: &default
    filesets: [rtl]
    toplevel: {json.dumps(name)}
  lint:
    <<: *default
    description: Verilator's linter
    flow: lint
    flow_options:
      tool: verilator
      verilator_options: [-Wall]
{_SYNTHESIS[target.name]}"""


def _yosys(name: str, title: str, architecture: str, options: str, form: str = "json") -> str:
    return f"""\
  {name}:
    <<: *default
    description: Synthesis for {title} by Yosys
    flow: generic
    flow_options:
      tool: yosys
      arch: {architecture}
      output_format: {form}
      yosys_synth_options: [{options}]
"""


# Where tables can be joined to wider ones, Yosys prefers these, and needs a multiple of the tables.
_SYNTHESIS = {
    "lut4": _yosys("ecp5", "Lattice ECP5", "ecp5", "-nowidelut")
    + _yosys("ice40", "Lattice iCE40", "ice40", "")
    + _yosys("gowin", "Gowin", "gowin", "-nowidelut"),
    "lut6": _yosys("xc7", "AMD 7-series", "xilinx", "-family xc7, -flatten", "edif")
    + """\
  vivado:
    <<: *default
    description: Synthesis for AMD 7-series by Vivado
    filesets: [rtl, xdc]
    flow: vivado
    flow_options:
      part: xc7a35tcsg324-1
      pnr: none
  quartus:
    <<: *default
    description: Synthesis for Cyclone V by Quartus
    filesets: [rtl, sdc]
    default_tool: quartus
    tools:
      quartus:
        family: Cyclone V
        device: 5CSEMA5F31C6
        pnr: none
""",
    "asic": "",
}
