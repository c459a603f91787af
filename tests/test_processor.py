# amaranth: UnusedElaboratable=no
"""The bench's processor alone: what it shows at its port, and what it makes of the replies."""

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import Cat, Value
from driving import exercise
from long_runs import long
from multicube.hdl.bench import Processor
from multicube.hdl.bench.sources import BIAS_BITS, LOAD_BITS
from multicube.hdl.graphs.address_codes import AddressCode
from multicube.hdl.links.memory_link import MemoryLink
from multicube.hdl.operations.memory import OPERATIONS, Operation
from scipy import stats

SEED = 0x2545F4914F6CDD1D9E3779B97F4A7C15
CONFIDENCE = 0.9999
ALL = tuple(range(len(OPERATIONS)))
LOAD, STORE, ADD = 0, 1, 3

TimeDependent = Callable[[int], bool]


def always(_cycle: int) -> bool:
    return True


@dataclass(frozen=True)
class Request:
    """What a request says, taken apart."""

    tag: int
    identity: int
    address: int
    operation: int
    operand: int


@dataclass(frozen=True)
class Reply:
    tag: int
    identity: int
    value: int


@dataclass
class Cycle:
    """What the port showed in one cycle, and the counters of births at its beginning."""

    open: bool
    measure: bool
    ready: bool
    request: Request | None
    reply: Reply | None
    pending: bool
    generated: int
    rejected: int

    @property
    def taken(self) -> Request | None:
        return self.request if self.ready else None


class Replies:
    """Replies to whatever has been taken: each `delay` cycles later, in order."""

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.waiting: deque[tuple[int, Request]] = deque()

    def take(self, cycle: int, request: Request) -> None:
        self.waiting.append((cycle + self.delay, request))

    def next(self, cycle: int) -> Reply | None:
        if not self.waiting or self.waiting[0][0] > cycle:
            return None
        _, request = self.waiting.popleft()
        return Reply(request.tag, request.identity, 0)


class WildReplies(Replies):
    """Replies in any order and after any time; some with a wrong tag, some to nothing."""

    def __init__(
        self, link: MemoryLink, seed: int, *, pace: float, stray: float = 0, alien: float = 0
    ) -> None:
        self.link = link
        self.random = random.Random(seed)
        self.pace, self.stray, self.alien = pace, stray, alien
        self.asked: list[Request] = []

    def take(self, cycle: int, request: Request) -> None:
        self.asked.append(request)

    def next(self, cycle: int) -> Reply | None:
        draw = self.random
        value = draw.getrandbits(self.link.width)
        unused = set(range(1 << self.link.identity)) - {other.identity for other in self.asked}
        if draw.random() < self.alien and unused:
            return Reply(draw.getrandbits(self.link.tag), draw.choice(sorted(unused)), value)
        if not self.asked or draw.random() >= self.pace:
            return None
        request = self.asked.pop(draw.randrange(len(self.asked)))
        wrong = draw.randrange(1, 1 << self.link.tag) if draw.random() < self.stray else 0
        return Reply(request.tag ^ wrong, request.identity, value)


