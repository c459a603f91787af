"""Traffic patterns and traces, as they are read from text and as the sources make them."""

import re
from pathlib import Path

import pytest
from multicube.hdl import build
from multicube.hdl.graphs.permutations import bit_reversal, delta_shift, lambda_map
from multicube.sim import Trace, TracePacket, pattern, read_trace, simulate
from multicube.sim.workload.traffic import TRAFFIC, check_load
from refusals import refusals

HEADER = "cycle,source,destination\n"


def test_uniform() -> None:
    traffic = pattern("uniform", 8)
    assert traffic.uniform
    assert traffic.where.bias == 0
    assert traffic.name == "uniform"


@pytest.mark.parametrize(
    ("text", "ports", "favourites"),
    [
        ("identity", 4, [0, 1, 2, 3]),
        ("complement", 27, list(range(27))[::-1]),
        ("bit-reversal", 16, bit_reversal(16)),
        ("shift:-1", 4, [3, 0, 1, 2]),
        ("lambda:5:3", 8, lambda_map(8, 5, 3)),
        ("delta:2:1", 16, delta_shift(16, 2, 1)),
    ],
)
def test_permutations(text: str, ports: int, favourites: list[int]) -> None:
    traffic = pattern(text, ports)
    assert list(traffic.where.favourites) == favourites
    assert traffic.where.bias == 1
    assert not traffic.uniform
    assert traffic.name == text


@pytest.mark.parametrize(
    ("text", "name"),
    [("bitcomp", "complement"), ("BITREV", "bit-reversal"), ("shuffle", "perfect-shuffle")],
)
def test_names_of_booksim(text: str, name: str) -> None:
    assert pattern(text, 8) == pattern(name, 8)
    assert pattern(f"{text}+bursts:2:6", 8).name == f"{name}+bursts:2:6"


def test_patterns_of_booksim_by_its_definitions() -> None:
    """Each draw of its functions `dest`, by the values that its random numbers can have."""
    for ports in (2, 6, 9):
        diagonal = [
            [sum(((x + 1) % ports if draw == 0 else x) == y for draw in range(3)) / 3]
            for x in range(ports)
            for y in range(ports)
        ]
        matrix = pattern("diagonal", ports).where.matrix
        shares = matrix / matrix.sum(axis=1, keepdims=True)
        assert shares.flatten().tolist() == pytest.approx([each for (each,) in diagonal])
    half = 3
    matrix = pattern("asymmetric", 2 * half).where.matrix
    for x, row in enumerate(matrix):
        assert {y for y, weight in enumerate(row) if weight} == {x % half, x % half + half}
        assert len(set(row)) == 2
    with pytest.raises(ValueError, match=r"^Ports of asymmetric traffic must be even, not 9$"):
        pattern("asymmetric", 9)


def test_hot_spot() -> None:
    assert pattern("hotspot:0.25", 8).where.favourites == (0,) * 8
    traffic = pattern("hotspot:0.25:7", 8)
    assert traffic.where.favourites == (7,) * 8
    assert traffic.where.bias == 0.25
    assert not traffic.uniform
    assert pattern("hotspot:0", 8).uniform
    assert pattern("hotspot:1", 8).where.bias == 1


