"""The server of the workbench: on the loopback address alone, and for who has its token."""

import asyncio
import itertools
import json
import re
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...hdl.fabric.errors import InvalidValue
from .tasks import POINTS, Lane, Task, Tasks

__all__ = ["application", "serve"]

LOOPBACK = "127.0.0.1"

_SCRIPTS = ("elements.js", "work.js", "curves.js", "sketch.js", "studio.js")
"""What the page runs, in this order."""

LARGEST = 1 << 16
"""Most bytes of a request."""

LARGEST_FILE = 1 << 20
"""Most bytes of a file that a page sends."""


class Kind(NamedTuple):
    """What can be done with a network.

    Attributes
    ----------
    command : str
    options : tuple[str, ...]
        What follows the words of the network.
    lane : Lane
    chosen : tuple[str, ...]
        Further options that a page may give, by name.
    """

    command: str
    options: tuple[str, ...]
    lane: Lane = "short"
    chosen: tuple[str, ...] = ()


KINDS = {
    "drawing": Kind("draw", ("-o", "network.svg")),
    "deadlock": Kind("deadlock", ("--json",)),
    "page": Kind("view", ("-o", "network.html")),
    "verilog": Kind("export", ("-o", "network.v")),
    "sweep": Kind(
        "sweep",
        ("--resume", POINTS, "-o", "sweep.svg", "-o", "sweep.json"),
        "long",
        ("loads", "traffic", "cycles", "seed"),
    ),
}


RESULTS = {
    f"{word}{further}"
    for kind in KINDS.values()
    for option, word in itertools.pairwise(kind.options)
    if option == "-o"
    for further in ("", ".json")
}
"""Names of files that the commands write, some with a list beside them: no kept file has one."""


class Guard:
    """Lets requests pass that come from this machine's own pages and have the token.

    Parameters
    ----------
    app : ASGIApp
    token, cookie : str
        The token, and the name of the cookie that has it: cookies do not tell ports apart.
    hosts : tuple[str, ...]
        The names and ports by which the server may be called: another one may be a trick to reach
        it from a foreign page.
    """

    def __init__(self, app: ASGIApp, token: str, cookie: str, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.token = token
        self.cookie = cookie
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (reason := self._refusal(Request(scope))):
            await PlainTextResponse(reason, 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, request: Request) -> str:
        headers = request.headers
        if headers.get("host") not in self.hosts:
            return "This server is for this machine only"
        origins = {f"http://{host}" for host in self.hosts}
        foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        arriving = request.url.path == "/" and request.method == "GET"
        if headers.get("origin", next(iter(origins))) not in origins or (foreign and not arriving):
            return "Other pages may not use this server"
        given = request.query_params.get("token") or request.cookies.get(self.cookie) or ""
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return (
                "The token is missing or wrong: open the address that multicube studio has printed"
            )
        return ""


def words_of(asked: Mapping[str, Any], catalogue: Mapping[str, Any]) -> list[str]:
    """The words of a network, from its name and parameters as a page sends them.

    Raises
    ------
    ValueError
        If the catalogue has no such network, or the network no such parameter.
    """
    name, parameters = asked.get("network"), asked.get("parameters", {})
    known = {each["name"]: each for each in catalogue["networks"]}
    if not isinstance(name, str) or name not in known:
        raise InvalidValue(f"Network must be one of the catalogue, not {name!r}")
    allowed = {each["name"] for each in known[name]["parameters"]}
    given = _given(f"Network {name}", "parameter", parameters, allowed)
    return [name, *(f"{key}={value}" for key, value in given.items())]


def _given(whose: str, what: str, given: object, allowed: Collection[str]) -> dict[str, str]:
    """What a page has given of values that are allowed: each is one line of text."""
    if not isinstance(given, dict):
        raise InvalidValue(f"{what.capitalize()}s must be an object")
    for key, value in given.items():
        if key not in allowed:
            raise InvalidValue(f"{whose} has no {what} {key!r}")
        if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
            raise InvalidValue(f"{what.capitalize()} {key} must be one line of text")
    return {key: value for key, value in given.items() if value}


class Studio:
    """The answers to requests."""

    def __init__(self, tasks: Tasks, token: str, cookie: str) -> None:
        self.tasks = tasks
        self.token = token
        self.cookie = cookie
        self.files = tasks.folder / "files"
        self._catalogue: dict[str, Any] | None = None
        self._lock = asyncio.Lock()

    async def catalogue_of(self) -> dict[str, Any]:
        """What `multicube list --json` prints."""
        async with self._lock:
            if self._catalogue is None:
                task = self.tasks.start(["list", "--json"])
                while not task.is_over:
                    await asyncio.sleep(0.05)
                self._catalogue = json.loads(task.output)
        return self._catalogue

    async def page(self, request: Request) -> Response:
        script = "\n".join(map(_source, _SCRIPTS))
        text = _source("studio.html").replace("/*css*/", _source("studio.css"))
        text = text.replace("/*js*/", script)
        response = HTMLResponse(text)
        response.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    async def catalogue(self, request: Request) -> Response:
        return JSONResponse(await self.catalogue_of())

    async def start(self, request: Request) -> Response:
        try:
            if int(request.headers.get("content-length", LARGEST + 1)) > LARGEST:
                raise InvalidValue(f"A request must have at most {LARGEST} bytes")
            asked = json.loads(await request.body())
            if not isinstance(asked, dict) or asked.get("kind") not in [*KINDS]:
                raise InvalidValue(f"Kind must be one of {', '.join(KINDS)}")
            kind = KINDS[asked["kind"]]
            name, *given = words_of(asked, await self.catalogue_of())
            whose = f"Command {kind.command}"
            options = _given(whose, "option", asked.get("options", {}), kind.chosen)
        except (ValueError, RecursionError) as error:
            return JSONResponse({"error": str(error)}, 400)
        # A kept file lies beside the command, so that the same line does the same elsewhere.
        named = set(re.findall(r"[\w.-]+", " ".join(given)))
        kept = [path for path in self.files.glob("*") if path.name in named]
        chosen = [f"--{key}={value}" for key, value in options.items()]
        words = [kind.command, name, *given, *chosen, *kind.options]
        task = self.tasks.start(words, kind.lane, kept)
        return JSONResponse(self.tasks.record(task), 202)

    async def keep(self, request: Request) -> Response:
        """Keep a file that a page sends, such as a graph, and answer what parameters call it.

        A name has what needs no quotes, such as "graph-1.json" for "graph (1).json". Files of other
        contents have other names: by its name a network is known, and its curve. None has that of a
        result, which would take its place.
        """
        given = request.query_params.get("name", "")
        name = re.sub(r"[^a-zA-Z0-9_.]+", "-", given).replace("-.", ".")[-80:].lstrip("-.")
        try:
            if not name:
                raise InvalidValue(f"File must have a name with a letter or digit, not {given!r}")
            if int(request.headers.get("content-length", LARGEST_FILE + 1)) > LARGEST_FILE:
                raise InvalidValue(f"File {name} must have at most {LARGEST_FILE} bytes")
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)
        body = await request.body()
        self.files.mkdir(exist_ok=True)
        path = self.files / name
        for number in itertools.count(2):
            if path.name not in RESULTS and (not path.exists() or path.read_bytes() == body):
                break
            path = path.with_name(f"{Path(name).stem}-{number}{path.suffix}")
        path.write_bytes(body)
        return JSONResponse({"file": path.name}, 201)

    def _task(self, request: Request) -> Task | None:
        return self.tasks.tasks.get(request.path_params["key"])

    async def task(self, request: Request) -> Response:
        task = self._task(request)
        if task is None:
            return JSONResponse({"error": "There is no such task"}, 404)
        if request.method == "DELETE":
            self.tasks.cancel(task)
        return JSONResponse(self.tasks.record(task))

    async def file(self, request: Request) -> Response:
        task, name = self._task(request), request.path_params["name"]
        if task is None or name not in task.files:
            return PlainTextResponse("Only what a task has written can be read", 403)
        download = name if "download" in request.query_params else None
        return FileResponse(task.folder / name, filename=download)


