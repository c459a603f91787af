"""The modules of the cells of an exported fabric, each distinct one once."""

import re
from collections import Counter
from functools import lru_cache

from ..fabric.cell import Cell, CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric
from .combinational import ModulePaths
from .memory_modules import with_memories
from .style import Style
from .target import Target, find_target
from .top_ports import CLOCK
from .verilog_module import (
    ModuleTemplate,
    Storage,
    exported_module,
    module_storage,
    with_multiplexers,
)
from .verilog_names import domain_port, plain_name, port_name

__all__ = ["PLAIN_STYLE", "CellModules", "clock_ports", "storage_of"]


PLAIN_STYLE = Style()


Contents = tuple[tuple[str, tuple[int, ...]], ...]


class CellModules:
    """The text of each distinct module, its name, and the names of its Verilog ports."""

    def __init__(
        self, top: str, fabric: Fabric, target: Target, style: Style, parametric: bool
    ) -> None:
        self.texts: list[str] = []
        self.paths: dict[str, ModulePaths] = {}
        self._of: dict[object, tuple[str, set[str]]] = {}
        names: set[str] = set()
        numbers: dict[str, int] = {}
        for type_, cells in fabric.types().items():
            # Memory contents are part of a module's text: cells with different contents share none,
            # but their texts differ in the rows only, if there are any.
            templates: dict[tuple[tuple[str, bool], ...], tuple[ModuleTemplate, ModulePaths]] = {}
            for contents in dict.fromkeys(_frozen(cell) for cell in cells):
                base = name = plain_name(f"{top}_{type_.name}")
                while name in names:
                    numbers[base] = numbers.get(base, 1) + 1
                    name = f"{base}_{numbers[base]}"
                names.add(name)
                memories = tuple((memory, any(row)) for memory, row in contents)
                if memories in templates and style.initial:
                    template, paths = templates[memories]
                    text = template.text(name, dict(contents))
                else:
                    template, paths = templates[memories] = _template(
                        type_, contents, target, style, parametric
                    )
                    text = template.text(name, {})
                header = re.search(r"\((.*?)\);", text, re.DOTALL)
                assert header is not None, f"there is no module {name}"
                present = set(re.findall(r"(\w+),?$", header[1], re.MULTILINE))
                self._of[type_, contents] = name, present
                self.paths[name] = paths
                title = f"// {type_!r}\n" if "\n" not in repr(type_) else ""
                self.texts.append(title + text)
        whole = with_multiplexers(self.texts, top, target)
        self.texts, self.memories = with_memories(whole, top, style)

    def __len__(self) -> int:
        return len(self.texts)

    def of(self, cell: Cell) -> tuple[str, set[str]]:
        return self._of[cell.type, _frozen(cell)]


def clock_ports(type_: CellType, style: Style) -> list[str]:
    """The clocks and resets of a cell's module."""
    names = (CLOCK[0], style.reset_name)
    return [domain_port(domain, name) for domain in type_.domains for name in names]


def _ports(type_: CellType, style: Style) -> list[str]:
    return [*clock_ports(type_, style), *map(port_name, type_.leaves)]


@lru_cache(maxsize=256)
def _template(
    type_: CellType, contents: Contents, target: Target, style: Style, parametric: bool
) -> tuple[ModuleTemplate, ModulePaths]:
    """The module of a cell type whose memories have these contents, and its paths."""
    component, ports = type_.build(dict(contents)), _ports(type_, style)
    name = plain_name(type_.name)
    while name in ports:  # Amaranth would give the port another name
        name += "_"
    for port, count in Counter(ports).items():
        if count > 1:
            raise InvalidValue(f"Port name {port!r} of {type_.name} is that of {count} ports")
    text, paths = exported_module(component, name, ports, target, style, parametric=parametric)
    return ModuleTemplate(text, name), paths


def storage_of(type_: CellType) -> tuple[Storage, ...]:
    """The registers and memories in the Verilog module of a cell type, by their names there."""
    template, _ = _template(type_, (), find_target("lut4"), PLAIN_STYLE, parametric=False)
    return tuple(module_storage(template.text(type_.name, {})))


def _frozen(cell: Cell) -> Contents:
    return tuple(sorted(cell.contents.items()))