@dataclass
class Setting:
    """A processor, and what stands at its ports."""

    ports: int = 8
    radix: int = 2
    rows: int = 16
    outstanding: int = 4
    depth: int = 8
    mix: tuple[int, ...] = (ADD,)
    lengths: tuple[int, int] = (1, 1)
    bins: int = 64
    history: int = 0
    width: int = 16
    tag_bits: tuple[tuple[str, int], ...] = ()
    operations: tuple[Operation, ...] = OPERATIONS
    load: float = 1.0
    bias: float = 0.0
    favourite: int = 0
    quota: int = 0
    turn: int = 0
    seed: int = SEED

    code: AddressCode = field(init=False)
    link: MemoryLink = field(init=False)

    def __post_init__(self) -> None:
        digits = 1
        while self.radix**digits < self.ports:
            digits += 1
        self.code = AddressCode(self.radix, digits)
        if not self.tag_bits:
            self.tag_bits = tuple(("module", bit) for bit in range(self.code.width))
        self.link = MemoryLink(
            tag=len(self.tag_bits),
            identity=max(1, (self.outstanding - 1).bit_length()),
            address=max(1, (self.rows - 1).bit_length()),
            width=self.width,
            operations=self.operations,
        )

    def build(self) -> Processor:
        names = ("rows", "outstanding", "depth", "mix", "lengths", "bins", "history")
        given = {name: getattr(self, name) for name in names}
        return Processor(self.link, self.code, self.tag_bits, **given)

    def request(self, word: int) -> Request:
        values = []
        for bits in (
            self.link.tag,
            self.link.identity,
            self.link.address,
            (len(self.operations) - 1).bit_length(),
            self.width,
        ):
            values.append(word & (1 << bits) - 1)
            word >>= bits
        assert word == 0
        return Request(*values)

    def bits(self, tag: int, kind: str) -> int:
        """The number that some bits of a tag tell."""
        return sum(
            (tag >> at & 1) << bit for at, (what, bit) in enumerate(self.tag_bits) if what == kind
        )

    def module(self, request: Request) -> int:
        return self.code.decode(self.bits(request.tag, "module"))


@dataclass
class Outcome:
    """What a run showed, and what the processor had counted in the end."""

    setting: Setting
    cycles: list[Cycle]
    counters: dict[str, int]
    histograms: dict[str, list[int]]
    history: list[Any]

    @property
    def requests(self) -> list[Request]:
        return [cycle.taken for cycle in self.cycles if cycle.taken is not None]

    @property
    def heads(self) -> list[int]:
        """The cycles in which requests were taken."""
        return [number for number, cycle in enumerate(self.cycles) if cycle.taken is not None]


def operate(
    setting: Setting,
    replies: Replies,
    *,
    cycles: int,
    ready: TimeDependent = always,
    open_: TimeDependent = always,
    measure: TimeDependent = always,
    start: int = 0,
) -> Outcome:
    """Run a processor. In the last two cycles nothing happens any more, so that all is counted."""
    processor = setting.build()
    link = setting.link
    seen: list[Cycle] = []
    counters: dict[str, int] = {}
    histograms: dict[str, list[int]] = {}
    history: list[Any] = []

    async def testbench(ctx: Any) -> None:
        for name, value in {
            "seed": setting.seed,
            "load": round(setting.load * (1 << LOAD_BITS)),
            "bias": round(setting.bias * (1 << BIAS_BITS)),
            "favourite": setting.code.encode(setting.favourite),
            "quota": setting.quota,
            "turn": setting.turn,
        }.items():
            ctx.set(getattr(processor, name), value)
        request, reply = processor.o.request, processor.o.reply
        stimulus = Cat(
            *(processor.now, processor.open, processor.measure, request.ready),
            *(reply.valid, reply.payload),
        )
        response = Cat(
            *(reply.ready, processor.pending, processor.generated, processor.rejected),
            *(request.valid, request.payload),
        )
        begin, end = window([measure(number) for number in range(cycles)])
        for number in range(cycles):
            ctx.set(processor.least, max(0, number - end) if number > begin else ~0)
            ctx.set(processor.most, max(0, number - begin - 1))
            quiet = number >= cycles - 2
            answer = None if quiet else replies.next(number)
            now = Cycle(
                not quiet and open_(number),
                measure(number),
                not quiet and ready(number),
                None,
                answer,
                False,
                0,
                0,
            )
            word = (start + number) % 2**32
            word |= now.open << 32 | now.measure << 33 | now.ready << 34
            if answer is not None:
                payload = answer.tag | answer.identity << link.tag
                payload |= answer.value << link.tag + link.identity
                word |= 1 << 35 | payload << 36
            ctx.set(stimulus, word)
            shown = ctx.get(response)
            assert shown & 1, "a reply could not get off"
            now.pending = bool(shown >> 1 & 1)
            now.generated = shown >> 2 & 2**32 - 1
            now.rejected = shown >> 34 & 2**32 - 1
            if shown >> 66 & 1:
                now.request = setting.request(shown >> 67)
            if now.taken is not None:
                replies.take(number, now.taken)
            seen.append(now)
            await ctx.tick()
        for name, member in processor.signature.members.items():
            if member.is_port:
                counters[name] = ctx.get(Value.cast(getattr(processor, name)))
        for kind in ("total", "network"):
            memory = getattr(processor, f"{kind}_histogram").data
            histograms[kind] = [ctx.get(memory[row]) for row in range(setting.bins)]
        if processor.history is not None:
            history.extend(ctx.get(processor.history.data[row]) for row in range(setting.history))

    exercise(processor, testbench, limit=cycles + 1)
    return Outcome(setting, seen, counters, histograms, history)


