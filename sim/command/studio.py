"""`multicube studio`: the workbench in a browser."""

import importlib.util

import click

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.pseudo_terminals import check_pseudo_terminals

__all__ = ["studio"]


@click.command()
@click.option(
    "--port",
    default=0,
    help="Port on this machine.  [default: any that is free]",
)
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
def studio(port: int, no_open: bool) -> None:
    """Choose networks in the browser: draw, check, run and download them.

    The server only listens on this machine, and only answers requests with the token in the
    address that it prints. Ctrl-C ends it.
    """
    check_integer("Port", port, 0, 65535)
    check_pseudo_terminals("The workbench")
    if not all(map(importlib.util.find_spec, ("starlette", "uvicorn"))):
        raise InvalidValue(
            "The workbench needs the packages starlette and uvicorn: "
            "`pip install 'multicube[studio]'` installs them"
        )
    from ..studio import serve

    serve(port, show=not no_open, tell=click.echo)
