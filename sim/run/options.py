"""How runs are simulated: the options that `simulate`, `simulate_runs` and the command share."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ...hdl.fabric.checks import check_flag
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ...hdl.support.output_file import check_output, output_format
from ..engines.engine_selection import check_engine
from ..workload.injection import StateBits
from ..workload.random_faults import injections
from .checkpoint import Checkpoint, check_checkpoint
from .observers import LinkFaults, Observer, Waves
from .progress import Progress, Tally
from .record import identity, recorded
from .rerouting import Rerouter, rerouting
from .run import Run
from .state_faults import StateFaults

__all__ = ["MOST_BINS", "Options", "bins_for"]

MOST_BINS = 2**25
"""Most bins of all sinks' histograms together, if their number is not given."""

_Path = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Options:
    """How runs are simulated, and what observes them.

    Attributes
    ----------
    engine : str
        One of `engines.engine_selection.ENGINES`.
    bins : int, optional
        Number of bins of each latency histogram, one per cycle. By default 2,048, or fewer if all
        sinks together would have more than `MOST_BINS`.
    faults : Sequence[str]
        Faults to inject, as `workload.random_faults.injections` reads them.
    reroute : int, optional
        Cycles from the end of the last link that is severed for ever until the sources stop. When
        the network is empty, it gets routing tables that lead around these links, and the sources
        go on (`Network.tables_around`).
    vcd : path-like, optional
        File for the waveforms of a single run (engine `amaranth`).
    threads : int, optional
        Processor cores that the engine `compiled` uses, as for `CompiledEngine`: by default several
        runs use all, and a single run as many as make it faster.
    progress : bool or path-like
        Show a progress bar on standard error, if it is a terminal and the run takes long. Or, if it
        is a path: add a byte to this file as each run ends.
    checkpoint : path-like, optional
        File to which the state of a single run is written every minute (engine `compiled`). If it
        exists, the run continues from it; the result is that of a run without pause.
    activity : path-like or bool, optional
        Whether to measure what switches in the network, in the window of a single run (engine
        `compiled`): the `activity` of the result. A path is that of a file to write it to, in the
        form SAIF, with the names of the network's Verilog.
    """

    engine: str = "auto"
    bins: int | None = None
    faults: Sequence[str] = ()
    reroute: int | None = None
    vcd: _Path | None = None
    threads: int | None = None
    progress: bool | _Path = False
    checkpoint: _Path | None = None
    activity: _Path | bool | None = None

    def check(self, runs: Sequence[Run]) -> None:
        """Check before the work begins what can be known of these runs.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed, a file can't be written, or two options exclude each other.
        """
        check_engine(self.engine)
        if isinstance(self.progress, str | os.PathLike):
            check_output(self.progress)
        else:
            check_flag("Progress", self.progress)
        if self.vcd is not None:
            check_output(self.vcd)
            if len(runs) > 1 or runs[0].seeds > 1:
                raise InvalidValue("A VCD file can only hold one run")
        if self.checkpoint is not None:
            check_checkpoint(self.checkpoint)
            if len(runs) > 1:
                raise InvalidValue("A checkpoint can only hold one run")
            if self.reroute is not None:
                raise InvalidValue("A run with new routing tables can't write checkpoints")
        if self.activity is not None and self.activity is not False:
            if not isinstance(self.activity, bool):
                output_format(self.activity, [".saif"])
                check_output(self.activity)
            if len(runs) > 1 or runs[0].seeds > 1:
                raise InvalidValue("Activity can only be measured in one run, with one seed")
            for what, given in (
                ("faults", self.faults),
                ("waveforms", self.vcd),
                ("checkpoints", self.checkpoint),
            ):
                if given:
                    raise InvalidValue(f"Activity can't be measured in a run with {what}")

    def observers(self, network: Network, runs: Sequence[Run], bins: int) -> list[Observer]:
        """What observes these runs, in the order in which it acts before a cycle.

        Raises
        ------
        TypeError, ValueError
            If the network has no such places of faults, or packets can't be led around them.
        """
        found = injections(network, self.faults)
        in_state = [each for each in found if isinstance(each.place, StateBits)]
        in_links = [each for each in found if not isinstance(each.place, StateBits)]
        if in_state and self.checkpoint is not None:
            raise InvalidValue("A run with faults of state can't write checkpoints")
        plan = rerouting(network, in_links, self.reroute)
        observers: list[Observer] = []
        if self.progress is True:
            observers.append(Progress())
        elif self.progress:
            observers.append(Tally(self.progress))
        if self.vcd is not None:
            observers.append(Waves(self.vcd))
        if self.checkpoint is not None:
            about = identity(recorded(network, runs[0], bins, self.faults))
            observers.append(Checkpoint(self.checkpoint, about=about))
        if in_links:
            observers.append(LinkFaults(in_links))
        if plan is not None:
            observers.append(Rerouter(network, plan))
        if in_state:
            observers.append(StateFaults(in_state))
        if self.activity is not None and self.activity is not False:
            # Here, as other runs need no exporter.
            from .activity_watch import ActivityWatch

            path = None if isinstance(self.activity, bool) else self.activity
            observers.append(ActivityWatch(path))
        return observers


def bins_for(network: Network, bins: int | None = None) -> int:
    """The bins of each histogram, if their number is or is not given."""
    return min(2048, max(2, MOST_BINS // network.sinks)) if bins is None else bins
