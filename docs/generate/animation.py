"""The moving picture of README.md: a live page of a network, filmed cycle by cycle in Chromium.

`cd docs && python -m generate.animation` writes `pictures/omega16.webp` again.
"""

import io
import shutil
import tempfile
from pathlib import Path

from multicube.hdl import build
from multicube.sim.live import LivePage
from PIL import Image
from playwright.sync_api import sync_playwright

from .markdown import DOCS

__all__ = ["main"]

NETWORK = "omega ports=16"
FRAMES_PER_CYCLE = 6
CYCLES = 8
_WARM_UP = 40


def main(path: Path) -> None:
    """Film some cycles; each is `FRAMES_PER_CYCLE` pictures, between which packets move."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        page_file = Path(folder) / "network.html"
        LivePage(build(NETWORK), load=0.35, seed=3).save(page_file)
        program = shutil.which("chromium")
        chromium = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 760, "height": 460}, color_scheme="light")
        page.goto(f"{page_file.as_uri()}#plain")
        page.wait_for_function("document.documentElement.dataset.ready === 'true'")
        page.add_style_tag(content=".bar { display: none !important; }")
        page.evaluate("() => { multicube.tick = () => {}; multicube.drawing.resize(); }")
        page.evaluate("(cycles) => multicube.go({ cycles }, 1)", _WARM_UP)
        pictures = []
        for _ in range(CYCLES):
            page.evaluate("() => multicube.go({ cycles: 1 }, 0)")
            for part in range(FRAMES_PER_CYCLE):
                page.evaluate("(shown) => multicube.paint(shown, true)", part / FRAMES_PER_CYCLE)
                pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        chromium.close()
    first, *others = pictures
    first.save(path, save_all=True, append_images=others, duration=70, lossless=True, method=6)


if __name__ == "__main__":
    main(DOCS / "pictures" / "omega16.webp")
