"""The server of the workbench: who may use it, and what it does for them."""

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served_studio import Served, served_studio

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import multicube.sim
from command_line import Call
from multicube.hdl import build
from multicube.sim.studio.server import words_of
from multicube.sim.studio.sweep_points import sweep_points
from multicube.sim.studio.terminal import Terminal

CATALOGUE = {"networks": [{"name": "torus", "parameters": [{"name": "k"}, {"name": "n"}]}]}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with served_studio() as found:
        yield found


def test_strangers_get_403(served: Served) -> None:
    here = f"127.0.0.1:{served.port}"
    assert served.ask("/")[0] == 200
    assert served.ask("/", Cookie="")[0] == 403
    assert served.ask("/", Cookie=f"multicube-studio-{served.port}=wrong")[0] == 403
    assert served.ask("/?token=wrong")[0] == 403
    assert served.ask(f"/?token={served.token}", Cookie="")[0] == 200
    assert served.ask("/", Host="example.org")[0] == 403  # a name that leads here
    assert served.ask("/", Host=f"localhost:{served.port}")[0] == 200
    body = {"kind": "deadlock", "network": "ring", "parameters": {}}
    for origin in ("http://example.org", "null", f"https://{here}", "http://127.0.0.1:1"):
        assert served.ask("/tasks", "POST", body, Origin=origin)[0] == 403
    assert served.ask("/catalogue", Sec_Fetch_Site="cross-site")[0] == 403
    for path in ("/etc/passwd", "/../../etc/passwd", "/tasks/x/files/..%2f..%2fetc%2fpasswd"):
        assert served.ask(path)[0] == 403


def test_it_listens_on_the_loopback_address_alone(served: Served) -> None:
    opened = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    local = re.findall(rf"^\s*\d+: (\w+):{served.port:04X} \w+:0000 0A", opened, re.M)
    assert local == ["0100007F"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"network": "none"}, "Network must be one of the catalogue, not 'none'"),
        ({"network": "torus", "parameters": []}, "Parameters must be an object"),
        ({"network": "torus", "parameters": {"-o": "x"}}, "Network torus has no parameter '-o'"),
        ({"network": "torus", "parameters": {"k": 4}}, "Parameter k must be one line of text"),
        ({"network": "torus", "parameters": {"k": "4\n"}}, "Parameter k must be one line of text"),
    ],
)
def test_what_a_page_asks_for_is_checked(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        words_of(asked, CATALOGUE)


def test_words_are_those_of_the_command() -> None:
    asked = {"network": "torus", "parameters": {"k": "4", "n": ""}}
    assert words_of(asked, CATALOGUE) == ["torus", "k=4"]


def test_files_have_plain_names(served: Served) -> None:
    for name in ("", "..", "%20"):
        status, text = served.ask(f"/files?name={name}", "POST", {})
        assert status == 400
        assert "must have a name" in text
    given = {
        "my%20graph%20(1).json": "my-graph-1.json",
        "..%2F.x": "x",
        "a%0Ab%E2%82%AC.json": "a-b.json",
    }
    for name, kept in given.items():
        status, text = served.ask(f"/files?name={name}", "POST", {})
        assert (status, json.loads(text)) == (201, {"file": kept})
    assert served.ask("/files?name=a.json", "POST", {}, Content_Length=str(1 << 21))[0] == 400


def test_files_of_one_name_do_not_meet(served: Served) -> None:
    """A network was built of one of them twice; the curve of one took the place of the other's."""

    def kept(content: object) -> str:
        return json.loads(served.ask("/files?name=a.b.json", "POST", content)[1])["file"]

    graphs = [{"nodes": nodes, "links": [[0, 1]]} for nodes in (2, "b")]
    names = [kept(graphs[number]) for number in (0, 1, 1, 0)]
    assert names == ["a.b.json", "a.b-2.json", "a.b-2.json", "a.b.json"]
    name = served.ask("/files?name=sweep.json", "POST", graphs[0])[1]
    assert json.loads(name)["file"] == "sweep-2.json"  # a sweep writes the other one
    levels = {f"level{n}": f"graph:file={name}" for n, name in enumerate(names[:2], 1)}
    record = served.ended(served.start("deadlock", "hierarchical", **levels))
    refusal = "File a.b-2.json: Entry nodes must be a list, not 'b'"
    assert record["error"].endswith(refusal)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Options must be an object"),
        ({"output": "/tmp/x"}, "Command sweep has no option 'output'"),
        ({"loads": "0.1\n"}, "Option loads must be one line of text"),
    ],
)
def test_options_of_a_sweep_are_few(served: Served, options: object, message: str) -> None:
    body = {"kind": "sweep", "network": "ring", "parameters": {}, "options": options}
    status, text = served.ask("/tasks", "POST", body)
    assert (status, json.loads(text)["error"]) == (400, message)


@pytest.mark.parametrize(
    "body",
    ['{"kind": []}', '{"kind": {}}', "[]", "", "[" * 30000, " " * ((1 << 16) + 1)],
    ids=["list", "object", "no object", "nothing", "deep", "long"],
)
def test_nonsense_is_refused(served: Served, body: str) -> None:
    status, text = served.ask("/tasks", "POST", body)
    assert status == 400
    assert "error" in json.loads(text)


def test_the_other_commands_take_no_options(served: Served) -> None:
    body = {"kind": "drawing", "network": "ring", "parameters": {}, "options": {"loads": "0.1"}}
    status, text = served.ask("/tasks", "POST", body)
    assert (status, json.loads(text)["error"]) == (400, "Command draw has no option 'loads'")


