"""The drawn diagrams of the explanations; `cd docs && python -m generate.diagrams` makes them.

What they show is fixed: block diagrams, timing and paths of single packets. All measured pictures
are made by the library itself.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from .markdown import DOCS

__all__ = ["DIAGRAMS", "main"]

INK, SOFT, PAPER = "#1c2430", "#5d6877", "#ffffff"
BLUE, GREEN, YELLOW, GREY = "#cfe3f3", "#d3ead6", "#fdf0bf", "#eef0f3"
PACKETS = ("#0072b2", "#d55e00", "#009e73", "#b0307a")


class Drawing:
    """An SVG picture that grows by shapes."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = width, height
        self._title = title
        self._shapes: list[str] = []

    def box(self, x: float, y: float, w: float, h: float, text: str = "", fill: str = BLUE) -> None:
        self._shapes.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" fill="{fill}" '
            f'stroke="{INK}" stroke-width="1.2"/>'
        )
        lines = text.split("\n")
        for number, line in enumerate(lines):
            self.text(x + w / 2, y + h / 2 + 5 + 17 * (number - (len(lines) - 1) / 2), line)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 14,
        anchor: str = "middle",
        of: str = INK,
    ) -> None:
        self._shapes.append(
            f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{of}">'
            f"{escape(text)}</text>"
        )

    def arrow(self, *points: tuple[float, float], colour: str = INK, width: float = 1.6) -> None:
        path = " L".join(f"{x} {y}" for x, y in points)
        marker = f"m{colour[1:]}"
        self._shapes.append(
            f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'marker-end="url(#{marker})"/>'
        )

    def curve(
        self, path: str, colour: str = INK, width: float = 1.6, *, arrow: bool = True
    ) -> None:
        end = f' marker-end="url(#m{colour[1:]})"' if arrow else ""
        self._shapes.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{end}/>'
        )

    def dot(self, x: float, y: float, colour: str, text: str = "") -> None:
        self._shapes.append(f'<circle cx="{x}" cy="{y}" r="9" fill="{colour}"/>')
        if text:
            self.text(x, y + 4.5, text, size=12, of=PAPER)

    def flits(
        self, x: float, y: float, cells: Sequence[str], colour: str, step: float = 34
    ) -> None:
        """A row of cycles; a cell that is empty is left out."""
        for number, cell in enumerate(cells):
            if cell:
                self._shapes.append(
                    f'<rect x="{x + number * step + 1}" y="{y}" width="{step - 2}" height="24" '
                    f'rx="3" fill="{colour}"/>'
                )
                self.text(x + (number + 0.5) * step, y + 17, cell, size=13, of=PAPER)

    def cycles(self, x: float, y: float, number: int, bottom: float, step: float = 34) -> None:
        for cycle in range(number + 1):
            at = x + cycle * step
            self._shapes.append(
                f'<path d="M{at} {y + 6}V{bottom}" stroke="#d5d9df" stroke-width="1"/>'
            )
            if cycle < number:
                self.text(at + step / 2, y, str(cycle), size=12, of=SOFT)

    def __str__(self) -> str:
        width, height = self._size
        colours = {INK, SOFT, *PACKETS}
        markers = "".join(
            f'<marker id="m{each[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="11" '
            f'markerHeight="11" markerUnits="userSpaceOnUse" orient="auto">'
            f'<path d="M0 0L10 5L0 10z" fill="{each}"/></marker>'
            for each in sorted(colours)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="DejaVu Sans, sans-serif" role="img">'
            f"<title>{escape(self._title)}</title><defs>{markers}</defs>"
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
            f"{''.join(self._shapes)}</svg>\n"
        )


def packet_in_a_box() -> Drawing:
    """A 2 x 2 box with queues at its inputs."""
    d = Drawing(760, 250, "A packet in an interchange box")
    d.box(150, 30, 430, 170, "", GREY)
    d.text(365, 222, "2 x 2 box, input-queued", of=SOFT)
    for row, y in enumerate((60, 130)):
        d.text(112, y - 4, f"input {row}", of=SOFT)
        d.arrow((30, y + 20), (168, y + 20))
        for slot in range(4):
            d.box(170 + slot * 26, y + 4, 24, 32, "", PAPER)
        d.arrow((276, y + 20), (340, y + 20))
        d.arrow((480, y + 20), (720, y + 20))
        d.text(660, y - 4, f"output {row}", of=SOFT)
    d.box(342, 56, 136, 118, "", BLUE)
    d.curve("M342 80C400 80 420 150 478 150", PACKETS[1], 3)
    d.text(410, 78, "crossbar")
    d.dot(50, 80, PACKETS[1])
    d.text(50, 112, "tag 1 0 1", size=13, of=PACKETS[1])
    d.dot(262, 80, PACKETS[1])
    d.dot(262, 150, PACKETS[0])
    d.dot(690, 150, PACKETS[1])
    d.text(690, 182, "tag 0 1 1", size=13, of=PACKETS[1])
    d.box(342, 2, 136, 24, "arbiter per output", YELLOW)
    d.arrow((410, 26), (410, 54))
    d.text(222, 26, "head: digit 1 asks for output 1", size=12, of=SOFT)
    return d


