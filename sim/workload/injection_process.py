"""When terminals send packets: the injection process of a traffic pattern."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...hdl.bench.bursts import CHANGE_BITS
from ...hdl.bench.sources import LOAD_BITS
from ...hdl.fabric.checks import check_number
from ...hdl.fabric.errors import InvalidValue

__all__ = ["InjectionProcess", "check_load", "spawned"]


@dataclass(frozen=True)
class InjectionProcess:
    """A packet in each cycle with a probability that is the load, unless said otherwise.

    Attributes
    ----------
    quota : int
        Packets that each terminal sends, as fast as it can, whatever the load; 0 for no limit.
    rates : tuple[float, ...]
        Load of each terminal, relative to the mean of all; empty if all are the same. A terminal of
        rate 0 sends nothing.
    bursts : tuple[float, float], optional
        Mean cycles in which a terminal is on, and in which it is off and sends nothing.
    interval : float, optional
        In a closed loop: mean cycles between those in which the network takes the last flit of a
        packet and its terminal generates the next one, at least 0. A terminal has one packet at a
        time, and all that send have this interval, whatever the load.
    """

    quota: int = 0
    rates: tuple[float, ...] = ()
    bursts: tuple[float, float] | None = None
    interval: float | None = None

    @property
    def uniform(self) -> bool:
        """Whether packets are independent, and as many come from each terminal."""
        return not self.rates and self.bursts is None and self.interval is None

    def of(self, terminals: int) -> tuple[float, ...]:
        """The rate of each terminal."""
        return self.rates or (1.0,) * terminals

    @property
    def highest_load(self) -> float:
        """The load at which the busiest terminal sends in every cycle (while it is on)."""
        return 1 / (max(self.of(1)) * self.hurry)

    @property
    def hurry(self) -> float:
        """How much faster a terminal sends while it is on."""
        return sum(self.bursts) / self.bursts[0] if self.bursts else 1.0

    def offered(self, terminals: int, load: float, length: float) -> float:
        """As in `Pattern`."""
        if self.interval is None:
            return load
        senders = sum(rate > 0 for rate in self.of(terminals))
        return senders / terminals / (self.interval + length)

    def check_load(self, load: float, name: str) -> None:
        """Raise ValueError if the sources of a pattern can't send this load on average."""
        check_load(load)
        given = self.quota or self.interval is not None
        if not given and load > self.highest_load * (1 + 1e-9):
            what = "all terminals" if self.rates else "bursts and pauses"
            raise InvalidValue(
                f"Load, which is the mean of {what}, must be at most {self.highest_load:.4g} with "
                f"traffic {name}, not {load}"
            )

    def straps(self, load: float, seed: int, terminals: int) -> list[dict[str, int]]:
        """What the sources of all terminals need to know when to send."""
        return [
            {**self._pace(load, rate), "quota": self.quota, **self._changes(seed, terminal)}
            for terminal, rate in enumerate(self.of(terminals))
        ]

    def _pace(self, load: float, rate: float) -> dict[str, int]:
        """The strap of a source: the probability that it sends in a cycle in which it may."""
        if self.interval is not None:
            return {"resume": round((rate > 0) / (1 + self.interval) * 2**LOAD_BITS)}
        chance = rate > 0 if self.quota else load * rate * self.hurry
        return {"load": round(min(chance, 1) * 2**LOAD_BITS)}

    def _changes(self, seed: int, terminal: int) -> dict[str, int]:
        """The straps of a source's bursts. It begins in its state of a random cycle."""
        if self.bursts is None:
            return {}
        on, off = self.bursts
        begin = np.random.default_rng(spawned(seed, terminal, 1)).random()
        return {
            "starts": round(2**CHANGE_BITS / off),
            "stops": round(2**CHANGE_BITS / on),
            "begins_on": int(begin < on / (on + off)),
        }

    @property
    def parts(self) -> dict[str, Any]:
        """The parameters of the parts that only some sources have: bursts, closed loops."""
        return {
            **({} if self.bursts is None else {"bursts": True}),
            **({} if self.interval is None else {"closed": True}),
        }


def spawned(seed: int, *key: int) -> np.random.SeedSequence:
    """The random numbers of a seed for one use of them."""
    return np.random.SeedSequence(seed, spawn_key=key)


def check_load(load: float) -> None:
    """Raise ValueError if a load is not a probability, or nearer to 0 than any step of sources."""
    number = check_number("Load", load)
    if not 0 <= number <= 1:
        raise InvalidValue(f"Load must be from 0 to 1 packets per terminal per cycle, not {load}")
    if number and abs(round(number * 2**LOAD_BITS) / 2**LOAD_BITS - number) > 0.01 * number:
        raise InvalidValue(
            f"Load must be 0 or some steps of 2^-{LOAD_BITS} = {2**-LOAD_BITS:.2g} to within 1 %, "
            f"not {load}"
        )
