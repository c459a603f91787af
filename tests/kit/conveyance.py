# amaranth: UnusedElaboratable=no
"""What all components that pass packets on have in common, as claims for proofs.

Packets carry a *witness* in their payload, which no component looks at: where the packet comes
from and where it belongs, a mark, and a bit of data. One packet, any of them, has the mark, and is
followed by counting those of its flow before it. So what holds of this packet holds of all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream
from claims import Claims

__all__ = ["WITNESS", "convey", "entry", "exit_", "witness"]

WITNESS = data.StructLayout({"source": 2, "goal": 2, "mark": 1, "data": 1, "header": 1, "last": 1})


def witness(payload: Any) -> Any:
    """The witness in a payload, which is a packet or nothing but the witness."""
    return payload if payload.shape() == WITNESS else payload.payload


class _Rest:
    """Whether an input is inside a packet, and where this goes."""

    def __init__(self, longest: int, name: str) -> None:
        self.longest = longest
        self.following = Signal(name=f"following_{name}")
        self.sent = Signal(range(longest + 1), name=f"sent_{name}")
        self.kept = Signal(2, name=f"kept_{name}")

    def packet(self, claims: Claims, port: Any, valid: Value, goal: Value) -> Value:
        """Make what is offered the flits of packets; return where the flit goes."""
        goes = Signal(2, name=f"goes_{self.sent.name}")
        last = claims.free(1, f"last_{self.sent.name}")
        claims.m.d.comb += [
            self.following.eq(self.sent != 0),
            goes.eq(Mux(self.following, self.kept, goal)),
            port.payload.last.eq(last | (self.sent == self.longest - 1)),
        ]
        with claims.m.If(valid & port.ready):
            claims.m.d.sync += [
                self.sent.eq(Mux(port.payload.last, 0, self.sent + 1)),
                self.kept.eq(goes),
            ]
        return goes


def _whole(claims: Claims, port: Any, ready: Value, name: str) -> None:
    """An output shows the flits of one packet after the other."""
    shown = witness(port.payload)
    inside, owner = Signal(name=f"inside_{name}"), Signal(2, name=f"owner_{name}")
    with claims.m.If(port.valid & ready):
        claims.m.d.sync += [inside.eq(~port.payload.last), owner.eq(shown.source)]
    claims.claim(~port.valid | (shown.header == ~inside))
    claims.claim(~port.valid | (shown.last == port.payload.last))
    claims.claim(~(port.valid & inside) | (shown.source == owner))


class Flow(NamedTuple):
    """The marked packet and its flow, as signals: for further claims."""

    who: Signal
    where: Signal
    inside: Signal
    ahead: Signal
    entries: list[Value]
    ready: Value


def convey(
    claims: Claims,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    *,
    goals: Sequence[Value] | None = None,
    capacity: int,
    drain: int,
    waits: int | None = None,
    ordered: bool = True,
    lanes: int = 1,
    bundle: int = 1,
    keeps: bool = False,
    steady: bool = True,
    longest: int = 0,
    counted: ValueLike = 1,
) -> Flow:
    """Claims that all packets that enter leave, once, where they belong, as they were, in time.

    - Each output shows only packets that belong there.
    - Those of a flow, from one input to one output, leave in the order in which they entered; or,
      not `ordered`, the marked one leaves at most once.
    - What is shown stays until it is taken (the stream rule), if the output is `steady`.
    - Of a flow, at most `capacity` packets are inside.
    - The marked packet is inside for at most `drain` cycles in a row in which all outputs are
      ready, whatever comes behind it or at other inputs: nothing is lost, and nothing is stuck.
    - With `waits`, an offered packet waits for at most so many of these cycles to be accepted.

    With `longest`, what is passed on are flits, of packets that have at most so many. Then each
    output shows whole packets, one after the other; and cycles count only if the rest of a packet
    that has begun is offered at its input. They also count only while `counted` is 1.

    `goals` are the outputs that the inputs' packets belong to; by default 0. `lanes` outputs in a
    row lead to the same place, and `bundle` inputs in a row come from the same. If the component
    relies on it that senders keep the stream rule, they do (`keeps`).
    """
    m = claims.m
    goals = [Const(0, 1)] * len(inputs) if goals is None else goals
    who, where = claims.symbol(2, "who"), claims.symbol(2, "where")
    inside, used = Signal(), Signal()
    level, ahead = Signal(range(capacity + 2)), Signal(range(capacity + 2))
    kept = Signal()
    ready = claims.free(len(outputs), "ready")

    valid = claims.free(len(inputs), "valid")
    mark, word = claims.free(1, "mark"), claims.free(len(inputs), "word")
    entries, offers, goals_of_flow = [], [], []
    rests = [_Rest(longest, f"{i}") for i in range(len(inputs))]
    for i, (port, goal) in enumerate(zip(inputs, goals)):
        shown = witness(port.payload)
        if longest:
            goal = rests[i].packet(claims, port, valid[i], goal)
            m.d.comb += [shown.header.eq(~rests[i].following), shown.last.eq(port.payload.last)]
        of_flow = (who == i // bundle) & (where == goal)
        m.d.comb += [
            port.valid.eq(valid[i]),
            shown.source.eq(i // bundle),
            shown.goal.eq(goal),
            shown.mark.eq(mark & of_flow),
            shown.data.eq(word[i]),
        ]
        if keeps:
            given = Value.cast(port.payload)
            waiting = claims.past(port.valid & ~port.ready)
            claims.assume(~waiting | (valid[i] & (given == claims.past(given))))
        offers.append(valid[i] & of_flow)
        entries.append(offers[i] & port.ready)
        goals_of_flow.append(goal)
    # Only one packet has the mark, and it is that of one input at a time.
    claims.assume(~(mark & used))
    if bundle > 1:
        claims.assume(~mark | (sum(offers, start=0) <= 1))
    entering = Signal(range(len(inputs) + 1))
    m.d.comb += entering.eq(sum(entries, start=0))
    marked = Signal()
    m.d.comb += marked.eq(mark & (entering != 0))

    leaving = Signal(range(len(outputs) + 1))
    gone = []
    flags = []
    data_given = Cat(entries[i] & word[i] for i in range(len(inputs))).any()
    for j, port in enumerate(outputs):
        m.d.comb += port.ready.eq(ready[j])
        shown = witness(port.payload)
        claims.claim(~port.valid | (shown.goal == j // lanes))
        mine = port.valid & (shown.source == who) & (shown.goal == where)
        if longest:
            _whole(claims, port, ready[j], f"{j}")
        if steady:
            payload = Value.cast(port.payload)
            held = claims.past(port.valid & ~ready[j])
            claims.claim(~held | (port.valid & (payload == claims.past(payload))))
        if ordered:
            # What passes an empty component in no time is what is offered.
            first = Mux(level == 0, mark & Cat(offers).any(), inside & (ahead == 0))
            claims.claim(~mine | (shown.mark == first))
        else:
            claims.claim(~(port.valid & shown.mark) | inside | (mark & Cat(offers).any()))
        right = Mux(inside, kept, data_given)
        flag = port.valid & shown.mark
        claims.claim(~(flag & (inside | marked)) | (shown.data == right))
        claims.claim(~flag | mine)
        flags.append(flag)
        gone.append(mine & ready[j])
    m.d.comb += leaving.eq(sum(gone, start=0))
    claims.claim(sum(flags, start=0) <= 1)
    leaves = Cat(flag & ready[j] for j, flag in enumerate(flags)).any()

    m.d.sync += level.eq(level + entering - leaving)
    claims.claim(level <= capacity)
    claims.claim(leaving <= level + entering)
    m.d.sync += ahead.eq(Mux(marked, level - leaving, Mux(ahead > leaving, ahead - leaving, 0)))
    with m.If(leaves):
        m.d.sync += inside.eq(0)
    with m.Elif(marked):
        m.d.sync += [inside.eq(1), kept.eq(data_given)]
    with m.If(marked):
        m.d.sync += used.eq(1)

    calm = Signal(range(drain + 2))
    stops = (
        ~Value.cast(counted)[0]
        | Cat(rest.following & ~valid[i] for i, rest in enumerate(rests)).any()
    )
    with m.If(~inside | ~ready.all() | stops):
        m.d.sync += calm.eq(0)
    with m.Elif(calm <= drain):
        m.d.sync += calm.eq(calm + 1)
    claims.claim(calm <= drain)
    if waits is not None:
        wanted, taken = Signal(), Signal()
        number = claims.symbol(2, "offerer")
        for i, port in enumerate(inputs):
            with m.If(number == i):
                m.d.comb += [wanted.eq(valid[i]), taken.eq(port.ready)]
        goal = Signal(2)
        for i in range(len(inputs)):
            with m.If(number == i):
                m.d.comb += goal.eq(goals_of_flow[i])
        same = claims.past(wanted & ~taken) & (goal == claims.past(goal))
        waited = Signal(range(waits + 2))
        with m.If(~wanted | taken | ~ready.all() | stops):
            m.d.sync += waited.eq(0)
        with m.Elif(waited <= waits):
            m.d.sync += waited.eq(Mux(same, waited, 0) + 1)
        claims.claim(waited <= waits)
    return Flow(who, where, inside, ahead, entries, ready)


def entry(m: Module, name: str, port: Any, field: Any) -> Any:
    """A stream of witnesses into an input whose payload has them in some field."""
    source = stream.Signature(WITNESS).create(path=(name,))
    m.d.comb += [
        port.valid.eq(source.valid),
        source.ready.eq(port.ready),
        Value.cast(field).eq(source.payload.as_value()),
    ]
    return source


def exit_(m: Module, name: str, port: Any, field: Any) -> Any:
    """A stream of witnesses out of an output whose payload has them in some field."""
    shown = stream.Signature(WITNESS).create(path=(name,))
    m.d.comb += [
        shown.valid.eq(port.valid),
        port.ready.eq(shown.ready),
        shown.payload.eq(Value.cast(field)),
    ]
    return shown
