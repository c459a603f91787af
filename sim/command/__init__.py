"""The command `multicube`."""

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit, as `entry.main` does; Ctrl-C while it is loaded is one line too."""
    try:
        from .entry import main as run
    except KeyboardInterrupt:
        print("multicube: interrupted", file=sys.stderr)
        sys.exit(130)
    run(arguments)