def switching_kinds() -> Drawing:
    """The cycles of four flits over three boxes."""
    d = Drawing(900, 420, "A packet of four flits through three boxes")
    kinds = (
        ("store and forward", [0, 4, 8]),
        ("cut-through, wormhole", [0, 1, 2]),
        ("circuit", [3, 3, 3]),
    )
    top = 20
    for kind, starts in kinds:
        d.text(20, top + 14, kind, anchor="start")
        d.cycles(190, top + 6, 13, top + 110, 52)
        for row, start in enumerate(starts):
            y = top + 22 + 30 * row
            d.text(180, y + 17, f"box {row}", size=12, anchor="end", of=SOFT)
            cells = [""] * start + ["h", "1", "2", "t"]
            if kind == "circuit":
                cells = [""] * row + ["set"] * (1) + [""] * (2 - row) + ["h", "1", "2", "t"]
            d.flits(190, y, cells, PACKETS[0], 52)
        top += 128
    d.text(20, 410, "h: header, t: tail; one column is a cycle", size=12, anchor="start", of=SOFT)
    return d


def router_block() -> Drawing:
    """The parts of a wormhole router."""
    d = Drawing(860, 330, "Block diagram of a router")
    d.box(140, 20, 580, 260, "", GREY)
    for row, (y, name) in enumerate(((50, "link +x"), (120, "link -x"), (190, "terminal"))):
        d.text(66, y + 8, name, of=SOFT)
        d.arrow((20, y + 22), (158, y + 22))
        d.box(160, y, 120, 44, "queue per\nvirtual channel", PAPER)
        d.arrow((280, y + 22), (318, y + 22))
        d.arrow((600, y + 22), (840, y + 22))
        d.text(780, y + 8, name, of=SOFT)
        if row == 0:
            d.text(220, 40, "routes stored with headers", size=12, of=SOFT)
    d.box(320, 50, 110, 184, "requests:\nheaders and\ntheir exits", YELLOW)
    d.box(470, 50, 130, 184, "crossbar:\nthe turns that\nare made", BLUE)
    d.arrow((430, 142), (468, 142))
    d.box(400, 246, 130, 28, "arbiter per output", GREEN)
    d.arrow((375, 234), (420, 246))
    d.arrow((510, 246), (535, 236))
    d.text(430, 310, "credits and ready flow against the packets", size=13, of=SOFT)
    d.arrow((600, 305), (700, 305), (700, 284), colour=SOFT)
    return d


def router_timing() -> Drawing:
    """The cycles of a packet of three flits in one router, for each pipeline."""
    d = Drawing(760, 400, "Timing of a packet in a router, by pipeline")
    rows = {
        "pipeline=0": ["queue, arbiter, switch"],
        "pipeline=1": ["queue, arbiter", "switch, link"],
        "pipeline=2": ["route", "arbiter", "switch, link"],
    }
    top = 24
    for name, stages in rows.items():
        d.text(20, top + 12, name, anchor="start")
        d.cycles(300, top, 9, top + 24 + 30 * len(stages), 48)
        extra = 1 if name != "pipeline=0" else 0
        for row, stage in enumerate(stages):
            y = top + 14 + 30 * row
            d.text(290, y + 17, stage, size=12, anchor="end", of=SOFT)
            start = row + (extra if row else 0)
            d.flits(300, y, [""] * start + ["h", "1", "t"], PACKETS[row], 48)
        top += 60 + 30 * len(stages)
    d.text(20, 390, "A header waits a cycle for an output that belongs to another input.",
           size=12, anchor="start", of=SOFT)  # fmt: skip
    return d