def test_a_terminal_hears_how_far_a_command_is() -> None:
    """What it shows is what stands on the line where it writes now."""

    async def heard(*said: str) -> list[Any]:
        found = []
        with Terminal() as terminal:
            for part in ("", *said):
                os.write(terminal.its, part.encode())
                await asyncio.sleep(0.02)
                found.append(terminal.progress)
        return [*found, terminal.lines[-1]]

    bar = "\romega, preparing:   0%|          | 0/10 [00:00<?, ? loads/s]"
    more = "\romega:  50%|█████     | 5/10 [00:03<00:03,  1.66 loads/s]"
    *seen, last = asyncio.run(heard("building ...", bar, more, "\r      \r", "multicube: no\n"))
    assert seen == [
        None,
        {"done": None, "total": None, "text": "building ..."},
        {"done": 0, "total": 10, "text": "omega, preparing"},
        {"done": 5, "total": 10, "text": "omega"},
        {"done": None, "total": None, "text": ""},
        {"done": None, "total": None, "text": "multicube: no"},
    ]
    assert last == "multicube: no"


@pytest.mark.long
def test_a_sweep_grows_point_by_point(served: Served, call: Call) -> None:
    """Its points are those of the command, one after the other, and it says how many are done."""
    options = {"loads": "0.1:0.8:0.1", "cycles": "3000", "seed": "3"}
    key = served.start("sweep", "omega", ports=16, options=options)
    records = list(served.records(key))
    words = [f"--{name}={value}" for name, value in options.items()]
    result = call("sweep", "omega", "ports=16", *words, "--json").record
    points = records[-1]["points"]
    wanted = [
        {
            "load": point["offered_load"],
            "throughput": point["throughput"],
            "latency": point["latency"]["mean"],
            "saturated": point["saturated"],
            "predicted": {
                "latency": point["predicted"]["latency_mean"],
                "throughput": point["predicted"]["throughput"],
            },
        }
        for point in result["points"]
    ]
    assert points[0]["load"] == 0.01
    assert points[0]["latency"] == result["zero_load_latency"]
    assert points[1:] == wanted
    assert any(point["predicted"]["latency"] for point in points)
    counts = [len(record["points"]) for record in records]
    assert counts == sorted(counts)
    assert len({*counts} - {0, len(points)}) > 1
    told = [record["progress"] for record in records if record["progress"]]
    done = [(each["done"], each["total"]) for each in told if each["total"]]
    assert done == sorted(done)
    assert done[0][0] == 0
    assert any("preparing the engine" in each["text"] for each in told)
    assert all(point in points for record in records for point in record["points"])
    assert records[-1]["files"] == ["sweep.json", "sweep.svg"]


@pytest.mark.long
def test_a_task_can_be_stopped_at_any_time(served: Served) -> None:
    """While it waits, as it begins, while it compiles, and while it runs: no process is left."""
    moments: list[Callable[[dict[str, Any]], bool]] = [
        lambda _: True,
        lambda record: record["state"] == "running",
        lambda record: bool(record["progress"] and record["progress"]["total"]),
        lambda record: len(record["points"]) > 0,
    ]
    for moment in moments:
        keys = [served.start("sweep", "omega", ports=64) for _ in range(2)]
        assert served.record(keys[1])["ahead"] == 1
        assert next(record for record in served.records(keys[0]) if moment(record))
        for key in reversed(keys):  # the one that waits, first
            assert json.loads(served.ask(f"/tasks/{key}", "DELETE")[1])["state"] == "cancelled"
        for key in keys:
            assert served.record(key)["files"] == []
            assert served.ask(f"/tasks/{key}/files/sweep.svg")[0] == 403
            while _at_work(key):
                time.sleep(0.05)
    assert served.ended(served.start("deadlock", "ring"))["state"] == "done"


def _at_work(key: str) -> bool:
    """Whether a process runs in the folder of a task."""
    for each in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if key in os.readlink(each):
                return True
        except OSError:  # it has ended, or is none of ours
            continue
    return False


@pytest.mark.long
def test_ten_clients_at_once_lose_nothing(served: Served) -> None:
    """Each gets its own network and its own sweep, and what is short waits for no sweep."""
    found: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def client(k: int) -> None:
        options = {"loads": "0.2", "cycles": "200", "seed": str(k)}
        sweep = served.start("sweep", "ring", k=k, n=1, options=options)
        check = served.ended(served.start("deadlock", "ring", k=k, n=1))
        found[k] = check, served.ended(sweep)

    threads = [threading.Thread(target=client, args=(k,)) for k in range(3, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [*range(3, 13)]
    for k, (check, sweep) in found.items():
        assert check["command"] == f"multicube deadlock ring k={k} n=1 --json"
        assert json.loads(check["output"])["parameters"]["k"] == k
        assert f"ring k={k} n=1 --loads=0.2 --cycles=200 --seed={k} " in sweep["command"]
        assert sweep["state"] == "done"
        text = served.ask(f"/tasks/{sweep['key']}/files/sweep.json")[1]
        result = json.loads(text)
        assert result["parameters"]["k"] == k
        assert {point["seed"] for point in result["points"]} == {k}
        latencies = [point["latency"]["mean"] for point in result["points"]]
        assert [point["latency"] for point in sweep["points"]][1:] == latencies


def test_points_of_a_sweep_that_runs_are_in_the_file_that_it_writes(tmp_path: Path) -> None:
    kept = tmp_path / "points.json"
    assert sweep_points(kept) == []
    options: dict[str, Any] = {"cycles": 100, "warmup": 0, "bins": 16, "processes": 1}
    curve = multicube.sim.sweep(
        build("cube", ports=4), [0.1, 0.2], refine=False, resume=kept, **options
    )
    assert [(each["load"], each["throughput"]) for each in sweep_points(kept)] == [
        (point.offered_load, point.throughput) for point in (curve.zero_load, *curve.points)
    ]
