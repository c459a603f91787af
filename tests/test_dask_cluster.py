"""Sweeps and figures on a real Dask cluster: a scheduler and two processes of workers."""

import io
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pytest
from distributed import Client, LocalCluster
from multicube.hdl import build
from multicube.sim.run import cluster, sweeps
from multicube.sim.run.cluster import open_cluster
from multicube.sim.run.simulation import simulate_runs
from multicube.sim.run.sweeps import sweep

# Workers do not find this module by its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SHORT: dict[str, Any] = {"cycles": 50, "warmup": 0, "bins": 16, "engine": "amaranth"}


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Its workers are started again if they die, and a job is not: it might be what killed them."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
    ):
        yield workers.scheduler_address


@pytest.mark.long
def test_a_sweep_is_the_same_there(scheduler: str, tmp_path: Path) -> None:
    """Also if a worker dies, which costs the load that it was at, and this is run again."""
    mark = tmp_path / "died"

    def deadly(network: Any, runs: Sequence[Any], **options: Any) -> Any:
        if runs[0].load == 0.5 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return simulate_runs(network, runs, **options)

    network = build("cube", ports=2)
    near = sweep(network, [0.2, 0.5], processes=1, **SHORT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "simulate_runs", deadly)
        far = sweep(network, [0.2, 0.5], scheduler=scheduler, **SHORT)
    assert mark.exists()
    assert far.to_json() == near.to_json()


def test_jobs(scheduler: str) -> None:
    """Each has its number, whatever the number of processes; their errors are raised."""

    def whoami(_: int) -> int:
        return os.getpid()

    with Client(scheduler) as client:
        client.wait_for_workers(2, timeout=60)  # the one that died is being replaced
    with open_cluster(scheduler) as (threads, finished):
        assert threads == 2
        jobs = [(abs, (-number,), {}) for number in range(5)]
        assert dict(finished(jobs, 2)) == dict(enumerate(range(5)))
        assert dict(finished(jobs, 99)) == dict(enumerate(range(5)))
        assert dict(finished([], 2)) == {}
        assert os.getpid() not in dict(finished([(whoami, (0,), {})], 1)).values()
        with pytest.raises(ValueError, match="invalid literal"):
            dict(finished([(abs, (1,), {}), (int, ("x",), {})], 2))


def test_a_lost_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs that have not ended are left out, and so are those that come later. That the client
    tried to reach it is no error to tell."""
    said = io.StringIO()
    logger = logging.getLogger("distributed")
    monkeypatch.setattr(logger, "handlers", [logging.StreamHandler(said)])
    own = LocalCluster(
        n_workers=1,
        processes=False,
        protocol="tcp://",
        dashboard_address=":0",
        threads_per_worker=1,
    )
    with own, open_cluster(own.scheduler_address) as (_, finished):
        left = finished([(abs, (-1,), {}), (time.sleep, (0.2,), {})], 1)
        assert next(left) == (0, 1)
        own.close()
        assert list(left) == []
    assert list(finished([(abs, (-1,), {})], 1)) == []
    assert "Traceback" not in said.getvalue()


def test_workers_of_another_version(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here each process has its own."""
    monkeypatch.setattr(cluster, "this_version", lambda: f"0.{os.getpid()}")
    message = rf"^Worker tcp://\S+ must have version 0.{os.getpid()} of multicube, not: 0.\d+$"
    with pytest.raises(ValueError, match=message), open_cluster(scheduler):
        pass


@pytest.mark.long
def test_a_figure(scheduler: str, call: Any) -> None:
    words = ("paper", "ginosar-steps", "--quick", "--json")
    there = call(*words, "--scheduler", scheduler)
    assert (there.status, there.err) == (0, "")
    assert json.loads(there.out) == call(*words).record
    refused = call("paper", "siegel-eq1", "--scheduler", scheduler)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.endswith("Item siegel-eq1 can't run on a cluster: it has no parallel jobs\n")
