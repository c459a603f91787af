"""The configuration language of BookSim2: `name = value;`, and what names there are."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from ...hdl.fabric.checks import check_integer, nearest, shown
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.numerals import integer_of, number_of

__all__ = ["DEFAULTS", "BookSimConfig", "listed", "read_booksim"]

_DEFAULTS = """
topology=torus k=8 n=2 c=1 x=8 y=8 xr=1 yr=1 routing_function=none use_noc_latency=1 network_file=
num_vcs=16 vc_buf_size=8 buf_size=-1 traffic=uniform perm_seed=0 injection_rate=0.1
injection_rate_uses_flits=0 packet_size=1 injection_process=bernoulli seed=0 burst_alpha=0.5
burst_beta=0.5 burst_r1=-1.0 routing_delay=1 vc_alloc_delay=1 sw_alloc_delay=1 st_prepare_delay=0
st_final_delay=1 sample_period=1000 max_samples=10
"""

DEFAULTS: dict[str, str] = dict(word.split("=") for word in _DEFAULTS.split())
"""The parameters that have a counterpart, with BookSim2's defaults."""

_DELAYS = [name for name in DEFAULTS if name.endswith("_delay")]
"""The cycles of the stages of BookSim2's routers."""

_NUMBERS = [
    name
    for name, value in DEFAULTS.items()
    if value.lstrip("-")[:1].isdigit() and name not in ("perm_seed", "packet_size")
]
"""Those that are numbers, whether they matter or not; the two may be a word, or a list."""

_NEUTRAL = """
subnets=1 link_failures=0 fail_seed channel_file= in_ports out_ports classes=1 class_priority=0
use_read_write=0 write_fraction read_request_begin_vc read_request_end_vc write_request_begin_vc
write_request_end_vc read_reply_begin_vc read_reply_end_vc write_reply_begin_vc write_reply_end_vc
read_request_subnet read_reply_subnet write_request_subnet write_reply_subnet read_request_size
write_request_size read_reply_size write_reply_size batch_size batch_count
max_outstanding_requests=0 packet_size_rate=1 priority=none sim_type=latency,throughput
router=iq output_delay=0 credit_delay= internal_speedup=1,1.0 output_buffer_size=-1 noq=0
speculative=0 spec_check_elig spec_check_cred spec_mask_by_reqs spec_sw_allocator
buffer_policy=private private_bufs=-1 private_buf_size private_buf_start_vc private_buf_end_vc
max_held_slots=-1 feedback_aging_scale feedback_offset wait_for_tail_credit=0 vc_busy_when_full=0
vc_prioritize_empty=0 vc_priority_donation=0 vc_shuffle_requests=0 hold_switch_for_packet=
input_speedup=1 output_speedup=1 vct=0 vc_allocator= sw_allocator= arb_type=round_robin alloc_iters=
warmup_periods= measure_stats=1 pair_stats latency_thres= warmup_thres=
acc_warmup_thres= stopping_thres= acc_stopping_thres= sim_count=1 include_queuing=1 print_activity
print_csv_results deadlock_warn_timeout viewer_trace watch_file watch_flits watch_packets
watch_transactions watch_out stats_out injected_flits_out received_flits_out stored_flits_out
sent_flits_out outstanding_credits_out ejected_flits_out active_packets_out used_credits_out
free_credits_out max_credits_out sent_packets_out sim_power power_output_file tech_file
channel_width channel_sweep
"""
"""All other parameters. After `=`: the values that mean what is so here anyway; nothing if no value
does. Those without `=` say nothing of what is simulated."""

_REFUSED = ("subnets", "link_failures", "channel_file", "classes", "use_read_write", "sim_type")
"""Those whose other values would be another experiment."""

_REASONS = {
    **dict.fromkeys(
        ("vc_allocator", "sw_allocator", "alloc_iters", "arb_type"),
        "each output has an arbiter, and a worm holds its channel",
    ),
    **dict.fromkeys(
        ("internal_speedup", "input_speedup", "output_speedup", "output_buffer_size"),
        "a router moves one flit per input and output in a cycle",
    ),
    **dict.fromkeys(
        ("warmup_periods", "sim_count"),
        "warm-up and window are as long as the results need",
    ),
    **dict.fromkeys(
        ("latency_thres", "warmup_thres", "acc_warmup_thres", "stopping_thres"),
        "steady state and saturation are judged by this library's rules",
    ),
    "credit_delay": "queues show at once whether they have room",
    "hold_switch_for_packet": "flits of worms on several channels share a link in turn",
    "wait_for_tail_credit": "a channel is free for the next worm when the tail has left",
}

