"""When terminals send packets: the injection process of a traffic pattern."""

from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np

from ...hdl.bench.bursts import CHANGE_BITS
from ...hdl.bench.sources import LOAD_BITS
from ...hdl.fabric.checks import check_field, check_number, check_several, shown
from ...hdl.fabric.errors import InvalidValue

__all__ = ["InjectionProcess", "check_load", "spawned"]

_LONGEST_BURST = 2**20
"""Most mean cycles of a burst, or of the pause between bursts."""

_LONGEST_INTERVAL = 2**15
"""Most mean cycles of the interval of a closed loop: its probability is exact to 1 %."""


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

    Raises
    ------
    TypeError, ValueError
        If a value is none that is described here.
    """

    quota: int = 0
    rates: tuple[float, ...] = ()
    bursts: tuple[float, float] | None = None
    interval: float | None = None

    def __post_init__(self) -> None:
        check_field(self, "quota", "Packets of each terminal", 0)
        rates = tuple(
            check_number("Rate of a terminal", each)
            for each in check_several("Rates", self.rates, "numbers")
        )
        if rates and not (min(rates) >= 0 and isclose(sum(rates), len(rates), rel_tol=1e-6)):
            raise InvalidValue(f"Rates must be at least 0 and 1 in the mean, not {shown(rates)}")
        object.__setattr__(self, "rates", rates)
        if self.bursts is not None:
            lengths = tuple(check_several("Bursts", self.bursts, "two numbers"))
            if len(lengths) != 2:
                raise InvalidValue(f"Bursts must be two numbers, not {shown(lengths)}")
            for which, length in zip(("burst", "pause"), lengths):
                _check_cycles(f"Mean length of a {which}", length, 1, _LONGEST_BURST)
            object.__setattr__(self, "bursts", lengths)
        if self.interval is not None:
            _check_cycles("Mean interval", self.interval, 0, _LONGEST_INTERVAL)
        if bool(self.quota) + (self.bursts is not None) + (self.interval is not None) > 1:
            raise InvalidValue("Packets must have a quota, bursts or an interval, not several")

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


def _check_cycles(what: str, cycles: float, least: int, most: int) -> None:
    if not least <= check_number(what, cycles) <= most:
        raise InvalidValue(f"{what} must be from {least} to {most} cycles, not {cycles:g}")


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
