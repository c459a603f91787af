"""The command `multicube`.

The modules of its subcommands import at their tops only what their help needs. What is slow to
import, such as Amaranth, is imported when a subcommand runs.
"""

import sys

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED = 130
"""Status of a command that Ctrl-C has ended, when it has told what it had."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit, as `entry.main` does; Ctrl-C while it is loaded is one line too."""
    try:
        from .entry import main as run
    except KeyboardInterrupt:
        print("multicube: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    run(arguments)
