"""`multicube prove`: a certificate of what a network does, for a program that checks it."""

import json
from contextlib import ExitStack

import click

from ...hdl.fabric.errors import InvalidValue
from .shared_arguments import check_outputs, network_arguments, network_from

__all__ = ["prove"]


@click.command()
@network_arguments
@click.option("-o", "--output", required=True, metavar="CERT.json", help="The certificate.")
@click.option("--verilog", metavar="NET.v", help="Its Verilog; default: CERT.v, with CERT.v.json.")
@click.option("--top", default="network", metavar="NAME", help="The name of the module.")
@click.option(
    "--limit",
    default=600.0,
    metavar="SECONDS",
    help="Seconds for the proof of each contract; with 0 no proof is tried.",
)
@click.option("--quiet", is_flag=True, help="Print the conclusions only.")
def prove(
    network: str,
    parameters: tuple[str, ...],
    output: str,
    verilog: str | None,
    top: str,
    limit: float,
    quiet: bool,
) -> None:
    """Prove that a network delivers its packets, or answers requests in a serial order.

    Yosys proves a contract for each module of the Verilog, which is written beside the
    certificate. The certificate states what follows from the contracts, the wires and the
    routes; tools/check_certificate.py checks it, and tools/check_memory_certificate.py does so for
    networks with memory. The status is 1 if something is left unproved.
    """
    from ...hdl.export.verilog import write_verilog
    from ...hdl.support.output_file import whole_file
    from ..proofs.certificate import certificate

    if not output.endswith(".json"):
        raise InvalidValue(f"Certificate must end in .json, not {output}")
    verilog = verilog or f"{output.removesuffix('.json')}.v"
    check_outputs([output, verilog, f"{verilog}.json"], as_json=False)
    built = network_from(network, parameters)
    found = certificate(built, top=top, limit=limit, tell=None if quiet else click.echo)
    with ExitStack() as files:
        files.enter_context(whole_file(output)).write_text(json.dumps(found) + "\n", "utf-8")
        write_verilog(built, verilog, top)
    what = "packets never deadlock"
    if found.get("delivers"):
        bounds = found["bounds"]
        what = "each packet is delivered" + (f" within {bounds['most']} cycles" if bounds else "")
    elif found.get("serial"):
        what = "each request is answered once, with the value of a serial order of its word"
    for module in found["conditions"]:
        what += f", if {module} keeps its contract"
    click.echo(f"{built}: {what}")
    if found["conditions"] or not (found.get("delivers") or found.get("serial")):
        raise SystemExit(1)
