"""The code on the pages: README.md and `docs`. There is one way to run it, which is here.

Blocks of Python run in the order of the page, in one folder. One that begins with a comment that is
the name of a file, as `# run.py`, is written to that file instead; so is C, as `/* run.c */`.
Commands are indented lines, or lines that begin with `$` in blocks of `console`. What such a block
shows below a command, or what stands indented directly below a block of Python, is what is printed.
"""

import re
import shlex
import textwrap
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGES", "ROOT", "Block", "Command", "commands", "files", "python_blocks"]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_PYTHON = re.compile(r"^```python\n(.*?)^```\n(.*?)(?=^```|\Z)", re.M | re.S)
_FILE = re.compile(r"# (\w+\.py)\n")
_C_FILE = re.compile(r"^```c\n(/\* (\w+\.c) \*/\n.*?)^```\n", re.M | re.S)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
_INDENTED = re.compile(r"^    ((?:multicube|python examples/wiring.py) .*)", re.M)


class Block(NamedTuple):
    """A block of Python that is run, and what the page says that it prints, if it does."""

    code: str
    printed: str | None


class Command(NamedTuple):
    """The words of a command, and what the page says that it prints, if it does."""

    words: list[str]
    printed: str | None


def python_blocks(page: Path) -> list[Block]:
    """The blocks of Python that are run."""
    blocks = []
    for code, after in _PYTHON.findall(page.read_text()):
        if not _FILE.match(code):
            shown = re.search(r"\A[^#]*?((?:^    .*\n)+)", after, re.M)
            blocks.append(Block(code, shown and textwrap.dedent(shown[1])))
    return blocks


def files(page: Path) -> dict[str, str]:
    """The files that the page shows, by name."""
    text = page.read_text()
    codes = [code for code, _ in _PYTHON.findall(text)]
    python = {found[1]: code for code in codes if (found := _FILE.match(code))}
    return python | {name: code for code, name in _C_FILE.findall(text)}


def commands(page: Path) -> list[Command]:
    """The commands, in the order of the page."""
    text = page.read_text()
    found = [
        (each.start(), Command(shlex.split(each[1]), None)) for each in _INDENTED.finditer(text)
    ]
    for block in _CONSOLE.finditer(text):
        for part in re.split(r"^\$ ", block[1], flags=re.M)[1:]:
            line, _, printed = part.partition("\n")
            found.append((block.start(), Command(shlex.split(line), printed or None)))
    return [command for _, command in sorted(found, key=lambda each: each[0])]
