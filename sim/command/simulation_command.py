"""`multicube sim` and `multicube sweep`: one run, or a curve."""

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import click

from ...hdl.support.output_file import output_format
from ..report.formats import FORMATS
from .shared_arguments import (
    INTERRUPTED,
    check_outputs,
    chosen_loads,
    chosen_look,
    figure_options,
    given,
    messages,
    network_arguments,
    network_from,
    refuse_idle_limit,
    refuse_option,
    run_options,
    sweep_options,
    written,
)

if TYPE_CHECKING:
    from ...hdl.networks.network import Network
    from ..workload.traffic import Pattern, Trace

__all__ = ["sim", "sweep"]


@click.command()
@network_arguments
@click.option(
    "--load", default=0.5, show_default=True, help="Packets (see --unit) per terminal per cycle."
)
@click.option("--trace", metavar="FILE", help="Replay a file of lines cycle,source,destination.")
@click.option(
    "--workload",
    metavar="FILE",
    help="Send the messages of a file (id,source,destination,length,after,delay), each after "
    "the messages that it waits for have arrived; or those of a trace of Netrace, or of "
    "Chakra (PREFIX of PREFIX.0.et).",
)
@click.option(
    "--flit-bytes", type=int, metavar="N", help="Bytes of a flit, for a trace. Default: 16."
)
@click.option(
    "--cycle-ns",
    type=float,
    metavar="NS",
    help="Nanoseconds of a cycle, for Chakra's times. Default: 1.",
)
@click.option(
    "--until", type=int, metavar="CYCLE", help="Only send Netrace's packets before this cycle."
)
@click.option(
    "--timeline", metavar="FILE", help="Write the times of all messages, for Perfetto (JSON)."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="PLACE[:EFFECT]",
    help="Inject a fault: link:1:3, box:1:2:lossy, cell:router_5:from=100, random:3:link:severed. "
    "May be given several times.",
)
@click.option(
    "--reroute",
    type=int,
    metavar="CYCLES",
    help="Write routing tables that lead around permanently severed links, this many cycles "
    "after the last of them was severed (networks with tables=rewritable).",
)
@click.option("--vcd", metavar="FILE", help="Write all waveforms (engine amaranth); - is stdout.")
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Write the state to this file every minute, and continue from it (engine compiled).",
)
@click.option(
    "--activity",
    metavar="FILE.saif",
    help="Write how often each net and register of the network switches (engine compiled).",
)
@click.option(
    "--threads",
    type=int,
    metavar="N",
    help="Processor cores that share the cells of the network (engine compiled). Default: the "
    "fastest number.",
)
@run_options
def sim(
    network: str,
    parameters: tuple[str, ...],
    load: float,
    trace: str | None,
    workload: str | None,
    timeline: str | None,
    flit_bytes: int | None,
    cycle_ns: float | None,
    until: int | None,
    traffic: str,
    unit: Literal["packets", "flits"],
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate a network at one load."""
    from ..measure.result import Result, SimulationError
    from ..run.simulation import simulate
    from ..workload.class_traffic import network_traffic
    from ..workload.traffic import read_trace, short_name
    from .result_tables import print_result

    built = network_from(network, parameters)
    if workload is not None:
        trace_options = {"flit_bytes": flit_bytes, "cycle_ns": cycle_ns, "until": until}
        how = {name: options[name] for name in ("engine", "threads")}
        _run_workload(built, workload, timeline, as_json, trace_options, how)
        return
    for name in ("timeline", "flit_bytes", "cycle_ns", "until"):
        refuse_option(name, "Without --workload FILE there is", "it is of a workload")
    if trace is not None:
        for name in ("traffic", *_MEASURED, "seed", "source_depth"):
            refuse_option(name, "A trace takes", "it lists every packet itself")
        packets: Pattern | Trace = read_trace(trace, built.sources, built.sinks)
    else:
        packets = network_traffic(traffic, built)
        if packets.when.quota:
            why = "all packets are sent at once, and all measured"
            for name in _MEASURED:
                refuse_option(name, f"Traffic {short_name(packets.name)} takes", why)
        if packets.flows is not None:
            refuse_option(
                "load", f"Traffic {short_name(packets.name)} takes", "its flows have rates"
            )
        if packets.when.interval is not None:
            why = "each terminal has one packet at a time, and its interval says when"
            for name in ("load", "source_depth"):
                refuse_option(name, f"Traffic {short_name(packets.name)} takes", why)
    refuse_idle_limit(options["cycles"], options["precision"])
    outputs = given(options["vcd"], options["activity"])
    check_outputs([*outputs, *given(options["checkpoint"])], as_json)
    failure: SimulationError | None = None
    try:
        result = simulate(built, traffic=packets, load=load, unit=unit, progress=True, **options)
    except SimulationError as error:
        # What faults have done is shown; without faults the numbers are not to be trusted.
        if not options["faults"] or not isinstance(error.result, Result):
            raise
        result, failure = error.result, error
    if as_json:
        click.echo(json.dumps(result.to_json()))
    else:
        with messages(outputs):
            print_result(result, unit)
            if result.activity is not None:
                click.echo(f"wrote {options['activity']}")
    if failure is not None:
        raise failure
    if result.partial:
        sys.exit(INTERRUPTED)


def _run_workload(
    network: "Network",
    path: str,
    timeline: str | None,
    as_json: bool,
    trace_options: Mapping[str, Any],
    how: Mapping[str, Any],
) -> None:
    """Run a workload from a file, and print its result."""
    from ...hdl.networks.packet_network import PacketNetwork
    from ..report.timeline import write_timeline
    from ..run.workload_run import run_workload
    from ..workload.workload_files import read_any_workload
    from .printed_workload import print_workload

    for name in click.get_current_context().params:
        if name not in _OF_WORKLOADS:
            refuse_option(name, *_LISTED)
    outputs = given(timeline)
    check_outputs(outputs, as_json)
    longest = network.lengths[1] if isinstance(network, PacketNetwork) else 1
    workload = read_any_workload(path, longest=longest, **trace_options)
    run = run_workload(network, workload, **how)
    if timeline is not None:
        write_timeline(run, timeline)
    if as_json:
        click.echo(json.dumps(run.to_json()))
    else:
        with messages(outputs):
            print_workload(run)
            for output in outputs:
                click.echo(f"wrote {output}")


_OF_WORKLOADS = (
    *("network", "parameters", "workload", "timeline", "engine", "threads", "as_json"),
    *("flit_bytes", "cycle_ns", "until"),
)
"""Options of a workload."""

_LISTED = ("A workload takes", "its file lists all messages, and each must arrive")

_MEASURED = ("load", "cycles", "warmup", "precision", "limit", "seeds")
"""Options for traffic without end."""


@click.command()
@network_arguments
@sweep_options
@figure_options
@run_options
def sweep(
    network: str,
    parameters: tuple[str, ...],
    loads: str | None,
    clip: bool,
    output: tuple[str, ...],
    unit: Literal["packets", "flits"],
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate a network at many loads, and draw latency and throughput."""
    from ..report.save import save_sweep
    from ..run.progress import phase
    from ..run.sweeps import LoadsLost
    from ..run.sweeps import sweep as run_sweep
    from .result_tables import print_sweep

    refuse_idle_limit(options["cycles"], options["precision"])
    check_outputs([*output, *given(options["resume"])], as_json)
    for path in output:
        output_format(path, FORMATS)
    look = chosen_look(options, output)
    failure: LoadsLost | None = None
    try:
        curve = run_sweep(
            network_from(network, parameters),
            **chosen_loads(loads, clip),
            unit=unit,
            progress=True,
            **options,
        )
    except LoadsLost as error:
        curve, failure = error.sweep, error
        if not curve.points:
            raise
    with phase("writing the results"):
        paths, trouble = written(output, lambda path: save_sweep(curve, path, unit=unit, look=look))
    if as_json:
        click.echo(json.dumps(curve.to_json()))
    else:
        with messages(output):
            print_sweep(curve, unit)
            for path in paths:
                click.echo(f"wrote {path}")
    if first := failure or trouble:
        raise first
    if curve.partial:
        sys.exit(INTERRUPTED)
