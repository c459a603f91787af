# amaranth: UnusedElaboratable=no
"""An Amaranth component that is made from a fabric."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import wiring

from .fabric import Fabric
from .pins import Path

__all__ = ["FabricComponent", "member"]


def member(component: Any, path: Path) -> Any:
    """The port or interface that a path leads to in a component.

    Parameters
    ----------
    component : Any
        A component or an interface of it.
    path : Path
        Names of members, and indices of arrays.

    Returns
    -------
    Any
        The member.
    """
    for part in path:
        component = component[part] if isinstance(part, int) else getattr(component, part)
    return component


class FabricComponent(wiring.Component):
    """An Amaranth component made from a fabric. Every cell is a named submodule.

    Elaboration builds every cell anew, which suits Amaranth's simulator and small designs. Use
    `multicube.hdl.export.verilog` to export large ones.

    The ports, and the fabric if it is given as a function, are made on first access: simulating a
    network of thousands of terminals on a test bench needs neither.

    Parameters
    ----------
    fabric : Fabric or Callable[[], Fabric]
        The cells and links, or a function that makes them.

    Attributes
    ----------
    fabric : Fabric
        The cells and links.
    instances : dict[str | None, wiring.Component]
        After elaboration: the component of each cell by name, and this component under None.

    Members
    -------
    Those of the fabric's boundary.
    """

    # A network is useful as data even if it is never elaborated.
    _MustUse__silence = True

    def __init__(self, fabric: Fabric | Callable[[], Fabric]) -> None:
        self._given = fabric
        self.instances: dict[str | None, wiring.Component] = {}
        self._has_ports = False

    def __getattr__(self, name: str) -> Any:
        # Called for unknown names only, such as that of a port before the ports have been made.
        if self.__dict__.get("_has_ports", True):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._has_ports = True
        super().__init__(self.fabric.signature)
        return getattr(self, name)

    @cached_property
    def fabric(self) -> Fabric:
        """The cells and links that it is made of."""
        return self._given if isinstance(self._given, Fabric) else self._given()

    def elaborate(self, platform: object) -> Module:
        self.fabric.check()
        m = Module()
        self.instances = {None: self}
        for cell in self.fabric.cells.values():
            component = self.instances[cell.name] = cell.type.build(cell.contents)
            renamed = DomainRenamer(dict(cell.clocks))(component) if cell.clocks else component
            m.submodules[cell.name] = renamed
            for name, value in cell.straps.items():
                m.d.comb += getattr(component, name).eq(int(value))
        for receiver, driver in self.fabric.drivers.items():
            source = member(self.instances[driver.cell], driver.path)
            m.d.comb += member(self.instances[receiver.cell], receiver.path).eq(source)
        return m
