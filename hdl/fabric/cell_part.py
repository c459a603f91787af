"""One cell of a fabric as a fabric of its own, together with the cells that serve only this one."""

from amaranth.lib.wiring import In, Out

from .checks import nearest
from .errors import InvalidValue
from .fabric import Fabric
from .pins import Pin

__all__ = ["cell_part"]

_SHOWN = 6
"""Most names of cells in a message."""


def cell_part(fabric: Fabric, name: str) -> Fabric:
    """A cell and the auxiliary cells that are linked to no other one, such as its table.

    Straps and the contents of memories are as in the fabric. Every leaf that is linked with the
    rest of it is a port of the boundary, such as `i__3__valid`; those of auxiliary cells begin with
    the cell's name. Outputs that nothing in the fabric reads are left unconnected.

    Raises
    ------
    ValueError
        If there is no such cell.
    """
    if name not in fabric.cells:
        names = [cell for cell, own in fabric.cells.items() if not own.type.auxiliary]
        some = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise InvalidValue(f"Cell must be one of {some}, not {name!r}{nearest(name, fabric.cells)}")
    neighbours: dict[str, set[str | None]] = {}
    for a, b in fabric.links:
        for one, other in ((a, b), (b, a)):
            if one.cell is not None:
                neighbours.setdefault(one.cell, set()).add(other.cell)
    servants = [
        other
        for other in fabric.cells
        if fabric.cells[other].type.auxiliary and neighbours.get(other, set()) == {name}
    ]
    own = (name, *servants)
    inner: list[tuple[Pin, Pin]] = []
    ports: dict[Pin, str] = {}

    def expose(pin: Pin) -> None:
        path = "__".join(map(str, pin.path))
        ports[pin] = path if pin.cell == name else f"{pin.cell}__{path}"

    for receiver, driver in fabric.drivers.items():
        if receiver.cell in own and driver.cell in own:
            inner.append((driver, receiver))
        elif receiver.cell in own:
            expose(receiver)
        elif driver.cell in own:
            expose(driver)
    members = {}
    for pin, text in ports.items():
        leaf, drives = fabric.resolve(pin)[()]
        members[text] = Out(leaf.shape) if drives else In(leaf.shape)
    alone = Fabric(members)
    for cell in own:
        alone.place(fabric.cells[cell])
    for driver, receiver in inner:
        alone.link(driver, receiver)
    for pin, text in ports.items():
        alone.link(Pin(None, (text,)), pin)
    return alone