def deadlock_circle() -> Drawing:
    """Four worms in a ring."""
    d = Drawing(520, 420, "Four worms that wait for each other in a circle")
    places = ((140, 90), (380, 90), (380, 310), (140, 310))
    for number, (x, y) in enumerate(places):
        d.box(x - 45, y - 32, 90, 64, f"node {number}", BLUE)
    ways = (
        "M185 90H335", "M380 122V278", "M335 310H185", "M140 278V122",
    )  # fmt: skip
    holds = ((260, 74), (452, 190), (260, 344), (66, 190))
    waits = ((260, 112), (452, 210), (260, 326), (66, 210))
    for number, way in enumerate(ways):
        colour = PACKETS[number]
        d.curve(way, colour, 6)
        hx, hy = holds[number]
        wx, wy = waits[number]
        d.text(hx, hy, f"held by worm {number}", size=13, of=colour)
        d.text(wx, wy, f"worm {(number - 1) % 4} waits", size=12, of=SOFT)
    d.text(260, 190, "each worm holds a link,", of=INK)
    d.text(260, 212, "and waits for the next one", of=INK)
    return d


def group_tree() -> Drawing:
    """A multicast down a tree, and a reduction up."""
    d = Drawing(820, 330, "A multicast and a reduction in a tree of routers")
    for offset, title, up in ((0, "multicast", False), (410, "reduction", True)):
        places = {
            0: (205, 70),
            1: (105, 170),
            2: (305, 170),
            3: (55, 270),
            4: (155, 270),
            5: (305, 270),
        }
        places = {key: (x + offset, y) for key, (x, y) in places.items()}
        d.text(205 + offset, 26, title)
        for child, parent in ((1, 0), (2, 0), (3, 1), (4, 1), (5, 2)):
            (x1, y1), (x2, y2) = places[parent], places[child]
            a, b = (x1, y1 + 22), (x2, y2 - 22)
            colour = PACKETS[0] if not up else PACKETS[1]
            d.arrow(*((b, a) if up else (a, b)), colour=colour, width=2.4)
        for key, (x, y) in places.items():
            value = {0: 15, 1: 8, 2: 5, 3: 3, 4: 4, 5: 3}[key]
            d.box(x - 36, y - 22, 72, 44, ("root" if key == 0 else f"node {key}"), GREEN)
            if up:
                right, down = (62, 5) if key < 3 else (0, 37)
                d.text(x + right, y + down, f"sum {value}", size=12, of=SOFT)
        if not up:
            d.text(300, 60, "copied at each fork", size=12, anchor="start", of=SOFT)
    return d


def combining_box() -> Drawing:
    """Two fetch-and-adds meet."""
    d = Drawing(900, 300, "Two fetch-and-adds combine in a box")
    d.box(300, 40, 220, 210, "", GREY)
    d.text(410, 274, "2 x 2 box", of=SOFT)
    d.text(20, 84, "fetch-and-add(x, 3)", anchor="start", of=PACKETS[0])
    d.text(20, 184, "fetch-and-add(x, 4)", anchor="start", of=PACKETS[1])
    d.arrow((170, 80), (298, 80), colour=PACKETS[0], width=2.4)
    d.arrow((170, 180), (298, 180), colour=PACKETS[1], width=2.4)
    d.box(330, 60, 160, 44, "compare, 3 + 4", YELLOW)
    d.box(330, 150, 160, 60, "wait buffer:\nsecond adds 3", BLUE)
    d.arrow((410, 104), (410, 148))
    d.arrow((520, 80), (690, 80), colour=PACKETS[2], width=2.4)
    d.text(606, 66, "fetch-and-add(x, 7)", of=PACKETS[2])
    d.box(692, 50, 180, 150, "memory module\nx was 10\nx becomes 17", GREEN)
    d.arrow((690, 180), (522, 180), colour=PACKETS[2], width=2.4)
    d.text(590, 202, "reply 10", of=PACKETS[2])
    d.arrow((298, 104), (170, 104), colour=PACKETS[0])
    d.text(70, 112, "reply 10", anchor="start", of=PACKETS[0])
    d.arrow((298, 206), (170, 206), colour=PACKETS[1])
    d.text(70, 214, "reply 10 + 3", anchor="start", of=PACKETS[1])
    return d


