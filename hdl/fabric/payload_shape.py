"""The payload of packets: a number of bits, or any other shape of Amaranth."""

from dataclasses import field
from typing import Any

from amaranth.hdl import Module, Shape, ShapeLike, Signal
from amaranth.lib import data

from .checks import check_limit, shown
from .errors import InvalidType, InvalidValue
from .parameter_fields import Parameter

__all__ = ["check_payload", "check_shape", "payload_shape"]

_WIDEST = 2**16
"""Most bits of a port of a component."""


def check_shape(payload: ShapeLike) -> ShapeLike:
    """Check that a value is a shape, and return it."""
    try:
        width = Shape.cast(payload).width
    except (TypeError, RecursionError):
        raise InvalidType(
            f"Payload must be a number of bits or a shape, not {shown(payload)}"
        ) from None
    check_limit("Width of a payload in bits", width, _WIDEST)
    return payload


def check_payload(payload: ShapeLike) -> ShapeLike:
    """As `check_shape`, and that Amaranth can write ports of this shape: it can't if there is an
    enumeration of a signed shape."""
    check_shape(payload)
    if isinstance(payload, int):
        return payload
    from amaranth.back import rtlil

    try:
        port = Signal(data.StructLayout({"payload": payload}))
        rtlil.convert(Module(), ports=[port.as_value()])
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"Payload must be a shape that Amaranth converts to hardware: {error}"
        ) from None
    return payload


def payload_shape(default: ShapeLike = 16) -> Any:
    """The field for the shape of a packet's payload; a number of bits is from 1 to 4,096."""
    about = Parameter(
        "width of the payload in bits",
        title="Payload",
        least=1,
        most=2**12,
        number=True,
        other=check_payload,
    )
    return field(default=default, metadata={"about": about})
