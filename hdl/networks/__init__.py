"""Networks: components made of switches and a wiring plan."""

from .catalogue import FAMILIES, build
from .multistage import MultistageNetwork
from .network import Network

__all__ = ["FAMILIES", "MultistageNetwork", "Network", "build"]