def application(folder: Path, token: str, port: int) -> ASGIApp:
    """The workbench as an ASGI application.

    Parameters
    ----------
    folder : Path
        Where tasks write.
    token : str
    port : int
        The port at which it is called.
    """
    tasks = Tasks(folder)
    cookie = f"multicube-studio-{port}"
    studio = Studio(tasks, token, cookie)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await tasks.close()

    app = Starlette(
        routes=[
            Route("/", studio.page),
            Route("/catalogue", studio.catalogue),
            Route("/files", studio.keep, methods=["POST"]),
            Route("/tasks", studio.start, methods=["POST"]),
            Route("/tasks/{key}", studio.task, methods=["GET", "DELETE"]),
            Route("/tasks/{key}/files/{name:path}", studio.file),
            Route("/{path:path}", _outside),
        ],
        lifespan=lifespan,
    )
    return Guard(app, token, cookie, (f"{LOOPBACK}:{port}", f"localhost:{port}"))


async def _outside(request: Request) -> Response:
    return PlainTextResponse("There is nothing here", 403)


def serve(port: int = 0, *, show: bool = True, tell: Callable[[str], None] = print) -> None:
    """Serve the workbench until it is interrupted.

    Parameters
    ----------
    port : int
        0 for any that is free.
    show : bool
        Whether to open it in the browser.
    tell : Callable
        Is given its address.

    Raises
    ------
    OSError
        If the port is taken.
    """
    token = secrets.token_urlsafe(24)
    with tempfile.TemporaryDirectory(prefix="multicube-") as folder, socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        port = listening.getsockname()[1]
        listening.listen()
        address = f"http://{LOOPBACK}:{port}/?token={token}"
        tell(address)
        if show:
            webbrowser.open(address)
        app = application(Path(folder), token, port)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[listening])


def _source(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text("utf-8")