@pytest.mark.parametrize(
    ("family", "parameters", "size"),
    [
        ("dcsh", {"k": 6, "n": 2}, 12),
        ("hypercube", {"n": 4}, 8),
        ("cube", {"ports": 27, "radix": 3}, 9),
    ],
)
def test_sphere_of_locality(family: str, parameters: dict[str, int], size: int) -> None:
    """The sphere gets its share, whatever part of the uniform traffic is for it."""
    network = build(family, **parameters)
    beta = 0.625
    text = f"sphere:{beta}:{size}"
    straps = pattern(text, network.ports).sources(network, 0.1, 1, 16).straps
    for terminal, own in enumerate(straps):
        codes = [network.tags.code.encode(other) for other in range(network.ports)]
        near = [(code ^ own["favourite"]) & ~own["scope"] == 0 for code in codes]
        assert near == [other // size == terminal // size for other in range(network.ports)]
        bias = own["bias"] / 2**18
        assert bias + (1 - bias) * size / network.ports == pytest.approx(beta, abs=1e-5)
    assert not pattern(text, network.ports).uniform


@pytest.mark.parametrize(
    ("family", "k", "size"), [("dcsh", 16, 16), ("torus", 16, 8), ("torus", 6, 6), ("mesh", 8, 8)]
)
def test_sphere_that_suits_the_network(family: str, k: int, size: int) -> None:
    """A cluster of a DCSH; eight nodes of a row of a torus, if rows are made of them."""
    network = build(family, k=k, n=2)
    default, given = (
        pattern(text, network.ports).sources(network, 0.1, 1, 16).straps
        for text in ("sphere:0.7", f"sphere:0.7:{size}")
    )
    assert default == given


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("hypercube n=3", 4),
        ("bh-bh dimension=4 cluster=2", 4),
        ("hierarchical level1=complete:nodes=3 level2=hypercube:n=1", 3),
        ("torus k=3", 3),
        ("dcsh k=4 n=2", 2),
    ],
)
@pytest.mark.parametrize("alpha", [0, 0.125, 0.625, 1])
def test_locality(words: str, size: int, alpha: float) -> None:
    """Each terminal of the cluster is equally likely, and each of all others, whether destinations
    are drawn by gates or from a table."""
    network = build(words)
    ports = network.ports
    traffic = pattern(f"locality:{alpha}:{size}", ports)
    plan = traffic.sources(network, 0.1, 1, 16)
    fitted = traffic.fitted(network).where
    codes = [network.tags.code.encode(other) for other in range(ports)]
    for terminal, own in enumerate(plan.straps):
        bias = own["bias"] / 2**18
        near = [(code ^ own["favourite"]) & ~own["scope"] == 0 for code in codes]
        chances = [bias * n / sum(near) + (1 - bias) / ports for n in near]
        if fitted.matrix is not None:
            assert bias == 0
            chances = list(fitted.matrix[terminal])
        inside = [other // size == terminal // size for other in range(ports)]
        for chance, here in zip(chances, inside):
            expected = alpha / size if here else (1 - alpha) / (ports - size)
            assert chance == pytest.approx(expected, abs=1e-5)
    assert (fitted.matrix is None) == (not plan.contents)
    assert not traffic.uniform


@pytest.mark.long
def test_locality_in_a_run() -> None:
    """Paths within a cluster of a hierarchical network stay in it."""
    network = build("bh-bh dimension=4 cluster=2")
    assert network.sphere == 4
    for alpha, seeds in ((1, 1), (0.05, 2)):
        result = simulate(network, traffic=f"locality:{alpha}", load=0.03, cycles=3000, seed=seeds)
        joined = sum(rate for name, rate in result.links.items() if "level 2" in name)
        # An intercluster packet crosses 4 / 3 links of level 2 on average.
        assert joined == pytest.approx((1 - alpha) * 0.03 * 16 * 4 / 3, rel=0.1)
    with pytest.raises(ValueError, match="Terminals SIZE of locality must divide 16, not 3"):
        pattern("locality:0.5:3", 16)
    with pytest.raises(ValueError, match="Fraction ALPHA of locality must be from 0 to 1, not 2"):
        pattern("locality:2", 16)


def test_sphere_of_all_terminals_is_uniform() -> None:
    network = build("dcsh", k=3, n=2)
    straps = pattern("sphere:0.5:9", 9).sources(network, 0.1, 1, 16).straps
    assert all((own["scope"], own["bias"]) == (15, 2**18) for own in straps)


test_sphere_rejects = refusals(
    lambda text: pattern(text, 16).sources(build("dcsh", k=4, n=2), 0.1, 1, 16),
    ("sphere:0.1", "Fraction BETA of sphere must be at least 0.25, its share of all terminals..."),
    ("sphere:2", "Fraction BETA of sphere must be from 0 to 1, not 2"),
    ("sphere:0.5:17", "Terminals SIZE of sphere must be from 1 to 16, not 17"),
    (
        "sphere:0.5:3",
        "Size of a block must be a power of 4, times a power of two that divides 4, up to "
        "16, not 3",
    ),
    ("sphere:x", "Traffic 'sphere:x' needs a number in place of 'x'"),
    ("sphere:0.5:y", "Traffic 'sphere:0.5:y' needs an integer in place of 'y'"),
)


def test_sphere_is_not_for_memory() -> None:
    with pytest.raises(ValueError, match=r"^Traffic sphere:0.5 is not for networks with memory$"):
        simulate(build("combining", ports=4), traffic="sphere:0.5")


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "жар", "3;1", "1,,2", "file:", "matrix:", "list:1,2", "+bursts:2:2"],
)
def test_pattern_rejects_name(text: str) -> None:
    unknown = text.removesuffix("+bursts:2:2")
    message = re.escape(f"Traffic must be one of {', '.join(TRAFFIC)}, not {unknown!r}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        pattern(text, 8)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("unifrom", "uniform"),
        ("uniform ", "uniform"),
        ("hotspot0.5", "hotspot"),
        ("Bit_Reversal", "bit-reversal"),
        ("neighbour", "neighbor"),
        ("tornadoes+bursts:3:4", "tornado"),
        ("uniform+interval7:1", "uniform"),
    ],
)
def test_pattern_suggests_the_nearest_name(text: str, meant: str) -> None:
    unknown = text.lower().removesuffix("+bursts:3:4")
    message = re.escape(f"Traffic {unknown!r} is not known; did you mean {meant!r}?")
    with pytest.raises(ValueError, match=f"^{message}$"):
        pattern(text, 8)