@dataclass
class Asked:
    """A request that has been taken, as an observer of the port knows it."""

    request: Request
    birth: int
    offered: int
    sent: int


def window(measure: Sequence[bool]) -> tuple[int, int]:
    """The first cycle in which it is measured, and the first after it in which it is not."""
    begin = [*measure, True].index(True)
    return begin, begin + [*measure[begin:], False].index(False)


class Observer:
    """What a processor shall do and count, told by somebody who sees its port, and its births.

    It follows the run cycle by cycle: the queue of births, what is unanswered, and until when the
    words of the last request are on the link. So it knows in which cycles a request must be shown.
    """

    def __init__(self, outcome: Outcome, start: int = 0) -> None:
        self.setting = outcome.setting
        self.start = start
        self.counters: Counter[str] = Counter()
        self.latencies: dict[str, list[int]] = {"total": [], "network": []}
        self.history: list[dict[str, int]] = []
        self.queue: deque[int] = deque()
        self.unanswered: dict[int, Asked] = {}
        self.offered: int | None = None
        self.rests_until = 0
        self.begin, self.end = window([now.measure for now in outcome.cycles])
        for number, now in enumerate(outcome.cycles):
            before = outcome.cycles[number - 1] if number else None
            self.check(number, now, before)
            following = outcome.cycles[number + 1] if number + 1 < len(outcome.cycles) else None
            self.follow(number, now, following)

    def check(self, number: int, now: Cycle, before: Cycle | None) -> None:
        """What is shown in this cycle."""
        waits = before is not None and before.request is not None and not before.ready
        assert now.pending == waits, number
        must = (
            bool(self.queue)
            and len(self.unanswered) < self.setting.outstanding
            and number >= self.rests_until
            and (now.open or waits)
        )
        assert (now.request is not None) == must, f"in cycle {number}"
        if waits:
            assert now.request == before.request, f"it changed its mind in cycle {number}"
        if now.request is not None:
            assert now.request.identity in range(self.setting.outstanding)
            assert now.request.identity not in self.unanswered, number
            assert now.request.address in range(self.setting.rows)
            assert now.request.operation in self.setting.mix
            assert self.setting.module(now.request) in range(self.setting.ports)
            if self.offered is None:
                self.offered = number

    def follow(self, number: int, now: Cycle, following: Cycle | None) -> None:
        """What changes at the end of this cycle."""
        if now.reply is not None:
            self.judge(number, now.reply, measure=now.measure)
        full = len(self.queue) == self.setting.depth
        if now.taken is not None:
            self.counters["injected"] += 1
            self.counters["entered"] += now.measure
            self.unanswered[now.taken.identity] = Asked(
                now.taken, self.queue.popleft(), self.offered, number
            )
            self.offered = None
            short = self.setting.operations[now.taken.operation].kind == "load"
            self.rests_until = number + self.setting.lengths[not short]
        if following is not None:
            born = following.generated - now.generated
            assert born in range(1 + now.open)
            assert following.rejected - now.rejected == (born and full), number
            if born and not full:
                self.queue.append(number + 1)

    def judge(self, number: int, reply: Reply, *, measure: bool) -> None:
        last = number + self.setting.lengths[0] - 1
        self.counters["delivered"] += 1
        self.counters["measured"] += measure
        self.counters["latest"] = (self.start + last) % 2**32
        asked = self.unanswered.pop(reply.identity, None)
        if asked is None:
            self.counters["duplicated"] += 1
            return
        request = asked.request
        self.counters["misrouted"] += reply.tag != request.tag
        self.counters["latency_sum"] += last - asked.birth
        if self.begin < asked.birth <= self.end:
            self.counters["timed"] += 1
            self.latencies["total"].append(last - asked.birth)
            self.latencies["network"].append(last - asked.offered)
            # Exact if no request that was drawn uniformly is for word 0 of the favourite.
            hot = (request.address, self.setting.module(request)) == (0, self.setting.favourite)
            if not (hot and self.setting.bias):
                self.counters["background"] += 1
                self.counters["background_sum"] += last - asked.offered
        self.history.append(
            {
                "tag": request.tag,
                "address": request.address,
                "operation": request.operation,
                "operand": request.operand,
                "reply": reply.value,
                "sent": (self.start + asked.sent) % 2**32,
                "answered": (self.start + number) % 2**32,
            }
        )


