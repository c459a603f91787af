"""The workbench in a browser: who may use it, and whole stories in Chromium."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browser import browser, needs_chromium

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from multicube.sim.studio.server import words_of

CATALOGUE = {"networks": [{"name": "torus", "parameters": [{"name": "k"}, {"name": "n"}]}]}


class Served(NamedTuple):
    """A workbench that runs."""

    address: str
    port: int
    token: str

    def ask(
        self, path: str, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[int, str]:
        """Status and text of a request; headers are given with _ for -."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        own = {"Cookie": f"multicube-studio-{self.port}={self.token}"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, None if body is None else json.dumps(body), own)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    command = [sys.executable, "-m", "multicube", "studio", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{20,})", address)
        assert found
        yield Served(address, int(found[1]), found[2])
        process.send_signal(signal.SIGINT)
        process.wait(20)


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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


@pytest.fixture
def page(chromium: Any, served: Served) -> Iterator[Any]:
    """The page of the workbench; whatever it complains of is an error."""
    opened = chromium.new_page(viewport={"width": 1280, "height": 860}, accept_downloads=True)
    errors: list[str] = []
    opened.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(served.address)
    opened.wait_for_function("document.documentElement.dataset.ready === 'true'")
    yield opened
    opened.close()
    assert errors == []


def _choose(page: Any, network: str, **parameters: object) -> None:
    page.select_option("#network", network)
    for name, value in parameters.items():
        page.fill(f"#parameters input[name={name}]", str(value))
    page.click("#show")


def _done(page: Any) -> Any:
    """Wait for all that a network is shown with; return the frame in which it runs."""
    page.wait_for_function("studio.shown?.complete", timeout=90_000)
    return page.frames[1]


@needs_chromium
@pytest.mark.long
def test_story_of_a_deadlock(page: Any, call: Callable[..., Any]) -> None:
    """The verdict is that of the command, and the cycle is marked in the drawing."""
    words = ["torus", "k=5", "n=2", "channels=1", "allow_deadlock=1"]
    _choose(page, "torus", k=5, n=2, channels=1, allow_deadlock=1)
    frame = _done(page)
    cycle = json.loads(call("deadlock", *words, "--json").out)["cycle"]
    assert page.text_content("#verdict").startswith(f"It can deadlock: {len(cycle) - 1} channels")
    marked = frame.evaluate(
        "() => multicube.drawing.marked.map((n) => ABOUT.bench.channels.name[n])"
    )
    assert marked == cycle
    page.fill("#parameters input[name=channels]", "2")
    page.fill("#parameters input[name=allow_deadlock]", "")
    page.click("#show")
    frame = _done(page)
    assert page.text_content("#verdict").startswith("Free of deadlock")
    assert frame.evaluate("() => multicube.drawing.marked") == []


@needs_chromium
@pytest.mark.long
def test_story_of_a_run(page: Any, call: Callable[..., Any]) -> None:
    """The network that runs there has the numbers of the command."""
    _choose(page, "omega", ports=8)
    frame = _done(page)
    found = frame.evaluate(
        """async () => {
            const { laboratory } = multicube;
            return (await laboratory.measure([0.3], { warmup: 200, cycles: 500 }))[0];
        }"""
    )
    words = "--load 0.3 --seed 1 --warmup 200 --cycles 500 --json"
    result = json.loads(call("sim", "omega", "ports=8", *words.split()).out)
    assert found["latency"] == result["latency"]["mean"]
    assert found["throughput"] == result["throughput"]


@needs_chromium
@pytest.mark.long
def test_story_of_taking_away(page: Any, call: Callable[..., Any], tmp_path: Path) -> None:
    """What is taken away is what the command writes, which stands beside it."""
    _choose(page, "ring", k=4)
    _done(page)
    for text, suffix in (("Verilog", ".v"), ("SVG", ".svg"), ("page", ".html")):
        link = page.locator("#files a", has_text=re.compile(f"^{text}$"))
        with page.expect_download() as waiting:
            link.click()
        command = link.get_attribute("title").split()
        path = tmp_path / f"own{suffix}"
        assert command[0] == "multicube"
        assert call(*command[1:-1], str(path)).status == 0
        assert Path(waiting.value.path()).read_text() == path.read_text()
    assert page.text_content("#command") == "multicube view ring k=4 -o network.html"


