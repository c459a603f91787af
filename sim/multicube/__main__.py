"""`python -m multicube` is the command `multicube`."""

from .sim.command import main

if __name__ == "__main__":
    main()