def check(outcome: Outcome, start: int = 0) -> Observer:
    """Compare a processor with its observer."""
    observer = Observer(outcome, start)
    setting, counters = outcome.setting, outcome.counters
    for name in (
        *("injected", "entered", "delivered", "misrouted", "duplicated", "measured", "latest"),
        *("background", "background_sum", "timed", "latency_sum"),
    ):
        assert counters[name] == observer.counters[name], name
    waiting = len(observer.queue)
    assert counters["generated"] == counters["rejected"] + counters["injected"] + waiting
    for kind, latencies in observer.latencies.items():
        expected = [0] * setting.bins
        for latency in latencies:
            expected[min(latency, setting.bins - 1)] += 1
        assert outcome.histograms[kind] == expected, kind
        assert counters[f"{kind}_sum"] == sum(latencies)
        assert counters[f"{kind}_max"] == max(latencies, default=0)
    rows = [{name: row[name] for name in observer.history[0]} for row in outcome.history]
    kept = observer.history[: setting.history]
    assert rows[: len(kept)] == kept
    assert all(not any(row.values()) for row in rows[len(kept) :])
    return observer


def likely(counts: Sequence[int], expected: Sequence[float] | None = None) -> bool:
    """Whether a test with chi square accepts these counts at the stated confidence."""
    return bool(stats.chisquare(counts, expected).pvalue > 1 - CONFIDENCE)


def within(count: int, trials: int, probability: float) -> bool:
    """Whether a binomial count is one of those that the stated confidence allows."""
    return bool(stats.binomtest(count, trials, probability).pvalue > 1 - CONFIDENCE)


# The port


@pytest.mark.long
@pytest.mark.parametrize("outstanding", [1, 3, *(long(outstanding) for outstanding in (2, 5, 8))])
@pytest.mark.parametrize("lengths", [(1, 1), (2, 4)])
def test_processor_under_all_that_may_happen(outstanding: int, lengths: tuple[int, int]) -> None:
    """Random waits, closings, measurements and replies: in any order, stray, and to nothing."""
    setting = Setting(
        outstanding=outstanding,
        lengths=lengths,
        mix=ALL,
        load=1.5 / sum(lengths),
        rows=1000,
        bias=0.4,
        favourite=5,
        bins=24,
        history=1000,
    )
    print("seed", outstanding)
    draw = random.Random(outstanding)
    open_ = [draw.random() < 0.9 for _ in range(700)]
    open_[200:240] = [False] * 40
    replies = WildReplies(setting.link, outstanding, pace=0.6, stray=0.1, alien=0.1)
    outcome = operate(
        setting,
        replies,
        cycles=700,
        ready=lambda cycle: draw.random() < 0.6,
        open_=lambda cycle: open_[cycle],
        measure=lambda cycle: 100 <= cycle < 600,
        start=2**32 - 300,  # the clock runs over, and that of latencies with it
    )
    observer = check(outcome, 2**32 - 300)
    assert min(observer.counters[name] for name in ("misrouted", "background")) > 5
    assert observer.counters["duplicated"] > 5
    assert 0 < observer.counters["background"] < len(observer.latencies["total"])
    assert any(now.pending and not now.open for now in outcome.cycles)