@needs_chromium
@pytest.mark.long
def test_story_of_bad_input_and_of_many_tabs(
    chromium: Any, page: Any, served: Served, call: Callable[..., Any]
) -> None:
    """An error is the line of the command; ten tabs at once each get their own network."""
    _choose(page, "torus", k=1)
    page.wait_for_selector("#error:not(:empty)", timeout=30_000)
    line = call("draw", "torus", "k=1", "-o", "x.svg").err.strip()
    assert page.text_content("#error") == line
    body = {"kind": "deadlock", "network": "ring", "parameters": {}}
    keys = []
    for k in range(3, 13):
        status, text = served.ask("/tasks", "POST", body | {"parameters": {"k": str(k)}})
        assert status == 202
        keys.append(json.loads(text)["key"])
    for k, key in zip(range(3, 13), keys):
        record = _ended(served, key)
        assert record["command"] == f"multicube deadlock ring k={k} --json"
        assert json.loads(record["output"])["parameters"]["k"] == k
    assert len(set(keys)) == 10


@needs_chromium
@pytest.mark.long
def test_story_of_a_graph_file(page: Any, tmp_path: Path) -> None:
    """A file that is chosen is drawn and runs; a bad one gets the line of the command."""
    path = tmp_path / "square.json"
    path.write_text(json.dumps({"nodes": 4, "links": [[0, 1], [1, 2], [2, 3], [3, 0]]}))
    page.set_input_files("#file", str(path))
    frame = _done(page)
    assert frame.evaluate("() => multicube.drawing.nodes.length") == 4
    assert "square.json" in page.text_content("#command")
    path.write_text("{")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#error:not(:empty)", timeout=30_000)
    assert page.text_content("#error").startswith("multicube: ")


def test_files_have_plain_names(served: Served) -> None:
    for name in ("..%2Fx", "", "a%20b", "%2Fetc%2Fpasswd", ".x"):
        status, text = served.ask(f"/files?name={name}", "POST", {})
        assert status == 400
        assert "must have a name" in text
    assert served.ask("/files?name=a.json", "POST", {}, Content_Length=str(1 << 21))[0] == 400


@needs_chromium
@pytest.mark.long
def test_story_of_a_phone_and_a_keyboard(chromium: Any, served: Served) -> None:
    view = {"width": 390, "height": 844}
    page = chromium.new_page(viewport=view, has_touch=True)
    page.goto(served.address)
    page.wait_for_function("document.documentElement.dataset.ready === 'true'")
    page.focus("#network")
    page.keyboard.type("ring")
    for _ in ("the file", "the summary", "the first parameter"):
        page.keyboard.press("Tab")
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    _done(page)
    assert page.text_content("#command") == "multicube view ring k=4 -o network.html"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.close()


@pytest.mark.long
def test_a_task_can_be_stopped(served: Served) -> None:
    body = {"kind": "sweep", "network": "cube", "parameters": {"ports": "256"}}
    key = json.loads(served.ask("/tasks", "POST", body)[1])["key"]
    while json.loads(served.ask(f"/tasks/{key}")[1])["state"] == "waiting":
        time.sleep(0.1)
    assert json.loads(served.ask(f"/tasks/{key}", "DELETE")[1])["state"] == "cancelled"
    assert _ended(served, key)["files"] == []
    assert served.ask(f"/tasks/{key}/files/sweep.svg")[0] == 403


def _ended(served: Served, key: str) -> dict[str, Any]:
    """The record of a task when it has ended."""
    while True:
        record = json.loads(served.ask(f"/tasks/{key}")[1])
        if record["state"] not in ("waiting", "running"):
            return record
        time.sleep(0.2)
