"""Designs to measure: a network, one of its boxes or nodes, or any Verilog."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...hdl.export.style import Style
from ...hdl.export.verilog import verilog_text
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from ...hdl.support.input_file import read_content

__all__ = ["Design", "network_design", "verilog_design"]


@dataclass(frozen=True)
class Design:
    """Verilog, with what is needed to measure it.

    Attributes
    ----------
    files : Mapping[str, str]
        Text of each file by its relative path. Files named .v or .sv are read in this order; they
        can include the others.
    top : str
        Name of the module to measure.
    parameters : Mapping[str, str]
        Values for its parameters, where they differ from the text.
    clock, reset : str, optional
        Names of these inputs; empty if there is none, None to look for a usual name.
    other_clocks : Sequence[str]
        Names of further clocks. Only the speed of `clock` is measured: paths from register to
        register of other clocks, and between two clocks, are not timed.
    slang : bool
        Whether the files are read by Yosys' other reader of SystemVerilog, slang.
    includes : Sequence[str]
        Further folders of included files.

    Examples
    --------
    >>> from multicube.sim.synthesis import Design
    >>> Design({"box.v": "module box(); endmodule"}, top="box").commands()
    ['read_verilog -sv -I. box.v', 'hierarchy -check -top box']
    """

    files: Mapping[str, str]
    top: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    clock: str | None = None
    reset: str | None = None
    other_clocks: Sequence[str] = ()
    slang: bool = False
    includes: Sequence[str] = ()

    def commands(self) -> list[str]:
        """Yosys commands that read the design.

        Returns
        -------
        list[str]
            The commands, in order.
        """
        folders = dict.fromkeys(os.path.dirname(path) for path in self.files)
        folders |= dict.fromkeys(self.includes)
        include = "".join(f" -I{folder or '.'}" for folder in folders)
        if self.slang:
            files = " ".join(self._sources())
            values = "".join(f" -G {name}={value}" for name, value in self.parameters.items())
            options = f"-j 1 --single-unit --ignore-assertions -D SYNTHESIS{include}{values}"
            return [f"read_slang {options} --top {self.top} {files}"]
        read = [f"read_verilog -sv{include} {path}" for path in self._sources()]
        read += [f"chparam -set {name} {value} {self.top}" for name, value in self._values()]
        return [*read, f"hierarchy -check -top {self.top}"]

    def _sources(self) -> list[str]:
        """Those of the files that are read by themselves."""
        further = tuple(f"{folder}/" for folder in self.includes)
        return [
            path
            for path in self.files
            if path.endswith((".v", ".sv")) and not path.startswith(further)
        ]

    def _values(self) -> list[tuple[str, str]]:
        """Parameters in the form that Yosys reads: a value that is not a number is a string."""
        return [
            (name, value if _NUMBER.fullmatch(value) else f'"{value}"')
            for name, value in self.parameters.items()
        ]


def network_design(fabric: Fabric, target: str = "lut4", style: Style | None = None) -> Design:
    """A network, or one of its cells alone, as exported Verilog.

    Parameters
    ----------
    fabric : Fabric
        The network's `fabric`, or that of a cell.
    target : str
        The target of the Verilog; that of a device is `Device.target`.
    style : Style, optional
        What memories and resets are.

    Returns
    -------
    Design
        The module `network` in one file.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim.synthesis import network_design
    >>> network_design(build("cube", ports=4).fabric).top
    'network'
    """
    style = style or Style()
    text = verilog_text(fabric, "network", target=target, style=style)
    return Design({"network.v": text}, "network", clock="clk", reset=style.reset_name)


def verilog_design(
    paths: Sequence[str | os.PathLike[str]],
    top: str,
    parameters: Mapping[str, str] | None = None,
    *,
    clock: str | None = None,
    reset: str | None = None,
    other_clocks: Sequence[str] = (),
    slang: bool = False,
    includes: Sequence[str | os.PathLike[str]] = (),
) -> Design:
    """A module of some Verilog or SystemVerilog files.

    Include files (`.vh` and `.svh`) are looked for in the same folders.

    Parameters
    ----------
    paths : Sequence[str or PathLike]
        Read in this order.
    top : str
        Name of the module.
    parameters : Mapping[str, str], optional
        Its parameters: Verilog numbers, or strings where the files give them strings.
    clock, reset : str, optional
        Names of these inputs; empty if there is none, None to look for a usual name.
    other_clocks : Sequence[str]
        Names of further clocks, whose paths are not timed.
    slang : bool
        Whether slang reads the files.
    includes : Sequence[str or PathLike]
        Further folders of include files, with the folders in them.

    Returns
    -------
    Design
        The files and the module.

    Raises
    ------
    ValueError
        If a name or a value is not valid Verilog, or a file can't be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from multicube.sim.synthesis import verilog_design
    >>> Path("box.v").write_text("module box(); endmodule")
    23
    >>> verilog_design(["box.v"], "box").top
    'box'
    """
    _check("Top", top, r"[A-Za-z_][\w$]*")
    for name, value in (parameters or {}).items():
        _check("Parameter", name, r"[A-Za-z_][\w$]*")
        _check(f"Parameter {name}", value, r"[\w.'+-]+")
        if not slang and _OTHER_NUMBER.fullmatch(value) and not _NUMBER.fullmatch(value):
            raise InvalidValue(
                f"Parameter {name} must be a number such as 8 or 4'hf, or a word, not {value}: "
                "only slang reads others"
            )
    files: dict[str, str] = {}
    sources = [*map(Path, paths)]
    beside = {folder: _headers(folder) for folder in dict.fromkeys(path.parent for path in sources)}
    for number, path in enumerate(sources):
        folder = f"sources{number}"  # its headers beside it; messages of Yosys name the file
        name = re.sub(r"[^\w.]", "_", path.name, flags=re.ASCII)
        files[f"{folder}/{name}{'' if path.suffix in ('.v', '.sv') else '.sv'}"] = _text(path)
        files |= {f"{folder}/{header}": text for header, text in beside[path.parent].items()}
    for name, value in (parameters or {}).items():
        if not slang and not _NUMBER.fullmatch(value) and _has_number(name, files.values()):
            raise InvalidValue(
                f"Parameter {name} must be a number such as 8 or 4'hf, as in the file, not {value}"
            )
    further = []
    for number, root in enumerate(map(Path, includes)):
        further.append(f"includes{number}")
        for header in sorted(path for end in _INCLUDED for path in root.rglob(f"*.{end}")):
            files[f"includes{number}/{header.relative_to(root)}"] = _text(header)
    return Design(
        files, top, dict(parameters or {}), clock, reset, tuple(other_clocks), slang, further
    )


_INCLUDED = ("vh", "svh", "v", "sv")

_NUMBER = re.compile(r"\d+|\d*'s?[bdho][0-9a-fxz_]+", re.IGNORECASE)
"""A number that Yosys' own reader can set a parameter to."""

_OTHER_NUMBER = re.compile(r"[-+]?(0x[\da-f_]+|[\d_]*\.?\d[\d_]*(e[-+]?\d+)?)", re.IGNORECASE)
"""One that it would take for a string, whose bits are a large number."""


def _has_number(name: str, texts: Iterable[str]) -> bool:
    """Whether a parameter is a number in all places where a text gives it one, or a string."""
    values = [re.findall(rf"\b{re.escape(name)}\s*=\s*([\"'\d])", text) for text in texts]
    found = {mark for each in values for mark in each}
    return bool(found) and '"' not in found


def _check(what: str, text: str, pattern: str) -> None:
    if not re.fullmatch(pattern, text, re.ASCII):
        raise InvalidValue(f"{what} must be a Verilog name or value, not {text!r}")


def _headers(folder: Path) -> dict[str, str]:
    """The headers in a folder, by their names."""
    found = sorted([*folder.glob("*.vh"), *folder.glob("*.svh")])
    return {header.name: _text(header) for header in found}


def _text(path: Path) -> str:
    return read_content("File", path).decode(errors="replace")