def test_a_file_may_be_called_like_an_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs+bursts.csv").write_text("1,0")
    assert pattern("file:pairs+bursts.csv+bursts:2:6", 2).where.favourites == (1, 0)


def test_capitals_do_not_matter() -> None:
    assert pattern("Hotspot:0.25:7", 8) == pattern("hotspot:0.25:7", 8)
    assert pattern("UNIFORM", 8).name == "uniform"
    assert pattern("1,X,0", 3) == pattern("1,x,0", 3)


@pytest.mark.parametrize(
    "text",
    [
        "uniform:1",
        "hotspot",
        "hotspot:0.1:2:3",
        "tornado:1",
        "randperm:1:2",
        "shift",
        "shift:1:2",
        "lambda:3",
        "delta:1",
        "identity:1",
        "sphere",
        "sphere:1:2:3",
    ],
)
def test_pattern_rejects_number_of_words(text: str) -> None:
    name = text.split(":")[0]
    form = next(form for form in TRAFFIC if re.split(r"[:\[]", form)[0] == name)
    message = re.escape(f"Traffic {name} must be written as {form}, not {text!r}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        pattern(text, 8)


@pytest.mark.parametrize(
    ("text", "word", "what"),
    [
        ("hotspot:x", "x", "a number"),
        ("hotspot:", "", "a number"),
        ("hotspot:0.5:1.5", "1.5", "an integer"),
        ("hotspot:0.5:", "", "an integer"),
        ("shift:0.5", "0.5", "an integer"),
        ("lambda:3:k", "k", "an integer"),
    ],
)
def test_pattern_rejects_number(text: str, word: str, what: str) -> None:
    message = re.escape(f"Traffic {text!r} needs {what} in place of {word!r}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        pattern(text, 8)


@pytest.mark.parametrize("word", ["-0.1", "1.01", "nan", "inf", "1e9"])
def test_pattern_rejects_fraction(word: str) -> None:
    with pytest.raises(ValueError, match=rf"^Fraction H of hotspot must be .* to 1, not {word}$"):
        pattern(f"hotspot:{word}", 8)


@pytest.mark.parametrize("terminal", [-1, 8, 10**9])
def test_pattern_rejects_terminal(terminal: int) -> None:
    message = f"Terminal T of hotspot must be from 0 to 7, not {terminal}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        pattern(f"hotspot:0.5:{terminal}", 8)


@pytest.mark.parametrize("load", [-0.001, 1.001, float("nan"), float("inf")])
def test_load_is_a_probability(load: float) -> None:
    message = f"^Load must be from 0 to 1 packets per terminal per cycle, not {load}$"
    with pytest.raises(ValueError, match=message):
        check_load(load)
    with pytest.raises(ValueError, match=message):
        simulate(build("cube"), load=load)


def test_straps_of_sources() -> None:
    network = build("cube", ports=9, radix=3)
    straps = pattern("hotspot:0.5:5", 9).sources(network, 0.25, 7, 16).straps
    assert {strap["load"] for strap in straps} == {2**20}
    assert {strap["bias"] for strap in straps} == {2**17}
    # Terminal 5 is 12 in base 3, two bits a digit.
    assert {strap["favourite"] for strap in straps} == {0b0110}
    seeds = [strap["seed"] for strap in straps]
    assert len(set(seeds)) == 9
    assert all(0 < seed < 2**128 for seed in seeds)
    again = pattern("uniform", 9).sources(network, 1, 7, 16).straps
    other = pattern("uniform", 9).sources(network, 1, 8, 16).straps
    assert [strap["seed"] for strap in again] == seeds
    assert not {strap["seed"] for strap in other} & set(seeds)


def test_sources_reject_seed() -> None:
    with pytest.raises(ValueError, match=r"^Seed must not be negative, not -1$"):
        pattern("uniform", 8).sources(build("cube"), 0.5, -1, 16)


@pytest.mark.long
def test_hot_spot_gets_its_share() -> None:
    # Of all packets, terminal 2 gets h + (1 - h) / 4, each other one (1 - h) / 4.
    h, packets = 0.3, 4 * 0.2 * 1500
    result = simulate(
        build("cube", ports=4), traffic=f"hotspot:{h}:2", load=0.2, cycles=1500, warmup=50, bins=64
    )
    shares = [count / result.cycles / 4 / 0.2 for count in result.terminals["delivered"]]
    for terminal, share in enumerate(shares):
        expected = (1 - h) / 4 + h * (terminal == 2)
        assert share == pytest.approx(expected, abs=4 * (expected / packets) ** 0.5)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", ["cube ports=9 radix=3", "mesh k=2x5", "deflection k=3x5"])
def test_uniform_traffic_goes_everywhere_alike(words: str) -> None:
    network = build(words)
    result = simulate(network, load=0.1, cycles=4000, warmup=20, bins=64)
    expected = 0.1 * 4000
    for counts in result.terminals.values():
        assert sum((count - expected) ** 2 / expected for count in counts) < 3 * network.ports + 3


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "trace.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


PACKETS = (TracePacket(0, 0, 1), TracePacket(5, 1, 2), TracePacket(5, 1, 3))


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "0,0,1\n5,1,2\n5,1,3\n",
        HEADER + "0,0,1\n5,1,2\n5,1,3",
        "cycle,source,destination\r\n0,0,1\r\n5,1,2\r\n5,1,3\r\n",
        "cycle,source,destination\r0,0,1\r5,1,2\r5,1,3",
        HEADER + "\n0,0,1\n\n   \n5,1,2\n5,1,3\n\n\n",
        " cycle , source,destination \n 0, 0 ,1\n\t5,1,2 \n5 ,1,3\n",
        '"cycle","source","destination"\n"0","0","1"\n5,"1",2\n+5,01,3\n',
        b"\xef\xbb\xbf" + HEADER.encode() + b"0,0,1\n5,1,2\n5,1,3\n",
    ],
    ids=["plain", "no end", "CRLF", "CR", "blank lines", "spaces", "quotes", "byte order mark"],
)
def test_read_trace(text: str | bytes, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    trace = read_trace(path, 4)
    assert trace.packets == PACKETS
    assert trace.name == str(path)
    assert trace.cycles == 6


LINES = [
    ("0,0,1\n1,2\n", 3, "there must be 3 fields, not 2"),
    ("0,0,1\n\n1,2,3,0\n", 4, "there must be 3 fields, not 4"),
    ("0,0,1,\n", 2, "there must be 3 fields, not 4"),
    ("0;0;1\n", 2, "there must be 3 fields, not 1"),
    ("0,0,x\n", 2, "all fields must be integers, not '0,0,x'"),
    ("0,0,1\n0.5,0,1\n", 3, "all fields must be integers, not '0.5,0,1'"),
    (",,\n", 2, "all fields must be integers, not ',,'"),
    ("0,nan,1\n", 2, "all fields must be integers, not '0,nan,1'"),
    ("0,0,8\n", 2, "destination must be a terminal from 0 to 7, not 8"),
    ("0,-1,0\n", 2, "source must be a terminal from 0 to 7, not -1"),
    ("-1,0,0\n", 2, "cycle must be from 0 to 2147483647, not -1"),
    ("2147483648,0,0\n", 2, "cycle must be from 0 to 2147483647, not 2147483648"),
    ("0,0,1\r\n\r\n\x0c\r\n0,9,1\r\n", 5, "source must be a terminal from 0 to 7, not 9"),
    ("0,0," + "1" * 140_000 + "\n", 2, "field larger than field limit (131072)"),
]


@pytest.mark.parametrize(("lines", "number", "reason"), LINES)
def test_read_trace_names_the_line(lines: str, number: int, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + lines)
    message = re.escape(f"Trace {path}, line {number}: {reason}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        read_trace(path, 8)


@pytest.mark.parametrize(
    "text", ["", "\n", "0,0,1\n", "source,cycle,destination\n0,0,1\n", "cycle,source\n", "a\0b\n"]
)
def test_read_trace_rejects_header(text: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    header = "cycle,source,destination[,length[,mask]]"
    message = re.escape(f"Trace {path}, line 1: the header must be {header}")
    with pytest.raises(ValueError, match=f"^{message}$"):
        read_trace(path, 8)


@pytest.mark.parametrize("text", [HEADER, HEADER.strip(), HEADER + "\n \n"])
def test_read_trace_rejects_empty(text: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=f"^Trace {re.escape(str(path))} holds no packets$"):
        read_trace(path, 8)


def test_read_trace_rejects_file(tmp_path: Path) -> None:
    cases = {
        tmp_path / "none.csv": "No such file or directory",
        tmp_path: "Is a directory",
        write(tmp_path, b"\xff\xfe\x00"): "it is not a text file",
    }
    for path, reason in cases.items():
        message = re.escape(f"Trace {path} can't be read: {reason}")
        with pytest.raises(ValueError, match=f"^{message}$"):
            read_trace(path, 8)


test_trace_rejects_packets = refusals(
    lambda packets: simulate(build("cube", ports=4), traffic=Trace("mine", packets)),
    ((), "Trace mine holds no packets"),
    (
        (TracePacket(0, 0, 1), TracePacket(-1, 0, 0)),
        "Trace mine, packet of cycle -1 from 0 to 0: cycle must be from 0 to 2147483647, not -1",
    ),
    (
        (TracePacket(0, 4, 0),),
        "Trace mine, packet of cycle 0 from 4 to 0: source must be a terminal from 0 to 3, not 4",
    ),
    (
        (TracePacket(0, 0, 1), TracePacket(7, 3, 2, length=2)),
        "Trace mine, packet of cycle 7 from 3 to 2: length must be from 1 to 1 in this network, "
        "not 2",
    ),
    (
        (TracePacket(0, 3, 1, mask=1),),
        "Trace mine, packet of cycle 0 from 3 to 1: mask must be 0 without broadcast=1, not 1",
    ),
)


def test_trace_rows_are_sorted_by_cycle() -> None:
    packets = (TracePacket(9, 1, 2), TracePacket(0, 1, 3), TracePacket(9, 1, 0))
    plan = Trace("mine", packets).sources(build("cube", ports=4))
    assert [strap["count"] for strap in plan.straps] == [0, 3, 0, 0]
    # Cycle 0 of the trace is cycle 2 of the bench; equal cycles keep their order.
    assert plan.contents[1]["trace"] == (3 << 32 | 2, 2 << 32 | 11, 0 << 32 | 11)