def extra_stage() -> Drawing:
    """The Extra Stage Cube of eight terminals with both paths of a packet."""
    d = Drawing(860, 400, "Two paths through an Extra Stage Cube")
    stages = (0, 2, 1, 0)
    lines = [60 + 40 * number for number in range(8)]
    for number, y in enumerate(lines):
        d.text(30, y + 5, f"{number:03b}", of=SOFT)
        d.text(830, y + 5, f"{number:03b}", of=SOFT)
        d.curve(f"M60 {y}H800", "#c9ced6", 1.2, arrow=False)
    names = ("stage 0, extra (cube 3)", "stage 1 (cube 2)", "stage 2 (cube 1)", "stage 3 (cube 0)")
    for place, bit in enumerate(stages):
        x = 140 + 180 * place
        d.text(x + 30, 30, names[place], size=13, of=SOFT)
        for number, y in enumerate(lines):
            partner = number ^ 1 << bit
            if number < partner:
                d.curve(f"M{x + 10 + 12 * (number % (1 << bit))} {y}V{lines[partner]}",
                        SOFT, 1.4, arrow=False)  # fmt: skip
                for end in (y, lines[partner]):
                    d.dot(x + 10 + 12 * (number % (1 << bit)), end, SOFT)
    for colour, start in ((PACKETS[0], 6), (PACKETS[1], 7)):
        line, points = 6, [(60.0, float(lines[6]))]
        goals = (start, start & 3, start & 1, 0)
        for place, goal in enumerate(goals):
            x = 140 + 180 * place + 10 + 12 * (min(line, goal) % (1 << stages[place]))
            points += [(x, lines[line]), (x, lines[goal])]
            line = goal
        points.append((800, lines[0]))
        d.arrow(*points, colour=colour, width=3)
    d.text(430, 388, "from 6 to 0: straight in the extra stage, or exchanged there", of=INK)
    return d


def run() -> Drawing:
    """The parts of a run, in time."""
    d = Drawing(900, 250, "The parts of a run")
    parts = (
        ("warm-up", 40, 200, GREY),
        ("window", 240, 280, BLUE),
        ("until its packets\nhave arrived", 520, 160, YELLOW),
        ("drain", 680, 120, GREEN),
    )
    for text, x, width, fill in parts:
        d.box(x, 60, width, 56, text, fill)
    d.text(140, 46, "level? (MSER)", size=12, of=SOFT)
    d.text(380, 46, "64 parts: throughput, use of links", size=12, of=SOFT)
    d.text(740, 46, "sources stop", size=12, of=SOFT)
    d.arrow((40, 140), (820, 140), colour=SOFT)
    d.text(826, 136, "time", size=12, of=SOFT, anchor="start")
    for start, end, colour, counts in (
        (100, 180, SOFT, False), (280, 380, PACKETS[0], True),
        (470, 610, PACKETS[0], True), (560, 640, SOFT, False),
    ):  # fmt: skip
        y = 172 if counts else 204
        d.dot(start, y, colour)
        d.arrow((start, y), (end, y), colour=colour, width=2.4)
    d.text(650, 177, "latency counts: born in the window", size=12, anchor="start", of=PACKETS[0])
    d.text(650, 209, "latency does not count", size=12, anchor="start", of=SOFT)
    return d


def engine() -> Drawing:
    """From cells to compiled code."""
    d = Drawing(900, 260, "How the engine makes C of a network")
    parts = (
        ("fabric:\ncells and wires", GREY), ("one netlist for\neach type of cell", BLUE),
        ("graph of words", BLUE), ("lanes of 32 bits,\nplanes of 64 cells", YELLOW),
        ("C, compiled once\nper type", GREEN),
    )  # fmt: skip
    for number, (text, fill) in enumerate(parts):
        x = 16 + 178 * number
        d.box(x, 30, 150, 64, text, fill)
        if number:
            d.arrow((x - 28, 62), (x - 2, 62))
    d.box(194, 150, 510, 84, "", GREY)
    d.text(449, 172, "each cycle", of=SOFT)
    for number, text in enumerate(("level 0 outputs", "level 1 outputs", "update registers")):
        d.box(210 + 168 * number, 184, 140, 36, text, PAPER)
        if number:
            d.arrow((182 + 168 * number, 202), (208 + 168 * number, 202))
    d.arrow((91, 94), (91, 202), (192, 202))
    d.text(96, 226, "wires: tables", size=12, anchor="start", of=SOFT)
    d.arrow((803, 94), (803, 202), (706, 202))
    return d


DIAGRAMS: dict[str, Callable[[], Drawing]] = {
    "packet-in-a-box": packet_in_a_box,
    "switching-kinds": switching_kinds,
    "router-block": router_block,
    "router-timing": router_timing,
    "deadlock-circle": deadlock_circle,
    "group-tree": group_tree,
    "combining-box": combining_box,
    "extra-stage": extra_stage,
    "run": run,
    "engine": engine,
}


def main(folder: Path, names: Iterable[str] = DIAGRAMS) -> None:
    """Write the diagrams into a folder."""
    for name in names:
        (folder / f"{name}.svg").write_text(str(DIAGRAMS[name]()))


if __name__ == "__main__":
    main(DOCS / "pictures")