_OF_CLASSES = ("traffic", "injection_rate", "injection_process")
"""Those that may be a list with an entry for each class, of which there is one."""

_OF_ONE_CLASS = re.compile(r"{\s*([^{}(),\s]+(?:\(.*\))?)\s*}")

_ENTRY = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>[^;=]*?)\s*;")


@dataclass(frozen=True)
class BookSimConfig:
    """A configuration of BookSim2.

    Attributes
    ----------
    given : Mapping[str, str]
        What it says, by name, in its order.
    """

    given: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        value = self.given.get(name, DEFAULTS[name])
        one = _OF_ONE_CLASS.fullmatch(value) if name in _OF_CLASSES else None
        return one[1] if one else value

    def integer(self, name: str) -> int:
        """Raise ValueError if it is none."""
        return int(self.number(name, whole=True))

    def number(self, name: str, *, whole: bool = False) -> float:
        """Raise ValueError if it is none."""
        try:
            return integer_of(self[name]) if whole else number_of(self[name])
        except ValueError:
            what = "an integer" if whole else "a number"
            raise InvalidValue(f"{name} must be {what}, not {shown(self[name])}") from None

    @property
    def cycles_per_hop(self) -> int:
        """Cycles that a header takes in each of BookSim2's routers."""
        return sum(check_integer(name, self.integer(name), 0) for name in _DELAYS)

    @property
    def most_cycles(self) -> int:
        """Cycles after which BookSim2 gives up: those of all the samples that it takes at most."""
        names = "sample_period", "max_samples"
        return prod(check_integer(name, self.integer(name), 1) for name in names)

    def without_counterpart(self) -> Iterator[tuple[str, str]]:
        """What it says that is not so here, and why that is left out.

        Raises
        ------
        ValueError
            If it would be another experiment, or a number is none.
        """
        allowed = dict(word.partition("=")[::2] for word in _NEUTRAL.split() if "=" in word)
        for name, value in self.given.items():
            if name in _NUMBERS:
                self.number(name, whole="." not in DEFAULTS[name])
            if name in allowed and not {*listed(value)} <= {*allowed[name].split(",")}:
                if name in _REFUSED:
                    raise InvalidValue(f"{name}={value} has no counterpart here")
                yield f"{name}={value}", _REASONS.get(name, "it has no counterpart")


def read_booksim(text: str, words: Iterable[str] = ()) -> BookSimConfig:
    """Read a configuration of BookSim2, and words `name=value` that go before it.

    Raises
    ------
    ValueError
        If a line is not of its language, or BookSim2 knows no such parameter.
    """
    given: dict[str, str] = {}
    plain = re.sub(r"//[^\n]*", "", text)
    at = 0
    while plain[at:].strip():
        entry = _ENTRY.match(plain, at)
        line = plain.count("\n", 0, at + len(plain[at:]) - len(plain[at:].lstrip())) + 1
        if entry is None:
            rest = plain[at:].strip().splitlines()[0]
            raise InvalidValue(f"Line {line} must be of the form name = value; not {shown(rest)}")
        _add(given, entry["name"], entry["value"], f"Line {line}: ")
        at = entry.end()
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InvalidValue(f"Parameter must be written as NAME=VALUE, not {shown(word)}")
        _add(given, name.strip(), value.strip(), "")
    return BookSimConfig(given)


def _add(given: dict[str, str], name: str, value: str, where: str) -> None:
    known = [*DEFAULTS, *(word.partition("=")[0] for word in _NEUTRAL.split())]
    if name not in known:
        raise InvalidValue(f"{where}BookSim2 has no parameter {shown(name)}{nearest(name, known)}")
    given.pop(name, None)
    given[name] = value


def listed(text: str) -> list[str]:
    """The entries of a list `{a,b}`, or the text alone; nothing if it is empty."""
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    return [each.strip() for each in inner.split(",") if each.strip()]
