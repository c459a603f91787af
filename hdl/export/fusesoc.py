"""Core files for FuseSoC 2 (CAPI2), so that projects can find and lint an exported network."""

import json
from importlib.metadata import version

__all__ = ["core_text"]


def core_text(name: str, verilog: str, *, description: str) -> str:
    """A core `multicube:networks:NAME:VERSION` of one Verilog file, with a target `lint`.

    The version is that of the library.

    Parameters
    ----------
    name : str
        Name of the top module, and of the core.
    verilog : str
        The file's name, relative to the core file's folder.
    description : str
        One line.
    """
    # In YAML, text may be quoted as in JSON.
    return f"""\
CAPI=2:
name: {json.dumps(f"multicube:networks:{name}:{version('multicube')}")}
description: {json.dumps(description)}

filesets:
  rtl:
    files: [{json.dumps(verilog)}]
    file_type: verilogSource

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
"""
