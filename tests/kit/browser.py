"""A headless Chromium for tests of pages; they are skipped where there is none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed (on Debian: apt install chromium)"
)

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, with a profile of its own that is removed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS))
        try:
            yield opened
        finally:
            opened.close()


class Tab:
    """A page that is open in the browser, and ready; whatever it complains of is an error.

    Attributes
    ----------
    page : playwright.sync_api.Page
    errors : list[str]
    """

    def __init__(self, chromium: Any, path: Path, **options: Any) -> None:
        self.page = chromium.new_page(**options)
        self.errors: list[str] = []
        self.page.on("console", lambda message: self._told(message.type, message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._requested)
        self.page.goto(path.as_uri())
        self.page.wait_for_function("document.documentElement.dataset.ready === 'true'")

    def _told(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.errors.append(f"{kind}: {text}")

    def _requested(self, request: Any) -> None:
        if not request.url.startswith(("file:", "blob:", "data:")):
            self.errors.append(f"request: {request.url}")

    def do(self, script: str, argument: Any = None) -> Any:
        """The value of a function in JavaScript, once it is known."""
        return self.page.evaluate(script, argument)

    def text(self, selector: str) -> str:
        """What an element says."""
        found = self.page.text_content(selector)
        assert found is not None
        return found.strip()

    def close(self) -> None:
        self.page.close()
        assert self.errors == []
