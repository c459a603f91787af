"""`multicube board`: the group of its subcommands, which are in `subcommands`."""

from ..sim.command.group import LazyGroup

__all__ = ["board"]

_PLACES = {"list": "list_"} | {name: name for name in ("build", "execute", "run", "simulate")}

board = LazyGroup(
    "board",
    {name: f"{__package__}.subcommands:{place}" for name, place in _PLACES.items()},
    help="Networks on FPGA boards: build a bitstream, and measure through a serial port.",
)
