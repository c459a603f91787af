"""The test bench: synthesizable sources, sinks and meters that surround a network."""

from .message_bench import MessageBench
from .packet_bench import Bench, MemoryBench, PacketBench, SourcePlan, bench_for
from .processor import Processor
from .program_bench import ProgramBench
from .sink import Sink
from .sources import BernoulliSource, ReplaySource

__all__ = [
    "Bench",
    "BernoulliSource",
    "MemoryBench",
    "MessageBench",
    "PacketBench",
    "Processor",
    "ProgramBench",
    "ReplaySource",
    "Sink",
    "SourcePlan",
    "bench_for",
]