def test_request_stays_while_the_processor_is_closed() -> None:
    """One is offered, then `open` is 0: it stays until it is taken, and no other follows."""
    outcome = operate(
        Setting(),
        Replies(1),
        cycles=60,
        ready=lambda cycle: cycle in (40, 41, 42),
        open_=lambda cycle: cycle < 10,
    )
    check(outcome)
    assert outcome.heads == [40]
    shown = [number for number, now in enumerate(outcome.cycles) if now.request is not None]
    assert shown == list(range(2, 41))
    assert outcome.counters["generated"] == 9  # nothing in cycle 0, nor from 10 on


def test_nothing_is_offered_while_the_processor_is_closed() -> None:
    """Requests wait in the queue; they go on when it is open again."""
    outcome = operate(
        Setting(outstanding=1), Replies(5), cycles=80, open_=lambda cycle: cycle < 20 or cycle >= 50
    )
    check(outcome)
    assert not any(20 <= head < 50 for head in outcome.heads)
    assert 50 in outcome.heads


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("outstanding", "delay"), [(1, 1), (1, 6), (2, 1), (3, 2), (4, 7), (8, 7), (16, 9)]
)
def test_throughput(outstanding: int, delay: int) -> None:
    """An identity can be used again in the cycle after its reply, so `outstanding` requests take
    `delay` + 1 cycles, if that is more than one each."""
    outcome = operate(Setting(outstanding=outstanding), Replies(delay), cycles=100)
    check(outcome)
    heads = outcome.heads
    assert heads[0] == 2
    if outstanding > delay:
        assert heads == list(range(2, 98))
    else:
        burst = range(outstanding)
        turns = range(2, 98, delay + 1)
        assert heads == [turn + each for turn in turns for each in burst if turn + each < 98]


@pytest.mark.long
def test_outstanding_is_a_limit() -> None:
    """Without replies there are just so many requests, with so many identities."""
    for outstanding in (1, 3, 4, 7):
        outcome = operate(Setting(outstanding=outstanding), Replies(999), cycles=40)
        check(outcome)
        identities = [request.identity for request in outcome.requests]
        assert sorted(identities) == list(range(outstanding))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("lengths", "gaps"), [((2, 4), {2, 4}), ((1, 3), {1, 3}), ((5, 5), {5})])
def test_words_of_a_request_take_a_cycle_each(lengths: tuple[int, int], gaps: set[int]) -> None:
    """The gap between two heads is the length of the first one."""
    setting = Setting(lengths=lengths, mix=(LOAD, STORE, ADD), outstanding=16)
    outcome = operate(setting, Replies(3), cycles=200)
    check(outcome)
    heads, requests = outcome.heads, outcome.requests
    between = [after - head for head, after in itertools.pairwise(heads)]
    short, long = lengths
    assert between == [short if each.operation == LOAD else long for each in requests[:-1]]
    assert set(between) == gaps


def test_words_of_a_request_of_operations_without_loads() -> None:
    setting = Setting(lengths=(2, 3), operations=(OPERATIONS[ADD],), mix=(0,), outstanding=16)
    outcome = operate(setting, Replies(3), cycles=60)
    check(outcome)
    assert outcome.heads == list(range(2, 58, 3))


# What it asks for


@pytest.mark.long
@pytest.mark.parametrize(
    ("ports", "radix", "bias"),
    [*(long(*case) for case in ((8, 2, 0), (16, 4, 0), (9, 3, 0))), (9, 3, 0.3), (8, 2, 1)],
)
def test_modules_and_rows(ports: int, radix: int, bias: float) -> None:
    print(f"seed {SEED:#x}")
    rows, favourite = 5, ports - 2
    setting = Setting(ports, radix, rows, bias=bias, favourite=favourite)
    outcome = operate(setting, Replies(1), cycles=1600)
    requests = outcome.requests
    assert len(requests) == 1596
    words = Counter((setting.module(request), request.address) for request in requests)
    if bias == 1:
        assert set(words) == {(favourite, 0)}
        return
    places = [(module, row) for module in range(ports) for row in range(rows)]
    expected = [
        len(requests) * ((1 - bias) / len(places) + bias * (place == (favourite, 0)))
        for place in places
    ]
    assert sum(words[place] for place in places) == len(requests)
    assert likely([words[place] for place in places], expected)
    # One tells nothing of the next: pairs of them.
    hot = [setting.module(request) == favourite for request in requests]
    share = (1 - bias) / ports + bias
    pairs = list(zip(hot[::2], hot[1::2]))
    assert within(sum(a and b for a, b in pairs), len(pairs), share**2)


