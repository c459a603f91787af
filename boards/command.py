"""`multicube board`: the group of its subcommands, which are in `subcommands`."""

from ..sim.command.group import LazyGroup, Subcommand

__all__ = ["board"]

_MODULE = f"{__package__}.subcommands"

board = LazyGroup(
    "board",
    {
        "build": Subcommand(
            _MODULE, "build", "Build a network or a parallel computer for a board."
        ),
        "execute": Subcommand(
            _MODULE, "execute", "Report what PROGRAM.c did on a board at a serial PORT."
        ),
        "list": Subcommand(_MODULE, "list_", "The boards, their clocks and their instruments."),
        "run": Subcommand(
            _MODULE, "run", "Run the network on a board at a serial PORT, and report the results."
        ),
        "simulate": Subcommand(
            _MODULE,
            "simulate",
            "Simulate a board, and serve its serial line at a pseudo-terminal until interrupted.",
        ),
    },
    help="Networks on FPGA boards: build a bitstream, and measure through a serial port.",
)
