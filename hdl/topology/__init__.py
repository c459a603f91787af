"""Topologies: the wiring of each network. Pure Python, without Amaranth."""

from .multistage import MultistagePlan, multistage_plan
from .tags import AddressCode, TagScheme

__all__ = ["AddressCode", "MultistagePlan", "TagScheme", "multistage_plan"]
