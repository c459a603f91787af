"""Topologies: the wiring of each network. Pure Python, without Amaranth."""

from .multistage import MultistagePlan, delta_plan, multistage_plan
from .tags import AddressCode, TagScheme

__all__ = ["AddressCode", "MultistagePlan", "TagScheme", "delta_plan", "multistage_plan"]
