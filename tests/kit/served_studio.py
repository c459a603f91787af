"""A workbench that runs, as the command starts it."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any, NamedTuple

__all__ = ["Served", "served_studio"]


class Served(NamedTuple):
    """Where it is."""

    address: str
    port: int
    token: str

    def ask(
        self, path: str, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[int, str]:
        """Status and text of a request; headers are given with _ for -, and JSON as it is."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        own = {"Cookie": f"multicube-studio-{self.port}={self.token}"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method, path, text, own)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def start(self, kind: str, network: str, **more: Any) -> str:
        """The key of a task; `options` are those of the command, all others parameters."""
        options = more.pop("options", {})
        parameters = {name: str(value) for name, value in more.items()}
        body = {"kind": kind, "network": network, "parameters": parameters, "options": options}
        status, text = self.ask("/tasks", "POST", body)
        assert status == 202, text
        return json.loads(text)["key"]

    def record(self, key: str) -> dict[str, Any]:
        """What the server says of a task."""
        return json.loads(self.ask(f"/tasks/{key}")[1])

    def records(self, key: str) -> Iterator[dict[str, Any]]:
        """What it says until the task has ended."""
        while True:
            record = self.record(key)
            yield record
            if record["state"] not in ("waiting", "running"):
                return
            time.sleep(0.1)

    def ended(self, key: str) -> dict[str, Any]:
        """The record of a task when it has ended."""
        *_, last = self.records(key)
        return last


@contextmanager
def served_studio() -> Iterator[Served]:
    command = [sys.executable, "-m", "multicube", "studio", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{20,})", address)
        assert found
        try:
            yield Served(address, int(found[1]), found[2])
        finally:  # else a test that fails would wait for the server for ever
            process.send_signal(signal.SIGINT)
            process.wait(20)
