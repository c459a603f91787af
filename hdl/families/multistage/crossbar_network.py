# amaranth: UnusedElaboratable=no
"""A crossbar: one box that joins all terminals."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ...fabric.parameter_fields import fixed, integer, word
from ...networks.family import Family, Group
from .multistage_network import MultistageNetwork
from .multistage_parameters import MultistageParameters
from .switching import SWITCHES
from .switching_mode import SwitchingMode

__all__ = ["FAMILIES", "CrossbarNetwork", "CrossbarParameters"]


@dataclass(frozen=True, eq=False)
class CrossbarParameters(MultistageParameters):
    """The parameters of `CrossbarNetwork`; `radix` is `ports`."""

    ports: int | Literal["auto"] = integer(8, "terminals", least=2, most=64)
    radix: int | str = fixed(8, "inputs and outputs of the box: the ports")
    dilation: int = fixed(1, "there are no links between stages", plain=1)
    extra_stage: int = fixed(0, "there is one stage", plain=0)
    faults: str = fixed("", "there is no other path", plain="")
    _: KW_ONLY
    switch: str | SwitchingMode = word(
        "input-queued",
        "how the box switches",
        {name: kind.description for name, kind in SWITCHES.items()},
        objects=(SwitchingMode,),
    )

    def __post_init__(self) -> None:
        self._resolve(radix=self.ports)
        super().__post_init__()


class CrossbarNetwork(MultistageNetwork):
    """A multistage network of a single stage with a single box, of any of the kinds of boxes."""

    parameters_type = CrossbarParameters
    parameters: CrossbarParameters

    def _set_up(self) -> None:
        super()._set_up()
        self.family = "crossbar"


FAMILIES = (
    Family("crossbar", "one box that joins all terminals", CrossbarNetwork, Group.RECTANGULAR),
)
