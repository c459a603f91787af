"""The bench: synthesizable sources, sinks and meters that surround a network."""

from .bench import Bench, SourcePlan
from .sink import Sink
from .sources import BernoulliSource, ReplaySource

__all__ = ["Bench", "BernoulliSource", "ReplaySource", "Sink", "SourcePlan"]