@pytest.mark.long
@pytest.mark.parametrize("rows", [long(1), 3, 1 << 16])
def test_rows(rows: int) -> None:
    print(f"seed {SEED:#x}")
    outcome = operate(Setting(rows=rows), Replies(1), cycles=1200)
    check(outcome)
    thirds = Counter(3 * request.address // rows for request in outcome.requests)
    if rows == 1:
        assert set(thirds) == {0}
    else:
        assert likely([thirds[part] for part in range(3)])


@pytest.mark.long
@pytest.mark.parametrize(
    ("mix", "width"),
    [((ADD,), 64), ((LOAD, ADD), 13), long((7, 2, 9), 13), (ALL, 1), long(ALL, 64)],
)
def test_operations_and_operands(mix: tuple[int, ...], width: int) -> None:
    """Operations are as likely as each other, every bit of an operand is 1 half of the time, and
    neither tells anything of the other, nor of the row."""
    print(f"seed {SEED:#x}")
    setting = Setting(mix=mix, width=width, rows=2)
    outcome = operate(setting, Replies(1), cycles=1200)
    requests = outcome.requests
    counts = Counter(request.operation for request in requests)
    assert set(counts) == set(mix)
    if len(mix) > 1:
        assert likely([counts[operation] for operation in mix])
    for bit in range(width):
        ones = [request.operand >> bit & 1 for request in requests]
        assert within(sum(ones), len(ones), 0.5), bit
        for what in ("operation", "address", "tag"):
            table = Counter((getattr(r, what), one) for r, one in zip(requests, ones))
            values = sorted({value for value, _ in table})
            if len(values) > 1:
                rows = [[table[value, one] for one in (0, 1)] for value in values]
                assert stats.chi2_contingency(rows).pvalue > 1e-6, (what, bit)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("bias", [0, 1])
def test_two_paths(turn: int, bias: int) -> None:
    """Word r goes by path (r + turn) mod 2, whatever the module; the tag's bits are anywhere."""
    bits = (("module", 2), ("path", 0), ("module", 0), ("module", 1))
    setting = Setting(tag_bits=bits, turn=turn, bias=bias, favourite=6, mix=ALL)
    outcome = operate(setting, Replies(2), cycles=300)
    check(outcome)
    for request in outcome.requests:
        assert setting.bits(request.tag, "path") == (request.address + turn) % 2
        assert not bias or setting.module(request) == 6
    if not bias:
        assert len({request.tag for request in outcome.requests}) == 16


@pytest.mark.long
@pytest.mark.parametrize("load", [0.05, long(0.5)])
def test_births(load: float) -> None:
    print(f"seed {SEED:#x}")
    setting = Setting(load=load, depth=64, outstanding=8)
    outcome = operate(setting, Replies(3), cycles=2000)
    check(outcome)
    assert outcome.counters["rejected"] == 0
    assert within(outcome.counters["generated"], 1997, load)
    heads = set(outcome.heads)
    assert within(sum(head + 1 in heads for head in heads), len(heads) - 1, load)


@pytest.mark.long
def test_seed_decides() -> None:
    def run(seed: int) -> list[Cycle]:
        setting = Setting(seed=seed, load=0.5, mix=ALL)
        return operate(setting, Replies(3), cycles=200).cycles

    assert run(1) == run(1)
    # The low and the high half of a seed are those of different generators.
    runs = [run(seed) for seed in (1, 2, 1 << 64, 1 << 127)]
    assert all(a != b for n, a in enumerate(runs) for b in runs[:n])


@pytest.mark.parametrize("quota", [1, 5])
def test_quota(quota: int) -> None:
    outcome = operate(Setting(quota=quota), Replies(3), cycles=60)
    check(outcome)
    assert outcome.heads == list(range(2, 2 + quota))
    assert outcome.counters["generated"] == quota


def test_no_load() -> None:
    outcome = operate(Setting(load=0), Replies(3), cycles=200)
    assert outcome.heads == []
    names = ("generated", "rejected", "injected", "delivered", "measured", "background_sum")
    assert [outcome.counters[name] for name in names] == [0] * 6


# What it counts


def test_full_queue_rejects() -> None:
    """Blocked from the start at load 1: three wait, all others are rejected; births stay true."""
    setting = Setting(depth=3, bins=128)
    outcome = operate(
        setting, Replies(2), cycles=70, ready=lambda cycle: cycle >= 60, measure=always
    )
    check(outcome)
    assert outcome.cycles[60].generated - outcome.cycles[60].rejected == 3
    # Born in cycles 2, 3 and 4, taken in 60, 61 and 62, each answered two cycles later.
    assert outcome.counters["total_max"] == 62 - 2
    assert outcome.histograms["total"][60] == 3
    assert outcome.counters["network_max"] == 62 - 2  # the first was offered all the time
    assert outcome.histograms["network"][60] == 1


def test_replies_show_two_cycles_later() -> None:
    """And a reply in the last cycle of a measurement belongs to it."""
    processor = Setting(outstanding=1).build()
    shown: dict[str, list[int]] = {"injected": [], "delivered": [], "measured": []}

    async def testbench(ctx: Any) -> None:
        ctx.set(processor.seed, SEED)
        ctx.set(processor.load, 1 << LOAD_BITS)
        ctx.set(processor.open, 1)
        ctx.set(processor.o.request.ready, 1)
        for now in range(12):
            ctx.set(processor.now, now)
            ctx.set(processor.o.reply.valid, now in (5, 8))
            ctx.set(processor.measure, now <= 5)
            for name, values in shown.items():
                values.append(ctx.get(getattr(processor, name)))
            await ctx.tick()

    exercise(processor, testbench)
    assert shown["injected"] == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert shown["delivered"] == [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2]
    assert shown["measured"] == [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("history", [1, 10, 4096])
def test_history(history: int) -> None:
    """Rows are what was seen at the port, in the order of replies; those too many are left out."""
    setting = Setting(history=history, mix=ALL, outstanding=6)
    replies = WildReplies(setting.link, 3, pace=0.5)
    outcome = operate(setting, replies, cycles=150)
    observer = check(outcome)
    assert len(observer.history) > 50


@pytest.mark.long
def test_reply_to_nobody_changes_nothing() -> None:
    """Replies that nobody has asked for are counted, and the requests go on as without them."""

    class Intruder(Replies):
        def next(self, cycle: int) -> Reply | None:
            return super().next(cycle) or Reply(0, 7, 0)  # no identity of a processor with 5

    setting = Setting(outstanding=5, load=0.4, depth=64, bins=512, history=200)
    quiet = operate(setting, Replies(6), cycles=200)
    loud = operate(setting, Intruder(6), cycles=200)
    check(quiet)
    check(loud)
    assert [now.request for now in loud.cycles] == [now.request for now in quiet.cycles]
    assert loud.history == quiet.history
    assert loud.counters["duplicated"] == 198 - quiet.counters["delivered"]
    assert quiet.counters["duplicated"] == 0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("outstanding", 0, "Outstanding must be at least 1, not 0"),
        ("depth", 0, "Depth must be at least 1, not 0"),
        ("bins", 1, "Bins must be from 2 to 1048576, not 1"),
        ("history", -1, "History must be at least 0, not -1"),
    ],
)
def test_processor_rejects(name: str, value: int, words: str) -> None:
    setting = Setting()
    setattr(setting, name, value)
    with pytest.raises(ValueError, match=f"^{words}$"):
        setting.build()
